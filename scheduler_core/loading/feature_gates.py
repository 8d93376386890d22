"""Snapshot of a cluster in which some feature gates are off.

The API server drops the fields of a disabled gate when objects are written (KEP-4671, KEP-5732 and KEP-6012, Feature
Enablement), and does not serve CompositePodGroups without their gate.  Custom resources, and labels of pods, have no gates.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.meta import replaced
from kubeapi.pods import PLACEMENT_GATE, POD_GROUP_LABEL
from kubeapi.problem import Problem, in_order
from kubeapi.versions import served_versions
from kubeapi.workloads import Workload
from scheduler_core.causes.input_problems import FieldDropped, KindNotServed
from scheduler_core.model.names import Name
from scheduler_core.model.options import OWN_GATE, is_ignored
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.volumes import VolumeNeed
from validators.defaults.drop import drop_disabled_fields
from validators.gates import CLAIMS, COMPOSITE, GENERIC_WORKLOAD, PREEMPTION_POLICY, Gates
from validators.model.objects import Object, namespace_of
from validators.object_lookup import KnownObjects

_OTHERS = ("PriorityClass", "Node")
_OWN_GATES = (PLACEMENT_GATE,)


def apply_feature_gates(snapshot: ClusterSnapshot, gates: Gates, ignore: Collection[str] = ()) -> ClusterSnapshot:
    """Return *snapshot* as in a cluster with *gates*; dropped fields and objects are listed in its problems.

    Claims in the fields *ignore* that wait for their first consumer, and claims to devices there, require nothing.  If ``OWN_GATE`` is
    among the fields, pods with no other scheduling gate than that of Muster have none.
    """
    if OWN_GATE in ignore:
        ignore = frozenset(ignore) - {OWN_GATE}
        if any(pod.gates == _OWN_GATES for pod in snapshot.pods):
            ungated = tuple(replaced(pod, gates=()) if pod.gates == _OWN_GATES else pod for pod in snapshot.pods)
            snapshot = dataclasses.replace(snapshot, pods=ungated)
    if not snapshot.behavior.reads_policy_gate:
        gates = dataclasses.replace(gates, off=gates.off - {PREEMPTION_POLICY})
    if ignore and snapshot.nodes.storage is not None:
        snapshot = without_claims(snapshot, ignore)
    if snapshot.devices is not None:
        snapshot = _device_gates(snapshot, gates, ignore)
    if not gates.off:
        return snapshot
    problems = list(snapshot.problems)
    groups = tuple(_groups(snapshot.groups, gates, problems))
    pods = snapshot.pods
    if not gates.enabled(GENERIC_WORKLOAD):
        dropped = [pod for pod in pods if pod.group != _named_by_label(pod)]
        members = (Name("Pod", pod.namespace, pod.name) for pod in dropped)
        problems += [Problem.about(each, FieldDropped("spec.schedulingGroup", GENERIC_WORKLOAD)) for each in members]
        pods = tuple(replaced(pod, group=_named_by_label(pod)) for pod in pods) if dropped else pods
    workloads = [_drop_fields(each, gates) for each in snapshot.known.list_kind("Workload") or ()]
    others = [each for kind in _OTHERS for each in snapshot.known.list_kind(kind) or ()]
    known = KnownObjects((*groups, *workloads, *others), complete=False)
    return dataclasses.replace(snapshot, groups=groups, pods=pods, known=known, problems=in_order({*problems}))


def _device_gates(snapshot: ClusterSnapshot, gates: Gates, ignore: Collection[str]) -> ClusterSnapshot:
    from scheduler_core.loading import device_gates

    snapshot = device_gates.without_ignored_claims(snapshot, ignore) if ignore else snapshot
    return snapshot if gates.enabled(CLAIMS) else device_gates.without_group_claims(snapshot)


def without_claims(snapshot: ClusterSnapshot, ignore: Collection[str]) -> ClusterSnapshot:
    """Return *snapshot* without the claims that wait for their first consumer in the fields *ignore*."""
    shapes: dict[PodShape, PodShape] = {}
    for shape in {pod.shape for pod in snapshot.pods}:
        kept = tuple(each for each in shape.volumes if each.request is None or not is_ignored(each.field, ignore))
        if len(kept) < len(shape.volumes):
            shapes[shape] = _with_claims(shape, kept, snapshot)
    pods = tuple(
        replaced(pod, shape=shapes[pod.shape], delayed_claims=_kept_claims(pod, ignore)) if pod.shape in shapes else pod
        for pod in snapshot.pods
    )
    return dataclasses.replace(snapshot, pods=pods)


def _with_claims(shape: PodShape, needs: tuple[VolumeNeed, ...], snapshot: ClusterSnapshot) -> PodShape:
    storage = snapshot.nodes.storage
    requests = [each.request for each in needs if each.request is not None] if shape.profile.filters("VolumeBinding") else []
    if storage is None:
        return dataclasses.replace(shape, volumes=needs)
    counted = Counter(snapshot.nodes.row[name] for name in storage.rows(requests))
    kept = tuple((row, amount) for row, amount in shape.requests if row not in snapshot.nodes.volume_rows)
    return dataclasses.replace(
        shape,
        requests=(*kept, *sorted(counted.items())),
        volumes=needs,
        picks_volumes=storage.one_by_one(requests),
        counts_volumes=storage.counted(requests),
    )


def _kept_claims(pod: PodRecord, ignore: Collection[str]) -> tuple[str, ...]:
    fields = (each.field for each in pod.shape.volumes if each.request is not None)
    return tuple(claim for claim, field in zip(pod.delayed_claims, fields, strict=False) if not is_ignored(field, ignore))


def _groups(groups: Iterable[Group], gates: Gates, problems: list[Problem]) -> Iterator[Group]:
    for group in groups:
        name = Name(group.kind, namespace_of(group), group.metadata.name)
        if _is_custom(group):
            yield group
            continue
        required = COMPOSITE if isinstance(group, CompositePodGroup) else GENERIC_WORKLOAD
        if not gates.enabled(required):
            problems.append(Problem.about(name, KindNotServed(required)))
            continue
        kept, dropped = drop_disabled_fields(group, None, gates)
        problems += [Problem.about(name, FieldDropped(str(path), gate)) for path, gate in dropped]
        yield _require_group(kept)


def _drop_fields(workload: Object, gates: Gates) -> Object:
    return workload if _is_custom(workload) else drop_disabled_fields(workload, None, gates)[0]


def _is_custom(each: Object) -> bool:
    """Return whether an object is a custom resource, of which no gate drops a field."""
    return isinstance(each, (PodGroup, CompositePodGroup, Workload)) and served_versions.form_of(each.api_version).custom


def _named_by_label(pod: PodRecord) -> str:
    """Return the group that the labels of *pod* name, which no gate drops."""
    return pod.labels.get(POD_GROUP_LABEL, "")


def _require_group(kept: Object) -> Group:
    if not isinstance(kept, (PodGroup, CompositePodGroup)):
        raise TypeError(f"{kept.kind} is not a group kind")
    return kept
