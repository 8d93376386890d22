"""Adapter for Grove's PodCliqueSet (grove.io): replicas of a gang of cliques and scaling groups.

The tree has four levels, the maximum: replica, scaling group, replica of the scaling group, clique; standalone cliques are
directly below the replica.  ``minAvailable`` is kept on all levels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.grove import grove_pods
from workloadbuilder.adapters.grove.grove_pods import Clique
from workloadbuilder.adapters.grove.grove_topology import Levels
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known, suggest
from workloadbuilder.workload_item import Block, SchedulingConfig, WorkloadItem

ROOT = "replica"
_TEMPLATE = FieldPath("spec", "template")
_LOST = {
    "cliqueStartupType": "the start order is left to Grove's init containers: all pods are placed together",
    "terminationDelay": "Grove decides when a gang that lost members is terminated",
    "resourceClaimTemplates": "Grove creates the claims: add them to the cliques' groups by hand",
    "resourceSharing": "Grove creates the claims: add them to the cliques' groups by hand",
}
_SCALED = "the group's minimum does not change with autoscaling"


@dataclasses.dataclass(frozen=True, slots=True)
class _Items:
    """Items for the parts of one PodCliqueSet."""

    cliques: Mapping[str, Clique]
    levels: Levels
    priority: str
    losses: list[Loss]

    def leaf(self, clique: Clique) -> WorkloadItem:
        if clique.scaled:
            self.losses.append(Loss(clique.fields.path.join(("spec", "autoScalingConfig")), _SCALED))
        return WorkloadItem(
            clique.name,
            clique.fields.path,
            default=SchedulingConfig(scheduler_groups.gang(clique.minimum), self._topology(clique.fields)),
            replicas=1 if clique.replicas else 0,
            priority_class_name=self.priority,
            name_path=clique.fields.path / "name",
            minimum_path=clique.fields.path.join(("spec", "minAvailable")),
        )

    def scaling_group(self, entry: Fields, members: Sequence[Clique]) -> WorkloadItem:
        """Return a composite of the scaling group's replicas, over a composite of each replica's cliques."""
        name, replicas = entry.text("name"), entry.number("replicas", 1)
        minimum = entry.number("minAvailable", 1, minimum=1)
        if 0 < replicas < minimum:
            detail = f"must not be greater than replicas ({replicas})"
            entry.errors.append(field.invalid(entry.path / "minAvailable", minimum, detail))
        leaves = tuple(self.leaf(each) for each in members)
        if "scaleConfig" in entry:
            self.losses.append(Loss(entry.path / "scaleConfig", _SCALED))
        replica = WorkloadItem(
            f"{name}-replica",
            entry.path,
            default=SchedulingConfig(scheduler_groups.gang(sum(each.replicas for each in leaves)), self._topology(entry)),
            children=leaves,
            replicas=replicas,
            priority_class_name=self.priority,
            name_path=entry.path / "name",
            minimum_path=None,
        )
        return WorkloadItem(
            name,
            entry.path,
            default=SchedulingConfig(scheduler_groups.gang(minimum)),
            children=(replica,),
            replicas=1 if replicas else 0,
            priority_class_name=self.priority,
            name_path=entry.path / "name",
            minimum_path=entry.path / "minAvailable",
        )

    def _topology(self, holder: Fields) -> tuple[str, ...] | None:
        label = self.levels.required_label(holder, self.losses)
        return (label,) if label else None


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a PodCliqueSet; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    template = spec.mapping("template")
    replicas = spec.number("replicas", 0)
    cliques = grove_pods.cliques(template)
    losses = [Loss(_TEMPLATE / name, detail) for name, detail in _LOST.items() if name in template]
    items = _Items(cliques, Levels.from_template(known, template), scheduler_groups.priority(template, warnings), losses)
    groups = [(each, _members(each, cliques)) for each in template.each_item("podCliqueScalingGroups")]
    in_scaling_group = {clique.name for _, members in groups for clique in members}
    children = (
        *(items.leaf(each) for each in cliques.values() if each.name not in in_scaling_group),
        *(items.scaling_group(entry, members) for entry, members in groups if members),
    )
    if not cliques:
        errors.append(field.required(_TEMPLATE / "cliques", "without a clique there are no pods to schedule"))
    label = items.levels.required_label(template, losses)
    root = WorkloadItem(
        ROOT,
        _TEMPLATE,
        default=SchedulingConfig(scheduler_groups.gang(sum(each.replicas for each in children)), (label,) if label else None),
        children=children,
        replicas=replicas,
        priority_class_name=items.priority,
        minimum_path=None,
    )
    pods = grove_pods.CliquePods(about.owner.name, items.priority)
    plans: list[PodPlan] = [pods.standalone(each) for each in cliques.values() if each.name not in in_scaling_group]
    plans += [pods.scaled(each, entry.text("name")) for entry, members in groups for each in members]
    return Reading(
        about.owner,
        about.namespace,
        root,
        tuple(plans),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
        origins=tuple((each.name, Block.TOPOLOGY, each.path / "topologyConstraint") for each in walk(root) if each.default.topology),
    )


def _members(entry: Fields, cliques: Mapping[str, Clique]) -> list[Clique]:
    """Return the cliques of a scaling group, in its order."""
    members = []
    for index, name in enumerate(entry.texts("cliqueNames")):
        if name in cliques:
            members.append(cliques[name])
        else:
            path = entry.path.join(("cliqueNames", index))
            entry.errors.append(field.not_found(path, name, f"there must be a clique of this name{suggest(name, cliques)}"))
    if not members:
        entry.errors.append(field.required(entry.path / "cliqueNames", "a scaling group must have at least one clique"))
    return members
