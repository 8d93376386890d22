"""What Grove's names for levels of topology mean: the node labels that a ClusterTopology gives them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from validators.model.decode import Json
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared.adapter_result import Loss
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.item import WHOLE

_KINDS = ("ClusterTopologyBinding", "ClusterTopology")


@dataclasses.dataclass(frozen=True, slots=True)
class Levels:
    """Domains (``rack``) and their node labels, of the topology that a PodCliqueSet names."""

    known: Known
    labels: Mapping[str, str]

    @classmethod
    def from_template(cls, known: Known, template: Fields) -> Levels:
        """Those of the topology that the template's constraint names; of the only one given, if it names none."""
        name = template.mapping("topologyConstraint").text("topologyName")
        given = [each for kind in _KINDS for each in known.list_kind("grove.io", kind)]
        if name:
            given = [each for each in given if Fields(each, WHOLE, []).mapping("metadata").text("name") == name]
        return cls(known, _labels(given[0]) if len(given) == 1 else {})

    def required_label(self, holder: Fields, losses: list[Loss]) -> str:
        """The node label that the constraint of *holder* requires; empty where it requires none, or one that is not known."""
        constraint = holder.mapping("topologyConstraint")
        pack = constraint.mapping("pack")
        if "preferred" in pack:
            losses.append(Loss(pack.path / "preferred", "a preference is not a constraint: the scheduler does not know it"))
        domain = pack.text("required") or constraint.text("packDomain")
        if not domain:
            return ""
        label = self.labels.get(domain) or scheduler_groups.label(self.known, domain)
        if not label:
            detail = f"domain {domain!r} is no node label: give the ClusterTopology that says which, or tell it (--level {domain}=LABEL)"
            losses.append(Loss(constraint.path, detail))
        return label


def _labels(topology: Json) -> dict[str, str]:
    levels = Fields(topology, WHOLE, []).mapping("spec")
    return {each.text("domain"): each.text("key") for each in levels.each_item("levels")}
