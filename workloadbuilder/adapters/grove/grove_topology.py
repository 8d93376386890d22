"""Node labels of Grove's topology levels, from a ClusterTopology."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.decode import Json
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared.adapter_result import Loss
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.workload_item import WHOLE

_KINDS = ("ClusterTopologyBinding", "ClusterTopology")


@dataclasses.dataclass(frozen=True, slots=True)
class Levels:
    """Node labels of the domains (``rack``) of a PodCliqueSet's topology."""

    known: Known
    labels: Mapping[str, str]

    @classmethod
    def from_template(cls, known: Known, template: Fields) -> Levels:
        """Return the levels of the topology that the template's constraint names, or of the only one in the input."""
        name = template.mapping("topologyConstraint").text("topologyName")
        topologies = [each for kind in _KINDS for each in known.list_kind("grove.io", kind)]
        if name:
            topologies = [each for each in topologies if Fields(each, WHOLE, []).mapping("metadata").text("name") == name]
        return cls(known, _labels(topologies[0]) if len(topologies) == 1 else {})

    def required_label(self, holder: Fields, losses: list[Loss]) -> str:
        """Return the node label that the constraint of *holder* requires; empty if it requires none, or the label is unknown."""
        constraint = holder.mapping("topologyConstraint")
        pack = constraint.mapping("pack")
        if "preferred" in pack:
            losses.append(Loss(pack.path / "preferred", scheduler_groups.PREFERENCE_DROPPED))
        domain = pack.text("required") or constraint.text("packDomain")
        if not domain:
            return ""
        label = self.labels.get(domain) or scheduler_groups.label(self.known, domain)
        if not label:
            detail = f"domain {domain!r} has no known node label: add the ClusterTopology to the input, or pass --level {domain}=LABEL"
            losses.append(Loss(constraint.path, detail, required=True))
        return label


def _labels(topology: Json) -> dict[str, str]:
    levels = Fields(topology, WHOLE, []).mapping("spec")
    return {each.text("domain"): each.text("key") for each in levels.each_item("levels")}
