"""A pod joins its group within a minute of its creation."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.built_groups import BUILD, Asked, Awaiting, asked_for, awaiting, builders, exclude_command
from muster.doctor.components import SIDECAR, components
from muster.doctor.finding import Check, Result, error
from muster.doctor.manifests import kubectl
from muster.doctor.world import World
from workloadbuilder.adapters.built_kinds import UNKNOWN, WAITING


def check(world: World) -> Iterator[Result]:
    """Yield a result for the pods of one object that wait for a group, at the one that has waited longest."""
    waiting = sorted(awaiting(world), key=lambda each: (each.since, each.item.namespace, each.item.name))
    if not waiting:
        return
    asked = {each.item.label: each for each in asked_for(world)}
    alike: dict[str, list[Awaiting]] = {}
    for each in waiting:
        alike.setdefault(each.root.label if each.root else f"{each.item.namespace}/", []).append(each)
    for label, pods in alike.items():
        first, more = pods[0], len(pods) - 1
        of = f" of {label}" if first.root is not None else ""
        others = f", and {more} more pods{of}" if more else ""
        yield error(
            first.item,
            "",
            f"waits for its group since {first.since}{others}: {_reason(world, first, asked)}",
            _command(world, first, asked),
        )


def _reason(world: World, pod: Awaiting, asked: dict[str, Asked]) -> str:
    from scheduler_core.wording.built_group_words import not_built_words

    if not builders(world):
        return "no sidecar runs the mode build"
    if pod.root is None:
        return "the object to which it belongs does not exist"
    root = asked.get(pod.root.label)
    if root is None:
        return f"{pod.root.label} asks for no groups"
    if root.why is not None:
        return f"{pod.root.label} has no groups: {not_built_words(root.why)}"
    return f"{pod.root.label} lacks {', '.join(root.missing)}" if root.missing else "it has the labels of no group, or of several"


def _command(world: World, pod: Awaiting, asked: dict[str, Asked]) -> str:
    """Return the command that starts the mode, lets the object ask for no groups, or lets its controller create the pods again."""
    sidecars = [*components(world, SIDECAR)]
    if not builders(world) and sidecars:
        return sidecars[0].set_command("--mode", ",".join(sorted({*sidecars[0].modes, BUILD})))
    if pod.root is not None and (root := asked.get(pod.root.label)) is not None and root.why is not None:
        return exclude_command(pod.root)
    return kubectl(pod.item.namespace, "describe", "pods", f"--selector={WAITING}={UNKNOWN}")


CHECK = Check(
    id="group-awaited",
    why="It has the scheduling gate muster.dev/pod-group and is not placed, nor are the other pods of its gang.",
    examine=check,
)
