"""The cluster before the root's cycle, prepared once, and forks of it after the steps of edits.

A fork shares what its steps leave as it is: the root as in the queue, and the placement state with all placed pods, which is rewound after
each attempt.  With other nodes it has a placement state of its own, to which the usage of existing nodes is copied as sums.  Only if pods
with rules about other pods are concerned, all pods are counted again.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kubeapi.base_structs import Record
from kubeapi.meta import replaced
from scheduler_core.cluster.cluster import Cluster, renumbered
from scheduler_core.cycle.claim_consumers import ClaimConsumers
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.diagnosis.with_pods import loads_of, remove_pods
from scheduler_core.exact.complete import Complete
from scheduler_core.exact.nominated_devices import hold_nominated_devices
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Step
from scheduler_core.model.entity import Entity
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.extension_points import PluginFailedError
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import assigned
from scheduler_core.placement.state import PlacementState
from scheduler_core.queueing.pre_enqueue import gate_causes, refusal
from scheduler_core.queueing.trees import Trees, pod_entity
from scheduler_core.whatif.edits.raw_objects import after, key_of_step
from scheduler_core.whatif.trial.subject import Subject
from validators.model.objects import namespace_of
from validators.object_lookup import KnownObjects

Placed = list[tuple[str, str]]
"""Pods with their nodes, by name."""


class Tried(Record, frozen=True):
    """Result for a root.

    Attributes:
        pods: pods with their nodes; None if it was not placed.
        undecided: True if it was not placed because the search ended without a result.
        explored: search steps.

    """

    pods: Placed | None
    undecided: bool = False
    explored: int = 0


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """The cluster after some steps.

    Attributes:
        snapshot: its nodes, with the pods of the root, nominated pods and changed ones; all pods if *counted*.
        entity: the root as in the queue; None if it is not ready.
        state: the placement state, of which only ``leaving`` and ``coming`` differ.
        solvers: solvers for that state, which cache results, by maximum search steps.
        leaving: pods of other roots that the steps remove or replace.
        coming: the same pods after the steps.
        counted: whether the snapshot has all pods, because they are counted again in the state.

    Indices of nodes in its pods are those of its own nodes.

    """

    snapshot: ClusterSnapshot
    entity: Entity | None
    state: PlacementState
    solvers: dict[int, Greedy]
    leaving: tuple[PodRecord, ...] = ()
    coming: tuple[PodRecord, ...] = ()
    counted: bool = False


class PreparedCluster:
    """One root on *base*, to which feature gates are applied already.

    Attributes:
        base: the cluster before the root's cycle, with the groups of the root alone.
        steps: maximum search steps for a try, unless the options allow fewer.
        unchanged: the fork without steps.

    """

    def __init__(self, base: ClusterSnapshot, options: CycleOptions, subject: Subject, *, steps: int) -> None:
        self._options = options
        self._subject = subject
        self.steps = steps
        self._names = frozenset((group.name.kind, group.name.namespace, group.name.name) for group in subject.groups)
        self._leaves = frozenset((group.name.namespace, group.name.name) for group in subject.groups)
        self.base = self._lean(base)
        self._next_shape = _next_shape(base)
        self._trees: Trees | None = None
        self._consumers = ClaimConsumers(base)
        self._own_keys = frozenset(pod.key for pod in base.pods if self._is_own(pod))
        # Of the pods of other roots only nominated ones are handled one by one.
        pods = tuple(pod for pod in base.pods if pod.key in self._own_keys or (pod.node < 0 and pod.nominated >= 0))
        self._without_nodes = all(pod.node < 0 and pod.nominated < 0 for pod in pods if pod.key in self._own_keys)
        few = dataclasses.replace(self.base, pods=pods)
        self.unchanged = Fork(few, self._ready(few), self._new_state(self.base), {})

    @property
    def related(self) -> bool:
        """Return whether any pod has rules about other pods, so that a change of one can affect all."""
        return self.unchanged.state.stateful.active

    @functools.cached_property
    def others(self) -> dict[str, PodRecord]:
        """The pods of other roots, by key."""
        return {pod.key: pod for pod in self.base.pods if not self._is_own(pod)}

    def fork(self, steps: Sequence[Step], parent: Fork | None = None, alike: Mapping[str, str] | None = None) -> Fork:
        """Return the cluster after *steps*, which change nodes, pods, groups and Workloads.

        Args:
            steps: changes of whole objects.
            parent: the fork that they change; by default the one without steps.
            alike: pods that change too, by the pod of *steps* that they are like afterwards (see ``alike``).

        """
        parent, alike = parent or self.unchanged, alike or {}
        adds = any(step.apply is not None and step.apply.get("kind") == "Node" for step in steps)
        if not adds and not (self.related and any(map(self._respecifies, steps))):
            return self._with_shared_state(steps, parent, alike)
        if self.related or self.unchanged.state.ledger.ports or parent.counted or parent.leaving or self._others_in(steps, parent):
            snapshot = _all_alike(self._after(self._counted(parent), steps), alike)
            entity = self._entity(self._of_root(snapshot), steps, parent, alike)
            return Fork(snapshot, entity, self._new_state(snapshot), {}, counted=True)
        snapshot = self._after(parent.snapshot, steps)
        return Fork(snapshot, self._entity(snapshot, steps, parent, alike), self._with_sums(snapshot), {})

    def alike(self, parent: Fork, pods: Iterable[str]) -> dict[str, str]:
        """Return the first of *pods* on *parent* that each of them is like: the parts of their specs that placement reads are equal."""
        wanted, first = frozenset(pods), dict[object, str]()
        return {
            pod.key: first.setdefault((pod.shape.serial, tuple(pod.gates)), pod.key) for pod in parent.snapshot.pods if pod.key in wanted
        }

    def attempt(self, fork: Fork, entity: Entity, leaving: Iterable[PodRecord] = (), *, whole: bool = False) -> Tried:
        """Return the result of *entity* on *fork* with the pods *leaving* removed too; the state is then restored.

        Pods beyond its minimums are placed only with *whole*.
        """
        state, leaving = fork.state, [*fork.leaving, *leaving]
        ledger_mark, stateful_mark = state.ledger.mark(), state.stateful.mark()
        _change_pods(state, leaving, fork.coming)
        for pod in leaving:
            # Nominations of lower priority are released below in any case.
            if pod.node < 0 and pod.priority >= entity.priority:
                state.nominations.release_until_rewind(pod)
        state.nominations.release_for(entity)
        result = self._place(self._solver(fork), entity, whole=whole)
        state.ledger.rewind(ledger_mark)
        state.stateful.rewind(stateful_mark)
        return result

    def concerns_none_but_the_root(self, steps: Sequence[Step]) -> bool:
        """Return whether *steps* affect only the root's own groups and pods, and no rules about other pods."""
        for step in steps:
            own = _pod_key(step) in self._own_keys and not self.related if _pod_key(step) else key_of_step(step) in self._names
            if step.apply is None or not (own or step.apply.get("kind") == "Workload"):
                return False
        return True

    def _with_shared_state(self, steps: Sequence[Step], parent: Fork, alike: Mapping[str, str]) -> Fork:
        before = {pod.key: pod for pod in parent.leaving}
        changed = before | self._others_in(steps, parent)
        known = parent.snapshot
        if added := tuple(pod for key, pod in changed.items() if key not in before):
            known = dataclasses.replace(known, pods=(*known.pods, *added))
        snapshot = _all_alike(self._after(known, steps), alike)
        coming = tuple(pod for pod in snapshot.pods if pod.key in changed) if changed else ()
        entity = self._entity(snapshot, steps, parent, alike)
        return Fork(snapshot, entity, parent.state, parent.solvers, tuple(changed.values()), coming, parent.counted)

    def _counted(self, fork: Fork) -> ClusterSnapshot:
        """Return the snapshot of *fork* with all its pods."""
        if fork.counted:
            return fork.snapshot
        changed, gone = {pod.key: pod for pod in fork.snapshot.pods}, {pod.key for pod in fork.leaving}
        pods = (pod for pod in self._renumbered(self.base.pods, fork) if pod.key in changed or pod.key not in gone)
        return dataclasses.replace(fork.snapshot, pods=tuple(changed.get(pod.key, pod) for pod in pods))

    def _others_in(self, steps: Iterable[Step], parent: Fork) -> dict[str, PodRecord]:
        """Return the pods of other roots that *steps* change, by key, as they are on *parent* unless it changed them too."""
        keys = (_pod_key(step) for step in steps if not self._is_of_root(step))
        return {pod.key: pod for pod in self._renumbered((self.others[key] for key in keys if key in self.others), parent)}

    def _renumbered(self, pods: Iterable[PodRecord], fork: Fork) -> Iterable[PodRecord]:
        """Return *pods* of the cluster with the indices of the nodes of *fork*."""
        if fork.snapshot.nodes is self.base.nodes:
            return pods
        return map(functools.partial(renumbered, new_index=self._indices(fork.snapshot)), pods)

    def _indices(self, snapshot: ClusterSnapshot) -> list[int]:
        """Return the index in *snapshot* of each node of the cluster."""
        return [snapshot.nodes.index[name] for name in self.base.nodes.names]

    def _after(self, snapshot: ClusterSnapshot, steps: Sequence[Step]) -> ClusterSnapshot:
        changed = after(Cluster(snapshot), steps).snapshot(serial=self._next_shape)
        if any(map(_pod_key, steps)):
            self._next_shape = max(self._next_shape, _next_shape(changed))
        # Changed pods and groups are read with all of their fields.
        return apply_feature_gates(changed, self._options.gates, self._options.ignored)

    def _entity(self, own: ClusterSnapshot, steps: Sequence[Step], parent: Fork, alike: Mapping[str, str]) -> Entity | None:
        """Return the root of *own*, which is *parent* after *steps*; pods *alike* have other specs, but the same place in the queue."""
        # With other nodes the indices of nodes change; a root without bound or nominated pods does not contain any.
        if self._without_nodes or own.nodes is parent.snapshot.nodes:
            changed = {pod.key: pod for pod in own.pods if pod.key in alike} if alike else {}
            others = any(self._is_of_root(step) and _pod_key(step) not in changed for step in steps)
            if parent.entity is not None and not others and len(changed) == len(alike):
                return _with_specs(parent.entity, changed) if changed else parent.entity
            if not any(map(self._is_of_root, steps)):
                return parent.entity
        return self._ready(own)

    def _with_sums(self, snapshot: ClusterSnapshot) -> PlacementState:
        """Return the state of *snapshot* with the usage of each existing node, as sums, because there are many pods."""
        # The usage of running pods of the root is among that of all pods.
        pods = tuple(pod for pod in snapshot.pods if pod.node < 0 or pod.key not in self._own_keys)
        state, known = self._new_state(dataclasses.replace(snapshot, pods=pods)), self.unchanged.state
        indices = np.array(self._indices(snapshot), dtype=np.int64)
        state.ledger.used[:, indices] += known.ledger.used
        state.ledger.scored[:, indices] += known.ledger.scored
        for (storage_class, node), size in known.provisioned.items():
            state.provisioned[storage_class, int(indices[node])] += size
        return state

    def _place(self, greedy: Greedy, entity: Entity, *, whole: bool) -> Tried:
        if self._options.strategy == "complete":
            entity, _ = self._consumers.within_limit(entity)
        # Greedy lets pods beyond a minimum take what a sibling needs; the search never does.
        request = greedy.request(entity)
        # A root that is placed by greedy keeps all its pods.
        if not whole and isinstance(greedy, Complete) and not self.related and greedy.searches(request):
            request = greedy.request(bare(entity))
        try:
            outcome = greedy.place(request)
        except PluginFailedError:
            # As in the cycle: the attempt has ended with an error.
            return Tried(None)
        search, names = greedy.search, greedy.state.nodes.names
        pods = [(pod.key, names[node]) for pod, node in assigned(request, outcome)] if outcome.success else None
        return Tried(pods, search.outcome == "budget", search.explored)

    def _new_state(self, snapshot: ClusterSnapshot) -> PlacementState:
        options = self._options
        state = PlacementState.from_snapshot(snapshot, options.effective_placing, options.ignore, options.plugins)
        if state.options.sparing:
            hold_nominated_devices(state, snapshot.pods)
        return state

    def _solver(self, fork: Fork) -> Greedy:
        if self.steps not in fork.solvers:
            # A trial needs only the result that the root is placed or not.
            complete = self._options.strategy == "complete"
            steps = min(self.steps, self._options.budget)
            fork.solvers[self.steps] = Complete(fork.state, steps, explains=False) if complete else Greedy(fork.state)
        return fork.solvers[self.steps]

    def _ready(self, own: ClusterSnapshot) -> Entity | None:
        """Return the root as in the queue; None if it is not ready."""
        gates, root = self._options.gates, self._subject.root
        self._trees = trees = Trees(own, self._trees)
        if root.kind == "Pod":
            pod = next((each for each in trees.alone if each.namespace == root.namespace and each.name == root.name), None)
            return None if pod is None or gate_causes(pod) else pod_entity(pod)
        tree = next((each for each in trees.all if each.name == root), None)
        if tree is None or not any(trees.waiting(tree)) or refusal(tree, trees, gates) is not None:
            return None
        return trees.entity(tree, gates)

    def _lean(self, base: ClusterSnapshot) -> ClusterSnapshot:
        """Return *base* without objects that only other roots need."""
        groups = tuple(each for each in base.groups if (each.kind, namespace_of(each), each.metadata.name) in self._names)
        others = [each for kind in ("Workload", "PriorityClass") for each in base.known.list_kind(kind) or ()]
        return dataclasses.replace(base, groups=groups, known=KnownObjects((*groups, *others), complete=False))

    def _of_root(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """Return the same nodes with the root's own pods alone."""
        return dataclasses.replace(snapshot, pods=tuple(pod for pod in snapshot.pods if self._is_own(pod)))

    def _is_own(self, pod: PodRecord) -> bool:
        return (pod.namespace, pod.group) in self._leaves if pod.group else pod.key in self._subject.own

    def _is_of_root(self, step: Step) -> bool:
        """Return whether *step* may change the root itself: its pods, groups or Workload."""
        return _pod_key(step) in self._own_keys if _pod_key(step) else key_of_step(step)[0] != "Node"

    def _respecifies(self, step: Step) -> bool:
        """Return whether *step* replaces a pod of the root."""
        return step.apply is not None and _pod_key(step) in self._own_keys


def bare(entity: Entity) -> Entity:
    """Return *entity* without pods beyond its minimums, for leaves whose pods are all equal: its feasibility is the same."""
    if entity.children:
        return dataclasses.replace(entity, children=tuple(bare(child) for child in entity.children))
    missing = max(1, entity.minimum - len(entity.running))
    equal = all(pod.shape is entity.waiting[0].shape and pod.nominated < 0 for pod in entity.waiting)
    return dataclasses.replace(entity, waiting=entity.waiting[:missing]) if equal and missing < len(entity.waiting) else entity


def _with_specs(entity: Entity, changed: Mapping[str, PodRecord]) -> Entity:
    """Return *entity* with the *changed* pods, by key, in place of its pending pods."""
    children = tuple(_with_specs(child, changed) for child in entity.children)
    return dataclasses.replace(entity, children=children, waiting=tuple(changed.get(pod.key, pod) for pod in entity.waiting))


def _all_alike(snapshot: ClusterSnapshot, alike: Mapping[str, str]) -> ClusterSnapshot:
    """Return *snapshot* with what placement reads of the spec of another pod for the pods in *alike*."""
    if not alike:
        return snapshot
    samples = {pod.key: pod for pod in snapshot.pods if alike.get(pod.key) == pod.key}
    pods: list[PodRecord] = []
    for pod in snapshot.pods:
        if pod.key not in alike:
            pods.append(pod)
        elif (sample := samples.get(alike[pod.key])) is not None:
            # A pod that cannot be used is not there any more.
            pods.append(replaced(pod, shape=sample.shape, gates=sample.gates))
    return dataclasses.replace(snapshot, pods=tuple(pods))


def _change_pods(state: PlacementState, leaving: Iterable[PodRecord], coming: Iterable[PodRecord]) -> None:
    """Remove the running pods among *leaving* from *state*, and let those among *coming* run."""
    remove_pods(state, (pod for pod in leaving if pod.node >= 0))
    if added := [pod for pod in coming if pod.node >= 0]:
        state.ledger.assume(loads_of(added), state.ledger.fresh())
    if state.stateful.active:
        for pod in added:
            state.stateful.assume(pod, pod.node)


def _next_shape(snapshot: ClusterSnapshot) -> int:
    """Return a number above those of all shapes of *snapshot*."""
    return 1 + max((pod.shape.serial for pod in snapshot.pods), default=0)


def _pod_key(step: Step) -> str:
    """Return ``namespace/name`` of the pod that *step* changes; empty if it changes another object."""
    kind, *name = key_of_step(step)
    return "/".join(name) if kind == "Pod" else ""
