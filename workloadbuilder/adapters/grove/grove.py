"""Grove's PodCliqueSet (grove.io): replicas of a gang of cliques and scaling groups.

Each replica is a group of its standalone cliques and its scaling groups, each of these one of its replicas, and each of
those one of its cliques: four levels, as many as a tree may have, and ``minAvailable`` is kept on all of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.grove import grove_pods
from workloadbuilder.adapters.grove.grove_pods import Clique
from workloadbuilder.adapters.grove.grove_topology import Levels
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known, near
from workloadbuilder.item import Block, SchedulingConfig, WorkloadItem

ROOT = "replica"
_TEMPLATE = FieldPath("spec", "template")
_LOST = {
    "cliqueStartupType": "in which order pods start, Grove's init containers see to: they are placed together all the same",
    "terminationDelay": "when a gang that lost members is ended, is Grove's to decide",
    "resourceClaimTemplates": "the claims are made by Grove: give them to the cliques' groups by hand",
    "resourceSharing": "the claims are made by Grove: give them to the cliques' groups by hand",
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Making:
    """What the parts of one PodCliqueSet are made with."""

    cliques: Mapping[str, Clique]
    levels: Levels
    priority: str
    losses: list[Loss]

    def leaf(self, clique: Clique) -> WorkloadItem:
        if clique.scaled:
            self.losses.append(Loss(clique.fields.path.join(("spec", "autoScalingConfig")), "the group's minimum does not follow a scaler"))
        return WorkloadItem(
            clique.name,
            clique.fields.path,
            default=SchedulingConfig(scheduler_groups.gang(clique.least), self._topology(clique.fields)),
            replicas=1 if clique.replicas else 0,
            priority_class_name=self.priority,
            name_path=clique.fields.path / "name",
        )

    def scaling_group(self, entry: Fields, members: Sequence[Clique]) -> WorkloadItem:
        """A composite of the group's replicas, below it one of the cliques of each replica."""
        name, replicas = entry.text("name"), entry.number("replicas", 1)
        least = entry.number("minAvailable", 1, least=1)
        if 0 < replicas < least:
            detail = f"must not be greater than replicas ({replicas})"
            entry.errors.append(field.invalid(entry.path / "minAvailable", least, detail))
        leaves = tuple(self.leaf(each) for each in members)
        if "scaleConfig" in entry:
            self.losses.append(Loss(entry.path / "scaleConfig", "the group's minimum does not follow a scaler"))
        one = WorkloadItem(
            f"{name}-replica",
            entry.path,
            default=SchedulingConfig(scheduler_groups.gang(sum(each.replicas for each in leaves)), self._topology(entry)),
            children=leaves,
            replicas=replicas,
            priority_class_name=self.priority,
            name_path=entry.path / "name",
        )
        return WorkloadItem(
            name,
            entry.path,
            default=SchedulingConfig(scheduler_groups.gang(least)),
            children=(one,),
            replicas=1 if replicas else 0,
            priority_class_name=self.priority,
            name_path=entry.path / "name",
        )

    def _topology(self, holder: Fields) -> tuple[str, ...] | None:
        label = self.levels.required_label(holder, self.losses)
        return (label,) if label else None


def adapt(found: Json, known: Known) -> Reading:
    """What is made of a PodCliqueSet; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(found, errors, warnings)
    spec = top.mapping("spec")
    template = spec.mapping("template")
    replicas = spec.number("replicas", 0)
    cliques = grove_pods.cliques(template)
    losses = [Loss(_TEMPLATE / name, detail) for name, detail in _LOST.items() if name in template]
    making = _Making(cliques, Levels.from_template(known, template), scheduler_groups.priority(template, warnings), losses)
    groups = [(each, _members(each, cliques)) for each in template.each_item("podCliqueScalingGroups")]
    inside = {clique.name for _, members in groups for clique in members}
    children = (
        *(making.leaf(each) for each in cliques.values() if each.name not in inside),
        *(making.scaling_group(entry, members) for entry, members in groups if members),
    )
    if not cliques:
        errors.append(field.required(_TEMPLATE / "cliques", "without a clique there are no pods to schedule"))
    wanted = sum(each.replicas for each in children)
    label = making.levels.required_label(template, losses)
    root = WorkloadItem(
        ROOT,
        _TEMPLATE,
        default=SchedulingConfig(scheduler_groups.gang(wanted), (label,) if label else None),
        children=children,
        replicas=replicas,
        priority_class_name=making.priority,
    )
    made = grove_pods.Objects(about.owner.name, making.priority)
    plans: list[PodPlan] = [made.standalone(each) for each in cliques.values() if each.name not in inside]
    plans += [made.scaled(each, entry.text("name")) for entry, members in groups for each in members]
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
    """The cliques of a scaling group, in its order."""
    found = []
    for place, name in enumerate(entry.texts("cliqueNames")):
        if name in cliques:
            found.append(cliques[name])
        else:
            path = entry.path.join(("cliqueNames", place))
            entry.errors.append(field.not_found(path, name, f"there must be a clique of this name{near(name, cliques)}"))
    if not found:
        entry.errors.append(field.required(entry.path / "cliqueNames", "a scaling group has at least one clique"))
    return found
