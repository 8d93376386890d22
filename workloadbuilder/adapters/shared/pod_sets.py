"""Objects whose pods are one gang, or are scheduled one by one without a group."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators.field import FieldError
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Positions, Reading
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.workload_item import Owner, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

ONE_BY_ONE = "its pods have no group and are scheduled one by one; --pods creates them"


@dataclasses.dataclass(frozen=True, slots=True)
class PodSet:
    """*count* equal pods, named *prefix* and a number from *first* on, with the controller's *labels*."""

    template: PodTemplate
    prefix: str
    count: int
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    first: int = 0
    numbered: bool = True
    """False: the only pod is named *prefix*."""
    number_label: str = ""
    """Label that has the number of the pod, *first_index* more than the one in its name."""
    first_index: int = 0
    owner: Owner | None = None
    """Controller of the pods; None: it makes no difference for placement."""
    volumes: tuple[Mapping[str, Json], ...] = ()
    """Volumes that the controller adds to every pod."""
    part: str = ""
    """Their name in the order of creation."""

    def plan(self, name: str = "") -> PodPlan:
        """Return the pods in the groups of the template *name*."""

        def make(_: Positions, number: int) -> dict[str, Json]:
            index = self.first + number
            labels = {**self.labels, **({self.number_label: str(index + self.first_index)} if self.number_label else {})}
            pod = pod_template.pod(self.template, f"{self.prefix}-{index}" if self.numbered else self.prefix, labels=labels)
            if self.volumes:
                pod["spec"].setdefault("volumes", []).extend(dict(each) for each in self.volumes)
            return owned(pod, self.owner)

        return PodPlan(name, self.count, make, part=self.part)


def owned(manifest: dict[str, Json], owner: Owner | None) -> dict[str, Json]:
    """Return the object with a reference to its controller."""
    if owner is not None:
        reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid, "controller": True}
        manifest["metadata"]["ownerReferences"] = [{key: value for key, value in reference.items() if value}]
    return manifest


def one_by_one(about: Subject, sets: Sequence[PodSet], errors: Sequence[FieldError], warnings: Sequence[FieldError]) -> Reading:
    """Return the reading of an object whose pods have no group."""
    return Reading(
        about.owner,
        about.namespace,
        pods=tuple(each.plan() for each in sets),
        skipped=ONE_BY_ONE,
        errors=tuple(errors),
        warnings=tuple(each for each in warnings if each.path != FieldPath("metadata", "uid")),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Gang:
    """Gang of all pods of an object: the name of its template, its path, and the minimum of pods."""

    name: str
    path: FieldPath
    minimum: int
    priority: str | None = None
    """Priority class that the object sets; None: that of its pods."""
    topology: str = ""
    """Node label: all pods must be in one of its domains."""
    minimum_path: FieldPath | None = None
    """Field of the object with the minimum; None if there is none."""


def gang(
    about: Subject, sets: Sequence[PodSet], wanted: Gang, errors: list[FieldError], warnings: list[FieldError], losses: Sequence[Loss] = ()
) -> Reading:
    """Return the reading of an object whose pods are one gang."""
    filled = [each.template for each in sets if each.count]
    priority = pod_template.common_priority(filled, errors, warnings) if wanted.priority is None else wanted.priority
    root = WorkloadItem(
        wanted.name,
        wanted.path,
        default=SchedulingConfig(SchedulingPolicy(PolicyKind.GANG, wanted.minimum), (wanted.topology,) if wanted.topology else None),
        priority_class_name=priority,
        minimum_path=wanted.minimum_path,
    )
    return Reading(
        about.owner,
        about.namespace,
        root,
        tuple(each.plan(wanted.name) for each in sets),
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
    )
