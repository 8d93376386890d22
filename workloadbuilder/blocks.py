"""From the building blocks that a user wrote, as plain JSON, to the library's own form.

The blocks are those of ``scheduling.k8s.io/v1alpha3`` that controllers embed (``WorkloadPodGroup…`` on the level of pods,
``WorkloadCompositePodGroup…`` above).  ``read_intent`` reads a whole ``scheduling`` object with the field names of
Kubernetes 1.37, and with those of KEP-6089's examples, for which it names the current ones.

Only the shape is judged here: JSON types, unknown fields, unions.  What the values must be, ``check`` says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.errors import BlockError, in_order
from workloadbuilder.item import Block, DisruptionMode, ResourceClaim, SchedulingConfig, SchedulingPolicy, UserIntent
from workloadbuilder.shapes import Reader

_NAMES: dict[Block, tuple[str, str]] = {
    Block.POLICY: ("schedulingPolicy", "policy"),
    Block.TOPOLOGY: ("schedulingConstraints", "constraints"),
    Block.DISRUPTION_MODE: ("disruptionMode", "disruption"),
    Block.RESOURCE_CLAIMS: ("resourceClaims", ""),
}
"""Each block's field in Kubernetes 1.37, and in the examples of KEP-6089 where that differs."""
_CURRENT = tuple(current for current, _ in _NAMES.values())
_KNOWN = frozenset(name for names in _NAMES.values() for name in names if name)


@dataclasses.dataclass(frozen=True, slots=True)
class IntentReading:
    """A user's ``scheduling`` object, read: what could be, and what is wrong with the rest, in order of field path."""

    intent: UserIntent
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()


def map_pod_group_config(
    policy: Json = None, constraints: Json = None, disruption_mode: Json = None, resource_claims: Json = None
) -> SchedulingConfig:
    """The leaf's building blocks in the library's form; None is a block that was not given (KEP-6089, MapPodGroupConfig).

    Raises:
        BlockError: something given is not the block that it stands for.
    """
    return _mapped((policy, constraints, disruption_mode, resource_claims), composite=False)


def map_composite_group_config(policy: Json = None, constraints: Json = None, disruption_mode: Json = None) -> SchedulingConfig:
    """The composite's building blocks in the library's form (KEP-6089, MapCompositeGroupConfig).

    Raises:
        BlockError: something given is not the block that it stands for.
    """
    return _mapped((policy, constraints, disruption_mode, None), composite=True)


def _mapped(blocks: tuple[Json, Json, Json, Json], *, composite: bool) -> SchedulingConfig:
    reader = Reader(composite=composite)
    places = {block: (FieldPath(current), value) for (block, (current, _)), value in zip(_NAMES.items(), blocks, strict=True)}
    config = _config(reader, {block: place for block, place in places.items() if place[1] is not None})
    if reader.errors:
        raise BlockError(in_order(reader.errors))
    return config


def read_intent(scheduling: Json, *, path: FieldPath, composite: bool, also: Collection[str] = ()) -> IntentReading:
    """What a user's ``scheduling`` object says, and what is wrong with its shape; never raises, whatever JSON it is.

    *path* is where the object stands in the user's own; *composite* whether it speaks of a group of groups.  *also* names
    fields that the caller reads for itself.  None is no object at all: an intent that says nothing.
    """
    if scheduling is None:
        return IntentReading(UserIntent(composite=composite))
    reader = Reader(composite=composite)
    given = reader.fields(scheduling, path, (*_CURRENT, *sorted(also)), unsaid=_KNOWN)
    places: dict[Block, tuple[FieldPath, Json]] = {}
    unread = set()
    for block, (current, former) in _NAMES.items():
        if current in given and former in given:
            reader.wrong(path / former, f"must be absent: {current} says the same under its current name")
            unread.add(block)
        if former in given:
            reader.renamed(path / former, former, current)
        for name in (current, former):
            if name in given:
                places.setdefault(block, (path / name, given[name]))
    if composite and Block.RESOURCE_CLAIMS in places:
        where, _ = places.pop(Block.RESOURCE_CLAIMS)
        reader.wrong(where, "must be absent: a group of groups has no resource claims, a group of pods has")
    config = _config(reader, places)
    intent = UserIntent(
        config,
        tuple((block, where) for block, (where, _) in places.items()),
        composite=composite,
        unread=tuple(block for block in Block if block in unread | reader.unread),
        topology_field=reader.topology_field,
    )
    return IntentReading(intent, in_order(reader.errors), in_order(reader.warnings))


def _config(reader: Reader, places: dict[Block, tuple[FieldPath, Json]]) -> SchedulingConfig:
    policy: SchedulingPolicy | None = None
    topology: tuple[str, ...] | None = None
    mode: DisruptionMode | None = None
    claims: tuple[ResourceClaim, ...] | None = None
    for block, (path, value) in places.items():
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
