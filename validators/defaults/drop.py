"""Fields whose feature gate is off: the API server drops them, unless the stored object already uses them.

Source: Kubernetes 1.37.1, ``dropDisabled*`` of the strategies.  As there, leaf templates are matched with the old object
by index, and composite templates by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import replaced
from kubeapi.workloads import Basic, CompositePodGroupTemplate, PodGroupTemplate, Shape, Workload, WorkloadSpec
from validators import gates as names
from validators.gates import Gates
from validators.model.job_parts import job_part
from validators.model.objects import Object
from validators.model.templates import COMPOSITES, LEAVES, SPEC
from validators.model.views import CronJob, JobSpec, Pod

Dropped = list[tuple[FieldPath, str]]
"""The dropped fields, each with the gate that is off."""


def drop_disabled_fields(new: Object, old: Object | None, gates: Gates) -> tuple[Object, Dropped]:
    """Return *new* without the fields that the API server drops, and those fields."""
    dropped: Dropped = []
    if not gates.off:
        return new, dropped
    if isinstance(new, Workload):
        old_spec = old.spec if isinstance(old, Workload) else None
        return replaced(new, spec=_workload(new.spec, old_spec, gates, dropped)), dropped
    if isinstance(new, PodGroup):
        old_group = old.spec if isinstance(old, PodGroup) else None
        changes = _dropped_fields(new.spec, old_group, gates, SPEC, dropped, leaf=True)
        if (
            not gates.enabled(names.COMPOSITE)
            and new.spec.parent_composite_pod_group_name is not None
            and not (old_group and old_group.parent_composite_pod_group_name is not None)
        ):
            changes["parent_composite_pod_group_name"] = None
            dropped.append((SPEC / "parentCompositePodGroupName", names.COMPOSITE))
        return replaced(new, spec=replaced(new.spec, **changes)), dropped
    if isinstance(new, CompositePodGroup):
        changes = _dropped_fields(new.spec, old.spec if isinstance(old, CompositePodGroup) else None, gates, SPEC, dropped, leaf=False)
        return replaced(new, spec=replaced(new.spec, **changes)), dropped
    return _drop_in_pod_or_job(new, old, gates, dropped), dropped


def _drop_in_pod_or_job(new: Object, old: Object | None, gates: Gates, dropped: Dropped) -> Object:
    job, before = job_part(new), job_part(old)
    if job is not None and job.spec.scheduling is not None and not gates.enabled(names.WITH_JOB):
        if before is None or before.spec.scheduling is None:
            dropped.append((job.path("scheduling"), names.WITH_JOB))
            return _without_scheduling(new, replaced(job.spec, scheduling=None))
    if isinstance(new, Pod) and new.spec.scheduling_group is not None and not gates.enabled(names.GENERIC_WORKLOAD):
        if not (isinstance(old, Pod) and old.spec.scheduling_group is not None):
            dropped.append((SPEC / "schedulingGroup", names.GENERIC_WORKLOAD))
            return replaced(new, spec=replaced(new.spec, scheduling_group=None))
    return new


def _without_scheduling(new: Object, spec: JobSpec) -> Object:
    if isinstance(new, CronJob):
        return replaced(new, spec=replaced(new.spec, job_template=replaced(new.spec.job_template, spec=spec)))
    return replaced(new, spec=spec)


def _dropped_fields(new: Shape, old: Shape | None, gates: Gates, path: FieldPath, dropped: Dropped, *, leaf: bool) -> dict[str, object]:
    """Return the fields of a template or group that are dropped, each as None."""
    gated = [("preemption_policy", "preemptionPolicy", names.PREEMPTION_POLICY)]
    if leaf:
        gated += [("scheduling_constraints", "schedulingConstraints", names.TOPOLOGY), ("resource_claims", "resourceClaims", names.CLAIMS)]
    changes: dict[str, object] = {}
    for name, wire, gate in gated:
        used = getattr(old, name, None)
        if not gates.enabled(gate) and getattr(new, name) is not None and (used is None or used == ()):
            changes[name] = None
            dropped.append((path / wire, gate))
    return changes


def _workload(new: WorkloadSpec, old: WorkloadSpec | None, gates: Gates, dropped: Dropped) -> WorkloadSpec:
    leaves = _leaves(new.pod_group_templates, old.pod_group_templates if old else None, gates, SPEC / LEAVES, dropped)
    composites = new.composite_pod_group_templates
    if composites and not gates.enabled(names.COMPOSITE) and not (old and old.composite_pod_group_templates):
        dropped.append((SPEC / COMPOSITES, names.COMPOSITE))
        composites = None
    remaining = _composites(composites, old.composite_pod_group_templates if old else None, gates, SPEC / COMPOSITES, dropped)
    return replaced(new, pod_group_templates=leaves, composite_pod_group_templates=remaining)


def _leaves(
    new: Sequence[PodGroupTemplate] | None, old: Sequence[PodGroupTemplate] | None, gates: Gates, path: FieldPath, dropped: Dropped
) -> tuple[PodGroupTemplate, ...]:
    before = old or ()
    remaining: list[PodGroupTemplate] = []
    for index, each in enumerate(new or ()):
        old_leaf = before[index] if index < len(before) else None
        changes = _dropped_fields(each, old_leaf, gates, path / index, dropped, leaf=True)
        if not gates.enabled(names.DESIRED_COUNT) and _desired(each) is not None and _desired(old_leaf) is None:
            changes["scheduling_policy"] = replaced(each.scheduling_policy, basic=Basic())
            dropped.append((path.join((index, "schedulingPolicy", "basic", "desiredCount")), names.DESIRED_COUNT))
        remaining.append(replaced(each, **changes))
    return tuple(remaining)


def _desired(leaf: PodGroupTemplate | None) -> int | None:
    basic = leaf.scheduling_policy.basic if leaf is not None else None
    return basic.desired_count if basic is not None else None


def _composites(
    new: Sequence[CompositePodGroupTemplate] | None,
    old: Sequence[CompositePodGroupTemplate] | None,
    gates: Gates,
    path: FieldPath,
    dropped: Dropped,
) -> tuple[CompositePodGroupTemplate, ...]:
    before = {each.name: each for each in old or ()}
    remaining: list[CompositePodGroupTemplate] = []
    for index, each in enumerate(new or ()):
        template_path, previous = path / index, before.get(each.name)
        changes = _dropped_fields(each, previous, gates, template_path, dropped, leaf=False)
        children = each.composite_pod_group_templates
        if children and not gates.enabled(names.COMPOSITE) and not (previous and previous.composite_pod_group_templates):
            dropped.append((template_path / COMPOSITES, names.COMPOSITE))
            children = None
        changes["composite_pod_group_templates"] = _composites(
            children, previous.composite_pod_group_templates if previous else None, gates, template_path / COMPOSITES, dropped
        )
        changes["pod_group_templates"] = _leaves(
            each.pod_group_templates, previous.pod_group_templates if previous else None, gates, template_path / LEAVES, dropped
        )
        remaining.append(replaced(each, **changes))
    return tuple(remaining)
