"""The cluster before the root's cycle, prepared once and reused for changes.

Changes of the root itself, and of single running pods, are tried on one placement state that is rewound after each.  A new
state is created only if nodes are added, or if pods with rules about other pods are changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cycle.claim_consumers import ClaimConsumers
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.exact.complete import Complete
from scheduler_core.exact.nominated_devices import hold_nominated_devices
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Step
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.extension_points import PluginFailedError
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import assigned
from scheduler_core.placement.state import PlacementState
from scheduler_core.queueing.pre_enqueue import gate_causes, refusal
from scheduler_core.queueing.trees import Trees, pod_entity
from scheduler_core.whatif.edits.edits import Both, Edit
from scheduler_core.whatif.edits.pod_edits import Respecified
from scheduler_core.whatif.edits.raw_objects import after
from scheduler_core.whatif.trial.hypothetical_root import Shapes, bare, supposed
from scheduler_core.whatif.trial.subject import Subject
from validators.lookup import KnownObjects
from validators.model.objects import namespace_of

Placed = list[tuple[str, str]]
"""Pods with their nodes, by name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """Result for a root.

    Attributes:
        pods: pods with their nodes; None if it was not placed.
        undecided: True if it was not placed because the search ended without a result.
        explored: search steps.

    """

    pods: Placed | None
    undecided: bool = False
    explored: int = 0


