"""Adapter for LeaderWorkerSet (leaderworkerset.x-k8s.io): each replica is a gang of its leader and its workers.

Each replica is a CompositePodGroup over a group of the leader and one of the workers (KEP-6089, "Sane Defaults and Escape
Hatches").  The API has no scheduling field yet.  This adapter reads ``spec.scheduling`` with the building blocks of a composite
for each replica; with Basic there, leader and workers are placed pod by pod.
"""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from validators.model.start_order import LEADER, WORKER, start_order
from workloadbuilder.adapters.leaderworkerset import lws_pods, lws_subgroups
from workloadbuilder.adapters.leaderworkerset.lws_pods import GroupShape
from workloadbuilder.adapters.leaderworkerset.lws_subgroups import Part
from workloadbuilder.adapters.shared import kueue_annotations, object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS, Loss, Reading, with_minimum
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.blocks import IntentReading, read_intent
from workloadbuilder.workload_item import Block, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

ROOT = "replica"
EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
SUBGROUP_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
_SPEC = FieldPath("spec")
_ANNOTATIONS = FieldPath("metadata", "annotations")
_GANG, _BASIC = SchedulingPolicy(PolicyKind.GANG), SchedulingPolicy(PolicyKind.BASIC)


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a LeaderWorkerSet; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    if skipped := object_identity.left_to_controller(about, known):
        return Reading(about.owner, about.namespace, skipped=skipped, errors=tuple(errors), warnings=tuple(warnings))
    spec = top.mapping("spec")
    shape = lws_pods.read_group_shape(about, spec, exclusive=about.annotations.get(EXCLUSIVE, ""))
    policy = spec.mapping("leaderWorkerTemplate").mapping("subGroupPolicy")
    subgroups = lws_subgroups.read_subgroups(policy, shape.size, about.annotations.get(SUBGROUP_EXCLUSIVE, ""))
    shape = dataclasses.replace(shape, subgroups=subgroups)
    intent = read_intent(spec.raw("scheduling"), path=_SPEC / "scheduling", composite=True)
    leader_first = _leader_first(spec, intent, errors, warnings)
    constraint = _replica_constraint(shape)
    parts, losses = _parts(shape, shared=constraint.shared)
    priority = pod_template.common_priority([shape.leader, *([shape.worker] if shape.size > 1 else [])], errors, warnings)
    root = WorkloadItem(
        ROOT,
        _SPEC / "scheduling",
        default=SchedulingConfig(_BASIC if leader_first else _GANG, (constraint.topology,) if constraint.topology else None),
        intent=intent.intent,
        callbacks=(with_minimum(sum(part.replicas for part in parts)),),
        children=tuple(_leaf(part, priority, basic=_is_basic(intent)) for part in parts),
        replicas=shape.replicas,
        priority_class_name=priority,
    )
    return Reading(
        about.owner,
        about.namespace,
        root,
        tuple(plan for part in parts for plan in part.pods),
        further=tuple(shape.claims.objects(shape.pods, about.namespace, known)) if shape.replicas * shape.size <= MAX_PODS else (),
        errors=(*errors, *intent.errors),
        warnings=(*warnings, *intent.warnings),
        losses=(*kueue_annotations.queue(about.labels, about.annotations), *constraint.losses, *losses),
        origins=(
            *([(ROOT, Block.TOPOLOGY, constraint.path)] if constraint.topology else []),
            *((part.template, Block.TOPOLOGY, part.origin) for part in parts if part.topology),
        ),
        waits=start_order("leaderworkerset.x-k8s.io", "LeaderWorkerSet", spec.given),
    )


def _leaf(part: Part, priority: str, *, basic: bool) -> WorkloadItem:
    policy = _BASIC if basic else dataclasses.replace(_GANG, minimum=part.size)
    return WorkloadItem(
        part.template,
        part.path,
        default=SchedulingConfig(policy, (part.topology,) if part.topology else None),
        replicas=part.replicas,
        priority_class_name=priority,
        minimum_path=None,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _ReplicaConstraint:
    """Constraint of a whole replica, and the path of its annotation; *shared* is True if it replaces those of the parts."""

    topology: str
    path: FieldPath
    losses: tuple[Loss, ...] = ()
    shared: bool = False


def _replica_constraint(shape: GroupShape) -> _ReplicaConstraint:
    """Return the constraint from annotations: exclusive topology, or Kueue's if leader and workers have the same group there."""
    origin = _ANNOTATIONS / Key(EXCLUSIVE)
    if shape.exclusive:
        detail = f"only pod anti-affinity keeps other replicas out of the domain of {shape.exclusive}, not the group"
        return _ReplicaConstraint(shape.exclusive, origin, (Loss(origin, detail),))
    leader, worker = (kueue_annotations.read_overlay(each, group_size=1, groups=1) for each in (shape.leader, shape.worker))
    if shape.size > 1 and leader.group and leader.topology and (leader.group, leader.topology) == (worker.group, worker.topology):
        return _ReplicaConstraint(leader.topology, leader.path, shared=True)
    return _ReplicaConstraint("", origin)


def _parts(shape: GroupShape, *, shared: bool) -> tuple[tuple[Part, ...], tuple[Loss, ...]]:
    """Return the groups of one replica: leader and workers, or the subgroups if each has its own domain.

    With *shared*, only the replica has a constraint, not its parts.
    """
    if shape.subgroups and shape.subgroups.exclusive:
        origin = _ANNOTATIONS / Key(SUBGROUP_EXCLUSIVE)
        detail = f"only pod anti-affinity keeps other subgroups out of the domain of {shape.subgroups.exclusive}, not the group"
        return lws_subgroups.parts(shape, shape.subgroups, LEADER, origin), (Loss(origin, detail),)
    parts: list[Part] = []
    losses: list[Loss] = []
    for name, template, size in ((LEADER, shape.leader, 1), (WORKER, shape.worker, shape.size - 1)):
        if size:
            overlay = kueue_annotations.read_overlay(template, group_size=size, groups=1)
            plan = shape.leaders(name) if name == LEADER else shape.workers(name)
            parts.append(Part(name, template.path, size, 1, (plan,), "" if shared else overlay.topology, overlay.path))
            losses += overlay.losses
    return tuple(parts), tuple(losses)


def _is_basic(intent: IntentReading) -> bool:
    policy = intent.intent.config.policy
    return policy is not None and policy.kind is PolicyKind.BASIC


def _leader_first(spec: Fields, intent: IntentReading, errors: list[FieldError], warnings: list[FieldError]) -> bool:
    """Return True if workers are created only when their leader is ready, so that they cannot be in one gang with it."""
    order = spec.text("startupPolicy", "LeaderCreated")
    if order not in {"LeaderCreated", "LeaderReady"}:
        errors.append(field.not_supported(_SPEC / "startupPolicy", order, ["LeaderCreated", "LeaderReady"]))
    if order != "LeaderReady":
        return False
    policy = intent.intent.config.policy
    if policy is None:
        detail = "workers are created only when the leader is ready, so leader and workers are separate gangs"
        warnings.append(field.invalid(_SPEC / "startupPolicy", order, detail))
    elif policy.kind is PolicyKind.GANG and policy.minimum != 1:
        path = next(path for block, path in intent.intent.paths if block is Block.POLICY)
        detail = (
            "must not be a gang of leader and workers: workers are created only when the leader is ready (spec.startupPolicy is "
            "LeaderReady), and the leader would wait for the gang; set minGroupCount to 1, or omit the policy"
        )
        warnings.append(field.forbidden(path / "gang", detail))
    return True
