"""The cycles after the end of deletions that are under way: what is at PATH can fit only then, and evict pods only then."""

from __future__ import annotations

from collections.abc import Callable

from muster.commands.simulate import own_objects
from muster.commands.simulate.own_objects import Own
from muster.render.tree_rows import pod_name
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import Result
from scheduler_core.model.decision import latest
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edits import DeletionsAwaitedFirst
from scheduler_core.whatif.remedies.deletions import fewest_awaited, leaving_pods


def after_deletions(
    result: Result, snapshot: ClusterSnapshot, own: Own, cycles: Callable[[ClusterSnapshot], Result]
) -> tuple[Result, tuple[Name, ...]]:
    """Return the result of *cycles* when pods that are being deleted are gone, and the fewest such pods, if only then all of *own* is placed.

    kube-scheduler tries a pod again when others are gone, and evicts pods then.  If nothing needs to be evicted then, *own* only waits:
    *result* is returned, which says so, and no pods.
    """
    leaving = leaving_pods(snapshot, {f"{each.namespace}/{each.name}" for each in own.names if each.kind == "Pod"})
    if not leaving or _victims(result, own) is not None:
        return result, ()

    def without(pods: tuple[str, ...]) -> Result:
        effects = Effects(snapshot.nodes)
        effects.victims.update(pods)
        return cycles(effects.apply(snapshot, evict=True))

    evicted = _victims(without(leaving), own)
    if not evicted:
        return result, ()

    def works(edit: DeletionsAwaitedFirst) -> bool:
        victims = _victims(without(edit.pods), own)
        return victims is not None and len(victims) <= len(evicted)

    awaited = fewest_awaited(leaving, works).pods
    return without(awaited), tuple(map(pod_name, awaited))


def _victims(result: Result, own: Own) -> frozenset[str] | None:
    """Return the pods that are evicted for *own*; None if something of it is not placed."""
    mine = own_objects.roots(result.decisions, own)
    last = [each for root, each in latest(result.decisions).items() if root in mine]
    if any(each.status is not Status.SUCCESS or each.pending for each in last) or any(
        pod_name(pod) in own.names for pod, _ in result.pending
    ):
        return None
    return frozenset(pod for each in result.decisions if each.root in mine for pod in each.victims)
