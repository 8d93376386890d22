"""Updates of running objects, played in the cluster: each step is placed as the scheduler would, and changes that help are tried."""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from expansion.contents import Content, full_name
from expansion.rollouts.play import Outcome, Played, PodName, Update
from expansion.rollouts.running import Rollout
from expansion.rollouts.strategies import Strategy
from expansion.rollouts.units import Situation, node_of
from kubeapi.base_structs import Record, replaced
from kubeapi.decode import section
from kubeapi.gathered import Given
from kubeapi.pods import group_in
from muster.commands.fit.rollout_changes import Change, alternatives
from muster.commands.simulate import own_objects, simulation, what_if
from muster.commands.simulate.node_addition import Addition
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.request import SimulationRequest
from muster.render.drain_facts import LaterUpdateHangs
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_and_apply
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.raw_objects import Book

_MOST_STEPS = 200
_EXAMINED = 4_000_000
"""Limit of the nodes and pods that all steps of an update examine."""
_MOST_NODES = 8
"""Limit of the nodes that are added as a trial; no more than run old pods."""


class JudgedRollout(Record, frozen=True):
    """Update of the object *origin*, with the pods that it evicts, why pods wait at its end, and what helps.

    *strategy* says how many more, or fewer, pods there can be on the way; *changes* are the least disruptive first.
    """

    origin: Name
    strategy: Strategy
    played: Played
    victims: tuple[str, ...] = ()
    waiting: tuple[Decision, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Return whether the update comes to its end."""
        return self.played.outcome in {Outcome.AT_ONCE, Outcome.DURING}


class _Scheduler:
    """Cluster in which the steps of an update are placed; *own* has the pods of the object, of which those of *running* run."""

    def __init__(self, snapshot: ClusterSnapshot, options: CycleOptions, own: Own, running: Iterable[Content]) -> None:
        self._snapshot, self._options, self._own = snapshot, options, own
        self._awaited = {"/".join(full_name(each)): full_name(each) for each in running if not section(each, "spec").get("nodeName")}
        self.victims: dict[str, None] = {}
        self.decisions: tuple[Decision, ...] = ()

    def place(self, deleted: Sequence[Content], created: Sequence[Content]) -> Mapping[PodName, str]:
        """Delete pods, create others, and place what can be placed; return the nodes of the object's pods that have got one."""
        cluster = Cluster(self._snapshot)
        for each in deleted:
            cluster.remove("Pod", *full_name(each))
        cluster.apply(*created)
        for each in created:
            self._awaited["/".join(full_name(each))] = full_name(each)
        changed = cluster.snapshot()
        result, self._snapshot = run_and_apply(
            changed, self._options, simulation.unsettled(self._own), most=simulation.most_cycles(changed)
        )
        self.decisions = result.decisions
        mine = [each for each in result.decisions if own_objects.concerns(each, self._own)]
        self.victims |= dict.fromkeys(pod for each in mine for pod in each.victims)
        names, awaited = self._snapshot.nodes.names, self._awaited
        return {awaited[each.key]: names[each.node] for each in self._snapshot.pods if each.node >= 0 and each.key in awaited}


class RolloutTrials:
    """Trials of updates in the cluster that *snapshot* was loaded from *objects*, where all new pods are pending."""

    def __init__(self, objects: Iterable[Given], snapshot: ClusterSnapshot, request: SimulationRequest) -> None:
        self._objects, self._snapshot, self._request = [*objects], snapshot, request
        self._placed: list[Content] = []
        """Pods that have nodes before an update, besides those of the cluster."""
        self._settled = snapshot
        """The cluster with them."""

    def judged(self, rollout: Rollout, *, search: bool) -> JudgedRollout:
        """Return how an update ends; with *search*, also the changes with which it is finished if it hangs."""
        strategy = rollout.strategy()
        judged = self._played(rollout, strategy, self._before(rollout, self._objects, self._snapshot))
        if judged.played.outcome is Outcome.HANGS and search:
            return replaced(judged, changes=tuple(self._changes(rollout, strategy)))
        return judged

    @property
    def most_later(self) -> int:
        """The limit of the later updates that are played."""
        return max(4, _EXAMINED // 8 // max(1, len(self._snapshot.nodes) + len(self._snapshot.pods)))

    def settle(self, nodes: Mapping[str, str]) -> None:
        """Let pods run on *nodes*, by their names ``namespace/name``, before ``later`` is called."""
        book = Book(self._objects)
        named = ((book.get("Pod", *key.split("/", 1)), node) for key, node in nodes.items())
        self._placed = [{**pod, "spec": {**section(pod, "spec"), "nodeName": node}} for pod, node in named if pod is not None]
        cluster = book.cluster(self._snapshot)
        cluster.apply(*self._placed)
        self._settled = cluster.snapshot()

    def later(self, rollout: Rollout, *, search: bool) -> LaterUpdateHangs | None:
        """Return how the next update of a new object hangs, and with *search*, the first change that helps.

        The result is None if it is finished, or was not played to its end.
        """
        mine = {full_name(each) for each in rollout.old}
        old = [each for each in self._placed if full_name(each) in mine]
        update = replaced(rollout, old=sorted(old, key=full_name))
        cluster = Cluster(self._settled)
        cluster.apply(*_groups(update))
        played = self._played(update, update.strategy(), cluster.snapshot()).played
        if len(old) < len(mine) or played.outcome is not Outcome.HANGS:
            return None
        change = next(self._changes(update, update.strategy()), Change()) if search else Change()
        last, field = played.last, f"spec.{change.field}" if change.field else ""
        return LaterUpdateHangs(last.old, last.waiting, last.refused, field, change.value, change.like, change.number)

    def _before(self, rollout: Rollout, objects: Sequence[Given], snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """Return the cluster before the update: with the old pods of the object, without the new ones."""
        cluster = Book(objects).cluster(snapshot)
        for each in rollout.new:
            cluster.remove("Pod", *full_name(each))
        cluster.apply(*self._placed, *rollout.old, *_groups(rollout))
        return cluster.snapshot()

    def _played(self, rollout: Rollout, strategy: Strategy, before: ClusterSnapshot) -> JudgedRollout:
        situation = rollout.situation()
        pods = _all_pods(situation)
        names = frozenset(Name("Pod", *full_name(each)) for each in pods)
        named = ((full_name(each)[0], group_in(each)) for each in pods)
        groups = frozenset(Name("PodGroup", namespace, group) for namespace, group in named if group)
        own = Own(names | groups, names | groups)
        scheduler = _Scheduler(before, dataclasses.replace(self._request.cycle, progress=None), own, rollout.old)
        played = Update(strategy, situation).play(scheduler.place, rollout.allowed, most=self._most_steps(before))
        waiting = tuple(each for each in scheduler.decisions if each.pending and own_objects.concerns(each, own))
        return JudgedRollout(rollout.origin, strategy, played, tuple(sorted(scheduler.victims)), waiting)

    def _most_steps(self, snapshot: ClusterSnapshot) -> int:
        return max(8, min(_MOST_STEPS, _EXAMINED // max(1, len(snapshot.nodes) + len(snapshot.pods))))

    def _changes(self, rollout: Rollout, strategy: Strategy) -> Iterator[Change]:
        before = self._before(rollout, self._objects, self._snapshot)
        for change, other in alternatives(strategy):
            if self._helps(rollout, other, before):
                yield change
        replaced = (pod for unit in rollout.situation().old for pod in unit.pods)
        nodes = [*dict.fromkeys(node for pod in replaced if (node := node_of(pod)))]
        tried = range(1, min(len(nodes), _MOST_NODES) + 1)
        lacking = bisect.bisect_left(tried, 1, key=lambda each: int(self._helps_with_nodes(rollout, strategy, each, nodes[0])))
        if lacking < len(tried):
            yield Change(like=nodes[0], number=tried[lacking])

    def _helps_with_nodes(self, rollout: Rollout, strategy: Strategy, number: int, like: str) -> bool:
        profiles = self._request.configuration.profiles if self._request.configuration is not None else None
        objects, _ = what_if.suppose(self._objects, (), [Addition(number, like)])
        snapshot = load(objects, profiles, self._request.device_topology, self._snapshot.behavior)
        return self._helps(rollout, strategy, self._before(rollout, objects, snapshot))

    def _helps(self, rollout: Rollout, strategy: Strategy, before: ClusterSnapshot) -> bool:
        judged = self._played(rollout, strategy, before)
        return judged.is_finished and not judged.victims


def _all_pods(situation: Situation) -> list[Content]:
    units = (*situation.old, *situation.new, *situation.current, *situation.copies)
    return [pod for unit in units for pod in unit.pods]


def _groups(rollout: Rollout) -> list[Content]:
    return [each for each in rollout.further if each["kind"] != "Pod"]
