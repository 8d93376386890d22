"""Updates of running objects in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from expansion.rollouts.group_strategies import NewCluster, RollingCliques, RollingGroups
from expansion.rollouts.play import Outcome, Step
from expansion.rollouts.strategies import Recreate, RollingDaemonSet, RollingDeployment, RollingStatefulSet, Strategy
from muster.commands.fit.rollout_changes import Change
from muster.commands.fit.rollout_trial import JudgedRollout
from muster.render.phrases import folded
from scheduler_core.wording.titles import Shown, titled
from scheduler_core.wording.verdict_line import verdict_line
from validators.reports.counts import counted

if TYPE_CHECKING:
    from muster.html.update_steps import DrawnUpdate

_SHOWN = 8
"""Maximum number of steps that are shown; of more, the first and the last ones."""
_ENDS = {
    Outcome.AT_ONCE: "every new pod has a node as soon as it is created",
    Outcome.DURING: "some new pods wait until old ones have ended",
    Outcome.HANGS: "the update hangs",
    Outcome.TOO_LONG: "the further steps were not played",
}


def hanging_words(rollout: JudgedRollout, *, with_changes: bool = True) -> str:
    """Return why an update hangs, and what helps."""
    last = rollout.played.last
    left = f"{counted(last.old, 'old pod')} {'runs' if last.old == 1 else 'run'} on" if last.old else "no old pod is left"
    return f"the update hangs at step {len(rollout.played.steps)}: {left}, and {_waiting(rollout)}{_help(rollout) if with_changes else ''}"


def kept_words(rollout: JudgedRollout) -> str:
    """Return that an update is finished with old pods that it keeps."""
    return f"the update is finished, and keeps {counted(rollout.played.last.old, 'old pod')}; not all would fit as new ones"


def unfinished_words(rollout: JudgedRollout) -> str:
    """Return why an update is not finished."""
    if rollout.played.outcome is Outcome.TOO_LONG:
        return "the update was not played to its end"
    return hanging_words(rollout, with_changes=False)


def _waiting(rollout: JudgedRollout) -> str:
    last = rollout.played.last
    if last.refused:
        return f"a quota refuses {counted(last.refused, 'new pod')} beside {'it' if last.old == 1 else 'them'}"
    if not last.waiting:
        return "the controller waits for a pod that is not ready"
    reason = next((verdict_line(each.causes or next(iter(each.pending.values()), ())) for each in rollout.waiting), "")
    words = f"{counted(last.waiting, 'new pod')} {'waits' if last.waiting == 1 else 'wait'}"
    return f"{words}: {reason}" if reason else words


def _help(rollout: JudgedRollout) -> str:
    changes = [change_words(each) for each in rollout.changes]
    return f"; it is finished with {', or '.join(changes)}" if changes else ""


def change_words(change: Change) -> str:
    """Return a change as a person makes it."""
    return f"{counted(change.number, 'more node')} like {change.like}" if change.like else f"spec.{change.field}: {change.value}"


def limits_words(strategy: Strategy) -> str:
    """Return what a strategy allows, in words."""
    partition = getattr(strategy, "partition", 0)
    first = f", from ordinal {partition} on" if partition else ""
    match strategy:
        case RollingDeployment():
            words = f"at most {counted(strategy.surge, 'more pod')}, at most {strategy.unavailable} unavailable"
        case Recreate():
            words = "all old pods first"
        case RollingStatefulSet(unavailable=number) if number:
            words = f"{counted(number, 'pod')} at a time, the highest ordinal first"
        case RollingDaemonSet() if strategy.replaces:
            words = f"{strategy.surge} nodes with both" if strategy.surge else f"{counted(strategy.unavailable, 'node')} at a time"
        case RollingGroups():
            words = (
                f"at most {counted(strategy.surge, 'more group')}, at most {strategy.unavailable} unavailable, the highest ordinal first"
            )
        case NewCluster():
            words = "the old cluster ends when the new one runs"
        case RollingCliques():
            words = "one replica at a time, one pod of each clique at a time"
        case _:
            return "nothing by itself"
    return words + first


def update_text(rollout: JudgedRollout, shown: Shown) -> str:
    """Return what its strategy allows, and how an update ends."""
    return f"update of {_update(rollout, shown)}"


def _update(rollout: JudgedRollout, shown: Shown) -> str:
    return f"{shown(rollout.origin)} ({limits_words(rollout.strategy)}): {_ENDS[rollout.played.outcome]}"


def text_lines(rollout: JudgedRollout, columns: int) -> Iterator[str]:
    """Yield the steps of an update, in lines of *columns*."""
    yield from folded(f"Update of {_update(rollout, titled)}", "", columns=columns)
    steps = rollout.played.steps
    hidden = len(steps) - _SHOWN
    for number, step in enumerate(steps, 1):
        if hidden > 0 and _SHOWN // 2 < number <= _SHOWN // 2 + hidden:
            if number == _SHOWN // 2 + 1:
                yield f"  … {counted(hidden, 'more step')}"
            continue
        yield f"  {number}. {_step_words(step)}"


def _done(step: Step) -> str:
    did = [f"{step.deleted} deleted"] if step.deleted else []
    did += [f"{step.created} created"] if step.created else []
    return ", ".join(did) or "nothing"


def _step_words(step: Step) -> str:
    left = [f"{step.old} old", f"{step.new} new"]
    left += [f"{step.waiting} waiting"] if step.waiting else []
    left += [f"{step.refused} refused by a quota"] if step.refused else []
    return f"{_done(step)}: {', '.join(left)}"


def drawn(rollout: JudgedRollout) -> DrawnUpdate:
    """Return an update for a page."""
    from muster.html.update_steps import UpdateStep, drawn_update

    numbered = enumerate(rollout.played.steps, 1)
    steps = [UpdateStep(number, _done(each), (each.old, each.new, each.waiting, each.refused)) for number, each in numbered]
    result = f"{_ENDS[rollout.played.outcome]}{_help(rollout)}"
    return drawn_update(f"{titled(rollout.origin)} ({limits_words(rollout.strategy)})", result, steps)


def as_json(rollout: JudgedRollout) -> dict[str, Any]:
    """Return an update as JSON."""
    played, last = rollout.played, rollout.played.last
    steps = [{"deleted": each.deleted, "created": each.created, "pods": _pods(each)} for each in played.steps]
    document = {
        "object": titled(rollout.origin),
        "outcome": played.outcome.value,
        "step": len(played.steps),
        "pods": _pods(last),
        "steps": steps,
    }
    return document | ({"change": change_words(rollout.changes[0])} if rollout.changes else {})


def _pods(step: Step) -> dict[str, int]:
    pods = {"old": step.old, "new": step.new, "waiting": step.waiting}
    return pods | ({"refused": step.refused} if step.refused else {})
