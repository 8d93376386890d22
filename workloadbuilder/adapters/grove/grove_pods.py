"""The cliques of a PodCliqueSet, and the pods that Grove makes of them, with the names and labels that it gives them."""

from __future__ import annotations

import dataclasses

from validators import field
from validators.model.decode import Json
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.adapter_result import Places, PodPlan
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.pod_template import PodTemplate

_MANAGED = {"app.kubernetes.io/managed-by": "grove-operator"}


@dataclasses.dataclass(frozen=True, slots=True)
class Clique:
    """Pods of one role: *replicas* of them, of which *least* are wanted together."""

    name: str
    fields: Fields
    replicas: int
    least: int
    template: PodTemplate
    scaled: bool


def cliques(template: Fields) -> dict[str, Clique]:
    """The cliques of a PodCliqueSet's template by name, in its order."""
    found: dict[str, Clique] = {}
    for entry in template.each_item("cliques"):
        name, spec = entry.text("name"), entry.mapping("spec")
        pods = spec.mapping("podSpec")
        replicas = spec.number("replicas", 1)
        least = spec.number("minAvailable", replicas, least=1) if replicas else 0
        if least > replicas:
            path = spec.path / "minAvailable"
            template.errors.append(field.invalid(path, least, f"must not be greater than replicas ({replicas})"))
        metadata = {key: entry.annotations(key) for key in ("labels", "annotations")}
        pod = PodTemplate({"metadata": metadata, "spec": pods.given}, pods.path, metadata["annotations"], "", pods.path)
        if name in found:
            template.errors.append(field.duplicate(entry.path / "name", name, f"already used at {found[name].fields.path}"))
        found.setdefault(name, Clique(name, entry, replicas, least, pod, "autoScalingConfig" in spec))
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Objects:
    """The pods of the PodCliqueSet called *name*, which have its *priority* class."""

    name: str
    priority: str

    def standalone(self, clique: Clique) -> PodPlan:
        """Those of a clique that is in no scaling group: one group in each replica of the set."""

        def make(places: Places, number: int) -> dict[str, Json]:
            return self._pod(clique, f"{self.name}-{places[0]}-{clique.name}", places[0], number, {})

        return PodPlan(clique.name, clique.replicas, make)

    def scaled(self, clique: Clique, group: str) -> PodPlan:
        """Those of a clique in each replica of its scaling group *group*."""

        def make(places: Places, number: int) -> dict[str, Json]:
            replica, place = places[0], places[2]
            scaling = f"{self.name}-{replica}-{group}"
            labels = {"grove.io/podcliquescalinggroup": scaling, "grove.io/podcliquescalinggroup-replica-index": str(place)}
            return self._pod(clique, f"{scaling}-{place}-{clique.name}", replica, number, labels)

        return PodPlan(clique.name, clique.replicas, make)

    def _pod(self, clique: Clique, owner: str, replica: int, number: int, labels: dict[str, str]) -> dict[str, Json]:
        own = {
            **_MANAGED,
            "app.kubernetes.io/part-of": self.name,
            "grove.io/podclique": owner,
            "grove.io/podclique-pod-index": str(number),
            "grove.io/podcliqueset-replica-index": str(replica),
            **labels,
        }
        made = pod_template.pod(clique.template, f"{owner}-{number}", labels=own)
        if self.priority:
            made["spec"]["priorityClassName"] = self.priority
        return made
