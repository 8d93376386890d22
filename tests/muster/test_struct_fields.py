"""Shapes of a snapshot follow from the types of fields and their marks."""

from __future__ import annotations

import re
import typing
from typing import Annotated, Any

import msgspec
import pytest

from kubeapi import controllers, devices, disruption, groups, nodes, pods, priority, resource_claims, storage, volumes, workloads
from kubeapi.meta import Int32, Struct
from kubeapi.quantity import Amounts
from kubeapi.redaction import KEPT, UNREAD, Labels, Like, Mark, Name, Names, Only, WasScalar, WithoutEmpty, inner
from muster.commands.snapshot.shapes import Each, Entries, OrScalar, Unread
from muster.commands.snapshot.struct_fields import fields_of, shape_of


class Part(Struct, frozen=True, gc=False):
    """Part of an object."""

    name: Name = ""
    count: Int32 = 0
    host_ip: Name = msgspec.field(default="", name="hostIP")
    parts: tuple[Part, ...] | None = None


PART = {"name": Mark.NAME, "count": KEPT, "hostIP": Mark.NAME, "parts": Each(fields_of(Part))}


@pytest.mark.parametrize(
    ("hint", "want"),
    [
        (str | None, KEPT),
        (int | str | None, KEPT),
        (Annotated[str, Mark.TEXT] | None, Mark.TEXT),
        (Names | None, Each(Mark.NAME)),
        (Labels, Entries(value=Mark.NAME)),
        (Amounts | None, Entries(key=Mark.RESOURCE)),
        (dict[str, Part], Entries(value=PART)),
        (dict[str, object] | None, {}),
        (tuple[dict[str, object], ...], Each({})),
        (Part, PART),
        (Annotated[Part | None, inner(name=UNREAD)], {**PART, "name": UNREAD}),
        (Annotated[Part | None, WasScalar()], OrScalar(PART)),
        (Annotated[tuple[Part, ...] | None, Only(("a",)), inner(count=UNREAD)], Each({**PART, "count": UNREAD}, only=frozenset({"a"}))),
        (Annotated[tuple[Part, ...] | None, WithoutEmpty()], Each(PART, compact=True)),
        (Annotated[Any, Like(tuple[Part, ...])], Each(PART)),
        (Annotated[dict[str, str] | None, UNREAD], Unread(dict)),
        (Annotated[tuple[str, ...] | None, UNREAD], Unread(list)),
        (Annotated[tuple[object, ...] | None, UNREAD], UNREAD),
    ],
    ids=str,
)
def test_the_shape_follows_from_the_type(hint, want):
    assert want == shape_of(hint)


NAMES_SOMETHING = re.compile(r"name|uid|pool|device$|node$|values?$|reference|handle|key$", re.IGNORECASE)
"""Fields whose name says that they may name something of the user's."""
REVIEWED = {
    # Keys of labels, taints and topologies are kept.
    *("Taint.key", "Toleration.key", "Requirement.key", "DeviceTaint.key", "DeviceToleration.key", "TopologyConstraint.key"),
    *("PodAffinityTerm.topologyKey", "TopologySpreadConstraint.topologyKey", "TopologySelectorLabelRequirement.key"),
    # So are schedulers, gates, drivers and extended resources, and names of requests, which are parts of other names.
    *("PodSpec.schedulerName", "PodSchedulingGate.name", "CSINodeDriver.name", "DeviceClassSpec.extendedResourceName"),
    *("DeviceSubRequest.name", "DeviceRequest.name"),
}
KINDS = (
    *(nodes.Node, nodes.Namespace, pods.Pod, priority.PriorityClass, workloads.Workload, groups.PodGroup, groups.CompositePodGroup),
    *(disruption.PodDisruptionBudget, volumes.PersistentVolume, volumes.PersistentVolumeClaim, volumes.EphemeralVolumeSource),
    *(storage.CSIDriver, storage.CSINode, storage.CSIStorageCapacity, storage.VolumeAttachment, storage.StorageClass),
    *(devices.DeviceClass, devices.DeviceTaintRule, devices.ResourceSlice, resource_claims.ResourceClaim),
    *(controllers.Service, controllers.ReplicaSet, resource_claims.ResourceClaimTemplate),
)


def structs_in(hint: Any) -> set[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return {hint}
    return {struct for each in typing.get_args(hint) for struct in structs_in(each)}


def all_structs() -> set[type[Struct]]:
    known, new = set(), set(KINDS)
    while new:
        known |= new
        new = {struct for each in new for field in msgspec.structs.fields(each) for struct in structs_in(field.type)} - known
    return known


def is_unmarked_text(hint: Any) -> bool:
    if typing.get_origin(hint) is Annotated:
        return not any(isinstance(each, Mark) for each in hint.__metadata__) and is_unmarked_text(typing.get_args(hint)[0])
    parts = {*typing.get_args(hint)} - {type(None), ...}
    return hint is str or (typing.get_origin(hint) is not dict and len(parts) == 1 and is_unmarked_text(*parts))


def test_a_name_has_a_mark():
    """A field without a mark is in a redacted snapshot as it is: a new one must be marked, or be listed here with a reason."""
    unmarked = {
        f"{struct.__name__}.{field.encode_name}"
        for struct in all_structs()
        for field in msgspec.structs.fields(struct)
        if NAMES_SOMETHING.search(field.encode_name) and is_unmarked_text(field.type)
    }
    assert unmarked == REVIEWED
