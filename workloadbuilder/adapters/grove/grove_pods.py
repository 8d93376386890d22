"""Cliques of a PodCliqueSet, and their pods with Grove's names and labels."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from validators import field
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Positions
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.pod_template import PodTemplate

_MANAGED = {"app.kubernetes.io/managed-by": "grove-operator"}


@dataclasses.dataclass(frozen=True, slots=True)
class Clique:
    """Pods of one role: *replicas* pods, of which *minimum* are required; *scaled* is True with autoscaling."""

    name: str
    fields: Fields
    replicas: int
    minimum: int
    template: PodTemplate
    scaled: bool


def cliques(template: Fields) -> dict[str, Clique]:
    """Return the cliques of a PodCliqueSet's template by name, in its order."""
    by_name: dict[str, Clique] = {}
    for entry in template.each_item("cliques"):
        name, spec = entry.text("name"), entry.mapping("spec")
        pods = spec.mapping("podSpec")
        replicas = spec.number("replicas", 1)
        minimum = spec.number("minAvailable", replicas, minimum=1) if replicas else 0
        if minimum > replicas:
            path = spec.path / "minAvailable"
            template.errors.append(field.invalid(path, minimum, f"must not be greater than replicas ({replicas})"))
        metadata = {key: entry.annotations(key) for key in ("labels", "annotations")}
        pod = PodTemplate({"metadata": metadata, "spec": pods.given}, pods.path, metadata["annotations"], "", pods.path)
        if name in by_name:
            template.errors.append(field.duplicate(entry.path / "name", name, f"already used at {by_name[name].fields.path}"))
        by_name.setdefault(name, Clique(name, entry, replicas, minimum, pod, "autoScalingConfig" in spec))
    return by_name


@dataclasses.dataclass(frozen=True, slots=True)
class CliquePods:
    """Pods of the PodCliqueSet named *name*, which have its *priority* class."""

    name: str
    priority: str

    def standalone(self, clique: Clique) -> PodPlan:
        """Return the pods of a clique that is in no scaling group: one group in each replica of the set."""

        def make(positions: Positions, number: int) -> dict[str, Json]:
            return self._pod(clique, f"{self.name}-{positions[0]}-{clique.name}", positions[0], number, {})

        return PodPlan(clique.name, clique.replicas, make)

    def scaled(self, clique: Clique, group: str) -> PodPlan:
        """Return the pods of a clique in each replica of its scaling group *group*."""

        def make(positions: Positions, number: int) -> dict[str, Json]:
            replica, group_replica = positions[0], positions[2]
            scaling = f"{self.name}-{replica}-{group}"
            labels = {"grove.io/podcliquescalinggroup": scaling, "grove.io/podcliquescalinggroup-replica-index": str(group_replica)}
            return self._pod(clique, f"{scaling}-{group_replica}-{clique.name}", replica, number, labels)

        return PodPlan(clique.name, clique.replicas, make)

    def _pod(self, clique: Clique, owner: str, replica: int, number: int, labels: dict[str, str]) -> dict[str, Json]:
        all_labels = {
            **_MANAGED,
            "app.kubernetes.io/part-of": self.name,
            "grove.io/podclique": owner,
            "grove.io/podclique-pod-index": str(number),
            "grove.io/podcliqueset-replica-index": str(replica),
            **labels,
        }
        pod = pod_template.pod(clique.template, f"{owner}-{number}", labels=all_labels)
        if self.priority:
            pod["spec"]["priorityClassName"] = self.priority
        return pod
