"""Common parts of the groups of other schedulers: owners, pods, and names of topology levels.

These objects have no pod templates; their members are the pods in the input that name them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubeapi import content
from kubeapi.decode import Json
from kubeapi.priority import SYSTEM_CLASSES
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Positions
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import WHOLE, Owner, PolicyKind, SchedulingPolicy

ROOT = "podgroup-root"
"""Name of the root template."""
BASIC = SchedulingPolicy(PolicyKind.BASIC)
PREFERENCE_DROPPED = "the preference is dropped: the scheduler supports only required constraints"
HARD = "hard"
"""Mode of Volcano's ``networkTopology`` that is required; the default."""
Member = Callable[[Mapping[str, str], Mapping[str, str]], bool]
"""Test for membership of a pod, by its labels and annotations."""
_SERVER_SIDE = frozenset({"nodeName", "schedulerName", "schedulingGroup"})


def gang(minimum: int | None) -> SchedulingPolicy:
    """Return a gang of at least *minimum* members, or Basic if *minimum* is 0 or None."""
    return SchedulingPolicy(PolicyKind.GANG, minimum) if minimum else BASIC


def workload_owner(about: Subject) -> Owner:
    """Return the object that the Workload describes: the group's controller, or the group itself if it has none."""
    return about.controller or about.owner


def priority(spec: Fields, warnings: list[FieldError]) -> str:
    """Return the group's priority class; empty for a system class, with a warning."""
    name = spec.text("priorityClassName")
    if name not in SYSTEM_CLASSES:
        return name
    detail = "a group cannot have a system priority class: the group is created without it"
    warnings.append(field.invalid(spec.path / "priorityClassName", name, detail))
    return ""


def label(known: Known, level: str) -> str:
    """Return the node label of another scheduler's *level*: from ``--level``, or *level* itself if it has the form of one; else empty."""
    node_label = known.levels.get(level, "")
    return node_label or (level if "/" in level and not content.label_key(level) else "")


def highest_tier(holder: Fields, known: Known, losses: list[Loss]) -> str:
    """Return the node label of the highest tier that Volcano's ``networkTopology`` of *holder* allows.

    It is empty if no tier is required, or its label is unknown.
    """
    constraint = holder.mapping("networkTopology")
    if not constraint.given:
        return ""
    if constraint.text("mode", HARD) != HARD:
        losses.append(Loss(constraint.path, PREFERENCE_DROPPED))
        return ""
    tier = constraint.text("highestTierName") or str(constraint.count("highestTierAllowed", None) or "")
    node_label = label(known, tier)
    if not node_label:
        detail = f"tier {tier!r} of HyperNodes has no known node label: pass --level {tier or 'TIER'}=LABEL"
        losses.append(Loss(constraint.path, detail, required=True))
    return node_label


def members(known: Known, namespace: str, belongs: Member) -> list[Json]:
    """Return the pods of *namespace* that belong to a group, sorted by name."""
    pods = []
    for each in known.list_kind("", "Pod"):
        metadata = Fields(each, WHOLE, []).mapping("metadata")
        same_namespace = (metadata.text("namespace") or "default") == (namespace or "default")
        if same_namespace and belongs(metadata.annotations("labels"), metadata.annotations()):
            pods.append(each)
    return pods


def plan(template: str, pods: list[Json]) -> PodPlan:
    """Return *pods* as new, unscheduled members of the group of *template*."""

    def make(_: Positions, number: int) -> dict[str, Json]:
        source = Fields(pods[number], WHOLE, [])
        metadata = {name: source.mapping("metadata").raw(name) for name in ("name", "labels", "annotations")}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {name: copied(value) for name, value in metadata.items() if value},
            "spec": {name: copied(value) for name, value in source.mapping("spec").given.items() if name not in _SERVER_SIDE},
        }

    return PodPlan(template, len(pods), make, collected=True)
