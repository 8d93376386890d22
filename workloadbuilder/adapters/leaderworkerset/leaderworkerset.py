"""Adapter for LeaderWorkerSet (leaderworkerset.x-k8s.io): each replica is a gang of its leader and its workers.

Each replica is a CompositePodGroup over a group of the leader and one of the workers (KEP-6089, "Sane Defaults and Escape
Hatches").  The API has no scheduling field yet.  This adapter reads ``spec.scheduling`` with the building blocks of a composite
for each replica; with Basic there, leader and workers are placed pod by pod.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from validators.model.start_order import LEADER, LWS_EXCLUSIVE, WORKER, Event, Wait, start_order
from workloadbuilder.adapters.leaderworkerset import lws_pods, lws_subgroups
from workloadbuilder.adapters.leaderworkerset.lws_pods import GroupShape
from workloadbuilder.adapters.leaderworkerset.lws_subgroups import Part
from workloadbuilder.adapters.shared import kueue_annotations, kueue_podsets, object_identity, pod_template
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS, Loss, Reading, with_minimum
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import TemplatePods
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blocks import IntentReading, read_intent
from workloadbuilder.workload_item import Block, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

ROOT = "replica"
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
    shape = _shape(about, spec)
    intent = read_intent(spec.raw("scheduling"), path=_SPEC / "scheduling", composite=True)
    waits = start_order("leaderworkerset.x-k8s.io", "LeaderWorkerSet", spec.given, about.annotations)
    leader_first = _leader_first(spec, waits.get(WORKER) if shape.size > 1 else None, intent, errors, warnings)
    parts, losses = _parts(shape)
    priority = pod_template.common_priority([shape.leader, *([shape.worker] if shape.size > 1 else [])], errors, warnings)
    root = WorkloadItem(
        ROOT,
        _SPEC / "scheduling",
        default=SchedulingConfig(_BASIC if leader_first else _GANG, (shape.exclusive,) if shape.exclusive else None),
        intent=intent.intent,
        callbacks=(with_minimum(sum(part.replicas for part in parts)),),
        children=tuple(_leaf(part, priority, basic=_is_basic(intent) or (leader_first and len(part.pods) > 1)) for part in parts),
        replicas=shape.replicas,
        scalable=True,
        priority_class_name=priority,
    )
    exclusive = _ANNOTATIONS / Key(LWS_EXCLUSIVE)
    reading = Reading(
        about.owner,
        about.namespace,
        root,
        tuple(plan for part in parts for plan in part.pods),
        further=tuple(shape.claims.objects(shape.pods, about.namespace, known)) if shape.replicas * shape.size <= MAX_PODS else (),
        errors=(*errors, *intent.errors),
        warnings=(*warnings, *intent.warnings),
        losses=(*kueue_annotations.queue(about.labels, about.annotations), *_exclusive_losses(shape), *losses),
        origins=(
            *([(ROOT, Block.TOPOLOGY, exclusive)] if shape.exclusive else []),
            *((part.template, Block.TOPOLOGY, part.origin) for part in parts if part.topology),
        ),
        waits=waits,
    )
    return _confined(reading, shape, parts, known)


def _shape(about: Subject, spec: Fields) -> GroupShape:
    shape = lws_pods.read_group_shape(about, spec, exclusive=about.annotations.get(LWS_EXCLUSIVE, ""))
    policy = spec.mapping("leaderWorkerTemplate").mapping("subGroupPolicy")
    subgroups = lws_subgroups.read_subgroups(policy, shape.size, about.annotations.get(SUBGROUP_EXCLUSIVE, ""))
    return dataclasses.replace(shape, subgroups=subgroups)


def _exclusive_losses(shape: GroupShape) -> list[Loss]:
    return [_not_exclusive("replicas", shape.exclusive, _ANNOTATIONS / Key(LWS_EXCLUSIVE))] if shape.exclusive else []


def _confined(reading: Reading, shape: GroupShape, parts: Sequence[Part], known: Known) -> Reading:
    """Return *reading* with the domains that Kueue's annotations require; they have no effect on subgroups with domains of their own."""
    if any(part.topology for part in parts):
        losses = kueue_podsets.unexpressed([shape.leader, shape.worker], "each subgroup has its own domain")
        return dataclasses.replace(reading, losses=(*reading.losses, *losses))
    return kueue_podsets.confined(reading, _podsets(shape, parts), known)


def _podsets(shape: GroupShape, parts: Sequence[Part]) -> list[TemplatePods]:
    """Return the podsets of a replica: the leader and the workers, or all pods if they have one template."""
    if shape.leader is shape.worker:
        return [TemplatePods(shape.worker, tuple(part.template for part in parts))]
    return [TemplatePods(shape.leader if part.template == LEADER else shape.worker, (part.template,)) for part in parts]


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


def _not_exclusive(parts: str, topology: str, path: FieldPath) -> Loss:
    return Loss(path, f"only pod anti-affinity keeps other {parts} out of the domain of {topology}, not the group")


def _parts(shape: GroupShape) -> tuple[tuple[Part, ...], tuple[Loss, ...]]:
    """Return the groups of one replica: leader and workers, or the subgroups if each has its own domain."""
    if shape.subgroups and shape.subgroups.exclusive:
        origin = _ANNOTATIONS / Key(SUBGROUP_EXCLUSIVE)
        loss = _not_exclusive("subgroups", shape.subgroups.exclusive, origin)
        return lws_subgroups.parts(shape, shape.subgroups, LEADER, origin), (loss,)
    leader = Part(LEADER, shape.leader.path, 1, 1, (shape.leaders(LEADER),))
    if shape.size == 1:
        return (leader,), ()
    return (leader, Part(WORKER, shape.worker.path, shape.size - 1, 1, (shape.workers(WORKER),))), ()


def _is_basic(intent: IntentReading) -> bool:
    policy = intent.intent.config.policy
    return policy is not None and policy.kind is PolicyKind.BASIC


def _leader_first(spec: Fields, wait: Wait | None, intent: IntentReading, errors: list[FieldError], warnings: list[FieldError]) -> bool:
    """Return True if workers are created only after their leader is ready or placed, so that they cannot be in one gang with it."""
    order = spec.text("startupPolicy", "LeaderCreated")
    if order not in {"LeaderCreated", "LeaderReady"}:
        errors.append(field.not_supported(_SPEC / "startupPolicy", order, ["LeaderCreated", "LeaderReady"]))
    if wait is None:
        return False
    policy = intent.intent.config.policy
    if policy is None and wait.event is Event.LEADER_READY:
        detail = "workers are created only when the leader is ready, so leader and workers are separate gangs"
        warnings.append(field.invalid(_SPEC / "startupPolicy", order, detail))
    elif policy is None:
        detail = "workers are created only when the leader is placed, so leader and workers are separate gangs"
        warnings.append(field.invalid_struct(_ANNOTATIONS / Key(LWS_EXCLUSIVE), detail))
    elif policy.kind is PolicyKind.GANG and policy.minimum != 1:
        path = next(path for block, path in intent.intent.paths if block is Block.POLICY)
        cause = "spec.startupPolicy is LeaderReady" if wait.event is Event.LEADER_READY else f"annotation {LWS_EXCLUSIVE}"
        detail = (
            f"must not be a gang of leader and workers: workers are created only when {wait.words} ({cause}), and the leader would wait "
            "for the gang; set minGroupCount to 1, or omit the policy"
        )
        warnings.append(field.forbidden(path / "gang", detail))
    return True
