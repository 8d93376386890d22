"""Pods of a LeaderWorkerSet's replicas, with the names and labels of its controller."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from kubeapi.decode import Json
from validators.model.start_order import LEADER, WORKER
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Positions
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_claims import PodClaims
from workloadbuilder.adapters.shared.pod_template import PodTemplate

_PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME, GROUP_INDEX, WORKER_INDEX, GROUP_KEY = _PREFIX + "name", _PREFIX + "group-index", _PREFIX + "worker-index", _PREFIX + "group-key"
SIZE, LEADER_NAME = _PREFIX + "size", _PREFIX + "leader-name"
SUBGROUP_INDEX, SUBGROUP_KEY, SUBGROUP_SIZE = _PREFIX + "subgroup-index", _PREFIX + "subgroup-key", _PREFIX + "subgroup-size"


@dataclasses.dataclass(frozen=True, slots=True)
class Subgroups:
    """Division of a replica's pods into subgroups."""

    size: int
    of: Callable[[int], int | None]
    """Subgroup of the pod with a worker index (0 is the leader); None for a leader without a subgroup."""
    with_leader: int = 0
    """Number of workers in the leader's subgroup."""
    exclusive: str = ""
    """Topology key of which each subgroup has its own domain."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupShape:
    """Replicas of a LeaderWorkerSet: each has *size* pods, one of which is the leader."""

    name: str
    namespace: str
    replicas: int
    size: int
    leader: PodTemplate
    worker: PodTemplate
    exclusive: str = ""
    subgroups: Subgroups | None = None
    claims: PodClaims = dataclasses.field(default_factory=PodClaims)

    @property
    def pods(self) -> Iterator[str]:
        """Return the names of all pods."""
        for replica in range(self.replicas):
            leader = f"{self.name}-{replica}"
            yield leader
            yield from (f"{leader}-{worker}" for worker in range(1, self.size))

    def leaders(self, template: str) -> PodPlan:
        """Return the leader of each replica, in the group of *template*."""
        return PodPlan(template, 1, lambda positions, _: self._pod(positions[0], 0), part=LEADER)

    def workers(self, template: str, *, count: int | None = None, first: Callable[[Positions], int] = lambda _: 1) -> PodPlan:
        """Return *count* workers of each replica in the group of *template*, from the worker index *first* on."""

        def make(positions: Positions, number: int) -> dict[str, Json]:
            return self._pod(positions[0], first(positions) + number)

        return PodPlan(template, self.size - 1 if count is None else count, make, part=WORKER)

    def _pod(self, replica: int, worker: int) -> dict[str, Json]:
        leader = f"{self.name}-{replica}"
        key = pod_template.sha1(f"{self.namespace or 'default'}/{leader}")
        labels = {NAME: self.name, GROUP_INDEX: str(replica), WORKER_INDEX: str(worker), GROUP_KEY: key}
        annotations = {SIZE: str(self.size), **({LEADER_NAME: leader} if worker else {})}
        subgroup = self.subgroups.of(worker) if self.subgroups else None
        if self.subgroups and subgroup is not None:
            labels |= {SUBGROUP_INDEX: str(subgroup), SUBGROUP_KEY: pod_template.sha1(f"{leader}/{subgroup}")}
            annotations[SUBGROUP_SIZE] = str(self.subgroups.size)
        template, stateful_set, name = (self.worker, leader, f"{leader}-{worker}") if worker else (self.leader, self.name, leader)
        labels |= pod_template.revision_label(stateful_set, template)
        pod = pod_template.pod(template, name, labels=labels, annotations=annotations)
        self.claims.mount(pod, name)
        if self.exclusive and not worker:
            pod_template.exclusive(pod["spec"], topology=self.exclusive, label=GROUP_KEY, value=key)
        if self.subgroups and self.subgroups.exclusive and subgroup is not None:
            pod_template.exclusive(pod["spec"], topology=self.subgroups.exclusive, label=SUBGROUP_KEY, value=labels[SUBGROUP_KEY])
        return pod


def read_group_shape(about: Subject, spec: Fields, *, exclusive: str) -> GroupShape:
    """Read the *spec* of a LeaderWorkerSet, without its subgroups."""
    template = spec.mapping("leaderWorkerTemplate")
    worker = pod_template.read_pod_template(template.mapping("workerTemplate"))
    leader = pod_template.read_pod_template(template.mapping("leaderTemplate")) if "leaderTemplate" in template else worker
    return GroupShape(
        about.owner.name,
        about.namespace,
        spec.number("replicas", 1),
        template.number("size", 1, minimum=1),
        leader,
        worker,
        exclusive,
        claims=PodClaims.read(template.each_item("volumeClaimTemplates")),
    )
