"""The building blocks of ``scheduling.k8s.io/v1alpha3`` that controllers embed, declared once for two kinds of schemas.

KEP-6089, "Standardized Building Blocks Definitions", with the field names and limits of Kubernetes 1.37.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from kubeapi.workloads import MAX_TOPOLOGY

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_KEY = rf"^({_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One field: a string, a number, a struct by its name, or a list of such structs."""

    about: str
    struct: str = ""
    pattern: str = ""
    longest: int = 0
    most: int = 0
    """Maximum number of entries of a list."""


@dataclasses.dataclass(frozen=True, slots=True)
class Struct:
    """One struct; of the fields in *union* exactly one is set."""

    about: str
    fields: tuple[tuple[str, Field], ...] = ()
    required: tuple[str, ...] = ()
    union: tuple[str, ...] = ()


def _level(prefix: str, members: str, counted: str, whole: str) -> Iterator[tuple[str, Struct]]:
    """Yield the structs that both levels have; *members* is the word for the members of a group of this level."""
    yield from _policy(prefix, members, counted, whole)
    yield from _placing(prefix, members, whole)


def _policy(prefix: str, members: str, counted: str, whole: str) -> Iterator[tuple[str, Struct]]:
    """Yield the structs of the scheduling policy."""
    yield (
        f"{prefix}SchedulingPolicy",
        Struct(
            f"How the {members} of {whole} are scheduled. Exactly one policy is set.",
            (
                (
                    "basic",
                    Field(
                        f"The {members} are scheduled one by one, the standard behaviour of Kubernetes.", f"{prefix}BasicSchedulingPolicy"
                    ),
                ),
                ("gang", Field(f"At least the minimum of {members} is scheduled together, or none.", f"{prefix}GangSchedulingPolicy")),
            ),
            union=("basic", "gang"),
        ),
    )
    yield f"{prefix}BasicSchedulingPolicy", Struct("Has no fields.")
    yield (
        f"{prefix}GangSchedulingPolicy",
        Struct(
            "The minimum that is scheduled together.",
            (
                (
                    counted,
                    Field(f"The minimum number of {members} that are scheduled at the same time. By default, the controller fills it in."),
                ),
            ),
        ),
    )


def _placing(prefix: str, members: str, whole: str) -> Iterator[tuple[str, Struct]]:
    """Yield the structs of scheduling constraints and disruption mode."""
    yield (
        f"{prefix}SchedulingConstraints",
        Struct(
            f"Where the pods of {whole} can run.",
            (
                (
                    "topology",
                    Field(
                        "Topology levels; all pods run in one domain of each. At most one constraint.",
                        "TopologyConstraint",
                        most=MAX_TOPOLOGY,
                    ),
                ),
            ),
        ),
    )
    yield (
        f"{prefix}DisruptionMode",
        Struct(
            f"How {whole} is disrupted. Exactly one mode is set.",
            (
                ("single", Field(f"The {members} can be disrupted independently of each other.", f"{prefix}SingleDisruptionMode")),
                ("all", Field(f"All {members} are disrupted together.", f"{prefix}AllDisruptionMode")),
            ),
            union=("single", "all"),
        ),
    )
    yield f"{prefix}SingleDisruptionMode", Struct("Has no fields.")
    yield f"{prefix}AllDisruptionMode", Struct("Has no fields.")


BLOCKS: dict[str, Struct] = {
    **dict(_level("WorkloadPodGroup", "pods", "minCount", "a group")),
    "WorkloadPodGroupResourceClaim": Struct(
        "A claim for devices that the pods of a group share, either an existing claim or one created from a template.",
        (
            ("name", Field("The name of the claim, unique in the group.", pattern=f"^{_LABEL}$", longest=63)),
            ("resourceClaimName", Field("A ResourceClaim of the namespace.", pattern=f"^{_SUBDOMAIN}$", longest=253)),
            ("resourceClaimTemplateName", Field("A ResourceClaimTemplate of the namespace.", pattern=f"^{_SUBDOMAIN}$", longest=253)),
        ),
        required=("name",),
        union=("resourceClaimName", "resourceClaimTemplateName"),
    ),
    **dict(_level("WorkloadCompositePodGroup", "child groups", "minGroupCount", "a group of groups")),
    "TopologyConstraint": Struct(
        "All pods run on nodes with one value of this label.",
        (("key", Field("The key of a node label.", pattern=_LABEL_KEY, longest=317)),),
        required=("key",),
    ),
}
"""Every struct by its name; those of pods first."""


def json_schema(names: Iterable[str]) -> dict[str, Any]:
    """Return JSON Schema 2020-12 with the definitions of *names* and of the structs that they need."""
    required = sorted({each for name in names for each in _needed(name)}, key=list(BLOCKS).index)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Building blocks of scheduling.k8s.io/v1alpha3",
        "$defs": {name: _definition(BLOCKS[name]) for name in required},
    }


def structural(name: str) -> dict[str, Any]:
    """Return the struct as a complete structural schema of OpenAPI v3, with its rules in CEL."""
    struct = BLOCKS[name]
    schema: dict[str, Any] = {"description": struct.about, "type": "object"}
    if struct.fields:
        schema["properties"] = {field: _property(each) for field, each in struct.fields}
    if struct.required:
        schema["required"] = [*struct.required]
    if struct.union:
        one, other = struct.union
        message = f"must specify exactly one of: `{one}`, `{other}`"
        schema["x-kubernetes-validations"] = [{"rule": f"has(self.{one}) != has(self.{other})", "message": message}]
    return schema


def _property(field: Field) -> dict[str, Any]:
    if field.most:
        return {
            "description": field.about,
            "type": "array",
            "maxItems": field.most,
            "items": structural(field.struct),
            "x-kubernetes-list-type": "atomic",
        }
    if field.struct:
        return {**structural(field.struct), "description": field.about}
    return {"description": field.about, **_scalar(field)}


def _definition(struct: Struct) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "description": struct.about,
        "type": "object",
        "properties": {name: _reference(each) for name, each in struct.fields},
        "additionalProperties": False,
    }
    if struct.required:
        schema["required"] = [*struct.required]
    if struct.union:
        schema["oneOf"] = [{"required": [name]} for name in struct.union]
    return schema


def _reference(field: Field) -> dict[str, Any]:
    if field.most:
        return {"description": field.about, "type": "array", "maxItems": field.most, "items": {"$ref": f"#/$defs/{field.struct}"}}
    if field.struct:
        return {"description": field.about, "$ref": f"#/$defs/{field.struct}"}
    return {"description": field.about, **_scalar(field)}


def _scalar(field: Field) -> dict[str, Any]:
    if field.pattern:
        return {"type": "string", "minLength": 1, "maxLength": field.longest, "pattern": field.pattern}
    return {"type": "integer", "format": "int32", "minimum": 1, "maximum": 2**31 - 1}


def _needed(name: str) -> Iterator[str]:
    """Yield the struct and the structs of its fields."""
    yield name
    for _, field in BLOCKS[name].fields:
        if field.struct:
            yield from _needed(field.struct)
