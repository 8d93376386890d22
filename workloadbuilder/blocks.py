"""Decoding of the building blocks in a user's object, from plain JSON to the library's own form.

The blocks are those of ``scheduling.k8s.io/v1alpha3`` that controllers embed (``WorkloadPodGroup…`` on the level of pods,
``WorkloadCompositePodGroup…`` above).  ``read_intent`` reads a whole ``scheduling`` object.  It accepts the field names of
Kubernetes 1.37, and those of KEP-6089's examples with a warning.

Only the shape is validated here: JSON types, unknown fields, unions.  ``check`` validates the values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators.field import FieldError
from workloadbuilder.errors import BlockError, in_order
from workloadbuilder.shapes import Reader
from workloadbuilder.workload_item import Block, DisruptionMode, ResourceClaim, SchedulingConfig, SchedulingPolicy, UserIntent

_NAMES: dict[Block, tuple[str, str]] = {
    Block.POLICY: ("schedulingPolicy", "policy"),
    Block.TOPOLOGY: ("schedulingConstraints", "constraints"),
    Block.DISRUPTION_MODE: ("disruptionMode", "disruption"),
    Block.RESOURCE_CLAIMS: ("resourceClaims", ""),
}
"""Each block's field name in Kubernetes 1.37, and in the examples of KEP-6089 if that differs."""
_CURRENT = tuple(current for current, _ in _NAMES.values())
_KNOWN = frozenset(name for names in _NAMES.values() for name in names if name)


@dataclasses.dataclass(frozen=True, slots=True)
class IntentReading:
    """Intent read from a user's ``scheduling`` object, with errors and warnings in order of field path."""

    intent: UserIntent
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()


def map_pod_group_config(
    policy: Json = None, constraints: Json = None, disruption_mode: Json = None, resource_claims: Json = None
) -> SchedulingConfig:
    """Return a leaf's building blocks in the library's form; None is an absent block (KEP-6089, MapPodGroupConfig).

    Raises:
        BlockError: a value is not a block of its kind.
    """
    return _mapped((policy, constraints, disruption_mode, resource_claims), composite=False)


def map_composite_group_config(policy: Json = None, constraints: Json = None, disruption_mode: Json = None) -> SchedulingConfig:
    """Return a composite's building blocks in the library's form (KEP-6089, MapCompositeGroupConfig).

    Raises:
        BlockError: a value is not a block of its kind.
    """
    return _mapped((policy, constraints, disruption_mode, None), composite=True)


def _mapped(blocks: tuple[Json, Json, Json, Json], *, composite: bool) -> SchedulingConfig:
    reader = Reader(composite=composite)
    given = {block: (FieldPath(current), value) for (block, (current, _)), value in zip(_NAMES.items(), blocks, strict=True)}
    config = _config(reader, {block: located for block, located in given.items() if located[1] is not None})
    if reader.errors:
        raise BlockError(in_order(reader.errors))
    return config


def read_intent(scheduling: Json, *, path: FieldPath, composite: bool, also: Collection[str] = ()) -> IntentReading:
    """Return the intent in a user's ``scheduling`` object, with the errors in its shape; never raises, for any JSON.

    *path* is the object's path in the user's own object; *composite* is True for a group of groups.  *also* names fields that
    the caller reads itself.  For None, an absent object, the intent is empty.
    """
    if scheduling is None:
        return IntentReading(UserIntent(composite=composite))
    reader = Reader(composite=composite)
    given = reader.fields(scheduling, path, (*_CURRENT, *sorted(also)), accepted=_KNOWN)
    blocks: dict[Block, tuple[FieldPath, Json]] = {}
    unread = set()
    for block, (current, former) in _NAMES.items():
        if current in given and former in given:
            reader.add_error(path / former, f"must be absent: it is a former name of {current}, which is set")
            unread.add(block)
        if former in given:
            reader.warn_renamed(path / former, former, current)
        for name in (current, former):
            if name in given:
                blocks.setdefault(block, (path / name, given[name]))
    if composite and Block.RESOURCE_CLAIMS in blocks:
        block_path, _ = blocks.pop(Block.RESOURCE_CLAIMS)
        reader.add_error(block_path, "must be absent: only a group of pods has resource claims, not a group of groups")
    config = _config(reader, blocks)
    intent = UserIntent(
        config,
        tuple((block, block_path) for block, (block_path, _) in blocks.items()),
        composite=composite,
        unread=tuple(block for block in Block if block in unread | reader.unread),
        topology_field=reader.topology_field,
    )
    return IntentReading(intent, in_order(reader.errors), in_order(reader.warnings))


def _config(reader: Reader, blocks: dict[Block, tuple[FieldPath, Json]]) -> SchedulingConfig:
    policy: SchedulingPolicy | None = None
    topology: tuple[str, ...] | None = None
    mode: DisruptionMode | None = None
    claims: tuple[ResourceClaim, ...] | None = None
    for block, (path, value) in blocks.items():
        before = len(reader.errors)
        if block is Block.POLICY:
            policy = reader.policy(value, path)
        elif block is Block.TOPOLOGY:
            topology = reader.constraints(value, path)
        elif block is Block.DISRUPTION_MODE:
            mode = reader.disruption_mode(value, path)
        else:
            claims = reader.resource_claims(value, path)
        if len(reader.errors) > before:
            reader.unread.add(block)
    return SchedulingConfig(policy, topology, mode, claims)
