"""Jobs and pods that JobSet's controller creates, with its names, labels and annotations."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from kubeapi.decode import Json
from workloadbuilder import workload_owner
from workloadbuilder.adapters.jobset import jobset_labels
from workloadbuilder.adapters.jobset.replicated_jobs import ReplicatedJob
from workloadbuilder.adapters.shared import job_spec, pod_template
from workloadbuilder.adapters.shared.adapter_result import ChildPlan, PodPlan, Positions
from workloadbuilder.adapters.shared.pod_claims import PodClaims
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import Owner


@dataclasses.dataclass(frozen=True, slots=True)
class JobSetObjects:
    """Objects of one JobSet: *jobset* is the set as an owner, *parts* are all its replicated jobs."""

    jobset: Owner
    namespace: str
    parts: Sequence[ReplicatedJob]
    suspended: bool = False
    claims: PodClaims = dataclasses.field(default_factory=PodClaims)
    coordinator: str = ""
    """Address of the pod that coordinates the others; empty if there is none."""
    restarts: int = 0

    def pods(self, part: ReplicatedJob) -> PodPlan:
        """Return the pods of each Job of *part*."""
        earlier = self._earlier(part)

        def make(positions: Positions, number: int) -> dict[str, Json]:
            job, labels = self._job_name(part, positions[-1]), self._labels(part, positions[-1], earlier)
            pod = job_spec.pod(part.shape, job, number, labels, {**labels, **self._exclusive(part)})
            self.claims.mount(pod, self.jobset.name, mounted_only=True)
            if part.exclusive:
                self._set_exclusive(pod["spec"], part, job, labels[jobset_labels.JOB_KEY], first=number == 0)
            return pod

        return PodPlan(part.name, part.shape.pods, make, part=part.name)

    def jobs(self, part: ReplicatedJob) -> ChildPlan:
        """Return the Jobs of *part* with linkage annotations, so that the Job controller creates the groups."""
        earlier = self._earlier(part)

        def make(positions: Positions, linkage: Mapping[str, str]) -> dict[str, Json]:
            labels = self._labels(part, positions[-1], earlier)
            metadata: dict[str, Json] = {
                "name": self._job_name(part, positions[-1]),
                "labels": {**part.labels, **labels},
                "annotations": {**part.annotations, **labels, **linkage},
            }
            if references := workload_owner.owner_references(self.jobset):
                metadata["ownerReferences"] = references
            return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": self._spec(part, labels)}

        return ChildPlan(part.name, make)

    def _spec(self, part: ReplicatedJob, labels: Mapping[str, str]) -> dict[str, Json]:
        # The parent has compiled all scheduling blocks, so the child must not have them again.
        spec: dict[str, Json] = {name: copied(value) for name, value in part.job.items() if name != "scheduling" and value is not None}
        spec.setdefault("completionMode", "Indexed")
        if self.suspended:
            spec["suspend"] = True
        template = spec.setdefault("template", {})
        metadata = template.setdefault("metadata", {})
        for name in ("labels", "annotations"):
            metadata[name] = {**(metadata.get(name) or {}), **labels, **(self._exclusive(part) if name == "annotations" else {})}
        return spec

    def _job_name(self, part: ReplicatedJob, index: int) -> str:
        return f"{self.jobset.name}-{part.name}-{index}"

    def _earlier(self, part: ReplicatedJob) -> Sequence[ReplicatedJob]:
        """Return the replicated jobs before *part*, after whose Jobs its own are numbered."""
        return [*itertools.takewhile(lambda each: each is not part, self.parts)]

    def _labels(self, part: ReplicatedJob, index: int, earlier: Sequence[ReplicatedJob]) -> dict[str, str]:
        labels = {
            jobset_labels.NAME: self.jobset.name,
            jobset_labels.REPLICATED_JOB: part.name,
            jobset_labels.REPLICAS: str(part.replicas),
            jobset_labels.GLOBAL_REPLICAS: str(_jobs(self.parts)),
            jobset_labels.RESTARTS: str(self.restarts),
            jobset_labels.JOB_INDEX: str(index),
            jobset_labels.GLOBAL_INDEX: str(_jobs(earlier) + index),
            jobset_labels.JOB_KEY: pod_template.sha1(f"{self.namespace or 'default'}/{self._job_name(part, index)}"),
            jobset_labels.GROUP_NAME: part.group,
            jobset_labels.GROUP_REPLICAS: str(_jobs(self.parts, part.group)),
            jobset_labels.GROUP_INDEX: str(_jobs(earlier, part.group) + index),
        }
        further = {jobset_labels.COORDINATOR: self.coordinator, jobset_labels.UID: self.jobset.uid}
        return {**labels, **{name: value for name, value in further.items() if value}}

    def _exclusive(self, part: ReplicatedJob) -> dict[str, str]:
        names = (jobset_labels.EXCLUSIVE, jobset_labels.NODE_SELECTOR)
        return {name: part.annotations[name] for name in names if name in part.annotations}

    def _set_exclusive(self, spec: dict[str, Json], part: ReplicatedJob, job: str, key: str, *, first: bool) -> None:
        """Give a Job its own domain: by a node selector for labels set in advance, or by the affinity of its first pod."""
        if jobset_labels.NODE_SELECTOR in part.annotations:
            name = f"{self.namespace or 'default'}_{job}"
            spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), "alpha.jobset.sigs.k8s.io/namespaced-job": name}
            toleration = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}
            spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]
        elif first:
            pod_template.exclusive(spec, topology=part.exclusive, label=jobset_labels.JOB_KEY, value=key, everywhere=True)


def _jobs(parts: Sequence[ReplicatedJob], group: str | None = None) -> int:
    """Return the number of Jobs of *parts*, or of those that are numbered together as *group*."""
    return sum(each.replicas for each in parts if group in (None, each.group))