class PreparedCluster:
    """One root on *base*, to which feature gates are applied already.

    Attributes:
        steps: maximum search steps for a try, unless the options allow fewer.
        entity: the root as in the queue; None if it is not ready.
        shapes: shapes of changed pods.

    """

    def __init__(self, base: ClusterSnapshot, options: CycleOptions, subject: Subject, *, steps: int) -> None:
        self._options = options
        self._subject = subject
        self.steps = steps
        self._names = frozenset((group.name.kind, group.name.namespace, group.name.name) for group in subject.groups)
        self._leaves = frozenset((group.name.namespace, group.name.name) for group in subject.groups)
        self.base = self._lean(base)
        self.shapes = Shapes(1 + max((pod.shape.serial for pod in base.pods), default=0))
        self._state = self._new_state(self.base)
        self._solvers: dict[int, Greedy] = {}
        self._own = self._of_root(self.base)
        self._own_keys = frozenset(pod.key for pod in self._own.pods)
        # Of the pods of other roots only nominated ones are handled one by one.
        pods = tuple(pod for pod in self.base.pods if pod.key in self._own_keys or (pod.node < 0 and pod.nominated >= 0))
        self._unbound = dataclasses.replace(self.base, pods=pods)
        self._without_nodes = all(pod.node < 0 and pod.nominated < 0 for pod in self._own.pods)
        self._consumers = ClaimConsumers(base)
        self.entity = self._ready(self._own)
        self._others: dict[str, PodRecord] | None = None

    @property
    def related(self) -> bool:
        """Return whether any pod has rules about other pods, so that a change of one can affect all."""
        return self._state.stateful.active

    @property
    def others(self) -> dict[str, PodRecord]:
        """Return the pods of other roots, by key."""
        if self._others is None:
            self._others = {pod.key: pod for pod in self.base.pods if not self._is_own(pod)}
        return self._others

    def reshaped(self, edits: Sequence[Respecified]) -> PreparedCluster:
        """Return a copy in which pods of the root have other rules about other pods."""
        if (entity := self.entity) is None:
            return self
        for edit in edits:
            entity = supposed(entity, edit, self._subject, self.shapes)
        changed = {pod.key: pod for leaf in entity.leaves() for pod in leaf.waiting}
        base = dataclasses.replace(self.base, pods=tuple(changed.get(pod.key, pod) for pod in self.base.pods))
        return PreparedCluster(base, self._options, self._subject, steps=self.steps)

    def suppose(self, edit: Edit) -> Entity | None:
        """Return the root after *edit*, which must be supposable; None if that needs its steps."""
        if self.entity is None or (self.related and _reshapes(edit)):
            return None
        return supposed(self.entity, edit, self._subject, self.shapes)

    def attempt(self, entity: Entity, leaving: Iterable[PodRecord] = (), coming: Iterable[PodRecord] = (), *, whole: bool = False) -> Tried:
        """Return the result of *entity* with the pods *leaving* removed and *coming* running; the state is then restored.

        Pods beyond its minimums are placed only with *whole*.
        """
        state = self._state
        ledger_mark, stateful_mark = state.ledger.mark(), state.stateful.mark()
        leaving = [*leaving]
        self._apply_pods(leaving, coming)
        for pod in leaving:
            # Nominations of lower priority are released below in any case.
            if pod.node < 0 and pod.priority >= entity.priority:
                state.nominations.release_until_rewind(pod)
        state.nominations.release_for(entity)
        result = self._place(self._known_solver(), entity, whole=whole)
        state.ledger.rewind(ledger_mark)
        state.stateful.rewind(stateful_mark)
        return result

    def try_steps(self, steps: Sequence[Step]) -> Tried:
        """Return the result of the root with *steps* applied."""
        if any(step.apply is not None and step.apply.get("kind") == "Node" for step in steps):
            return self._try_on_new_state(steps)
        own_steps = [step for step in steps if self._is_of_root(step)]
        if self.related and any(step.apply is not None and step.apply.get("kind") == "Pod" for step in own_steps):
            return self._try_on_new_state(steps)
        own = _after(self._own, own_steps, self.shapes.next)
        self._reserve_serials(own)
        entity = self._ready(own) if own_steps else self.entity
        if entity is None:
            return Tried(None)
        return self.attempt(entity, *self._changed_others([step for step in steps if not self._is_of_root(step)]))

    def concerns_none_but_the_root(self, steps: Sequence[Step]) -> bool:
        """Return whether *steps* affect only the root's own groups and pods, and no rules about other pods."""
        for step in steps:
            content = step.apply or {}
            metadata = content.get("metadata") or {}
            group = (str(content.get("kind")), metadata.get("namespace") or "default", str(metadata.get("name")))
            own = self._is_of_root(step) and not self.related if content.get("kind") == "Pod" else group in self._names
            if not own and content.get("kind") != "Workload":
                return False
        return True

    def _changed_others(self, steps: Sequence[Step]) -> tuple[list[PodRecord], list[PodRecord]]:
        """Return pods of other roots before *steps*, and after them."""
        keys = [_key(step) for step in steps]
        before = [self.others[key] for key in keys if key in self.others]
        if all(step.apply is None for step in steps):
            return before, []
        changed = _after(dataclasses.replace(self._own, pods=tuple(before)), steps, self.shapes.next)
        self._reserve_serials(changed)
        return before, [*changed.pods]

    def _reserve_serials(self, snapshot: ClusterSnapshot) -> None:
        self.shapes.next = max(self.shapes.next, 1 + max((pod.shape.serial for pod in snapshot.pods), default=0))

    def _apply_pods(self, leaving: Sequence[PodRecord], coming: Iterable[PodRecord]) -> None:
        state = self._state
        removed, added = [pod for pod in leaving if pod.node >= 0], [pod for pod in coming if pod.node >= 0]
        if removed:
            state.ledger.release(_loads(removed), state.ledger.fresh())
        if added:
            state.ledger.assume(_loads(added), state.ledger.fresh())
        for pod in removed if self.related else ():
            state.stateful.remove(pod, pod.node)
        for pod in added if self.related else ():
            state.stateful.assume(pod, pod.node)

    def _try_on_new_state(self, steps: Sequence[Step]) -> Tried:
        as_sums = not self.related and not self._state.ledger.ports and not any(_key(step) in self.others for step in steps)
        changed = _after(self._unbound if as_sums else self.base, steps)
        # Node indices change; a root without bound or nominated pods does not contain any.
        entity = self.entity if self._without_nodes and not any(map(self._is_of_root, steps)) else self._ready(self._of_root(changed))
        if entity is None:
            return Tried(None)
        state = self._new_state(self._carried_over(changed) if as_sums else changed)
        if as_sums:
            self._carry_over(state)
        state.nominations.release_for(entity)
        return self._place(self._solver(state), entity, whole=False)

    def _carried_over(self, changed: ClusterSnapshot) -> ClusterSnapshot:
        """Return *changed* without running pods of the root: their usage is carried over with that of all pods."""
        return dataclasses.replace(changed, pods=tuple(pod for pod in changed.pods if pod.node < 0 or pod.key not in self._own_keys))

    def _carry_over(self, state: PlacementState) -> None:
        """Copy the usage of each existing node, as sums, because there are many pods."""
        before, names = self._state.ledger, self.base.nodes.names
        indices = np.array([state.nodes.index[name] for name in names], dtype=np.int64)
        state.ledger.used[:, indices] += before.used
        state.ledger.scored[:, indices] += before.scored
        for (storage_class, node), size in self._state.provisioned.items():
            state.provisioned[storage_class, int(indices[node])] += size

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

    def _solver(self, state: PlacementState) -> Greedy:
        if self._options.strategy != "complete":
            return Greedy(state)
        # A trial needs only the result that the root is placed or not.
        return Complete(state, min(self.steps, self._options.budget), explains=False)

    def _known_solver(self) -> Greedy:
        """Return the solver for the prepared state, which caches results."""
        if self.steps not in self._solvers:
            self._solvers[self.steps] = self._solver(self._state)
        return self._solvers[self.steps]

    def _ready(self, own: ClusterSnapshot) -> Entity | None:
        """Return the root as in the queue; None if it is not ready."""
        gates, root = self._options.gates, self._subject.root
        trees = Trees(apply_feature_gates(own, gates))
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
        kind = (step.apply or step.delete or {}).get("kind")
        return kind != "Node" and not (kind == "Pod" and _key(step) not in self._own_keys)


def _after(snapshot: ClusterSnapshot, steps: Sequence[Step], serial: int = 0) -> ClusterSnapshot:
    """Return *snapshot* after *steps*, which change nodes, pods, groups and Workloads."""
    return after(Cluster.of_snapshot(snapshot), steps).snapshot(serial=serial) if steps else snapshot


def _key(step: Step) -> str:
    """Return ``namespace/name`` of the pod of a step."""
    if step.delete is not None:
        return f"{step.delete['namespace']}/{step.delete['name']}"
    metadata = (step.apply or {}).get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def _reshapes(edit: Edit) -> bool:
    return _reshapes(edit.first) or _reshapes(edit.second) if isinstance(edit, Both) else isinstance(edit, Respecified)


def _loads(pods: Iterable[PodRecord]) -> tuple[PodLoad, ...]:
    by_shape: dict[int, tuple[PodShape, list[int]]] = {}
    for pod in pods:
        by_shape.setdefault(pod.shape.serial, (pod.shape, []))[1].append(pod.node)
    return tuple(PodLoad(shape, np.array(nodes, dtype=np.int64)) for shape, nodes in by_shape.values())
