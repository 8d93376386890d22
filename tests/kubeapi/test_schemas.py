"""The structs agree with the JSON Schemas: every field is in the schema of its kind, with a type that has the same values.

The schemas of ``validators/schemas`` have what rules read; those of ``kinds`` are generated from an API server and are complete.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Union

import msgspec
import pytest

from kubeapi import controllers, jobs, pods, volumes
from kubeapi.meta import Struct
from kubeapi.redaction import WasScalar
from kubeapi.selectors import Requirement
from kubeapi.versions import served_versions
from validators import schema
from validators.model.objects import KINDS

Schema = dict[str, Any]
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", tuple: "array"}
ELSEWHERE = {
    # Of most kinds, the schemas have only names and labels of metadata.
    *(f"metadata.{name}" for name in ("uid", "creationTimestamp", "deletionTimestamp", "finalizers", "ownerReferences")),
    # Of both kinds of groups, PodGroups have them.
    "status.resourceClaimStatuses",
}
"""Fields that the schemas of some kinds do not have."""
RETIRED = {
    # v1alpha1
    *("spec.workloadRef", "spec.template.spec.workloadRef"),
    "spec.podGroupTemplates[].schedulingPolicy.basic.desiredCount",
    "spec.schedulingPolicy.basic.desiredCount",
}
"""Fields that only retired versions have, by their path in the current form."""
MISSING = "is not in the schema"


class Checked:
    """Comparison of structs with one schema."""

    def __init__(self, definitions: Schema) -> None:
        self.definitions = definitions
        self._seen: set[tuple[type, str]] = set()

    def differences(self, struct: type[Struct], found: Schema, path: str = "") -> Iterator[str]:
        """Yield the fields of *struct* that the schema *found* does not have, or with another type."""
        found = self._resolved(found)
        if "properties" not in found:
            return
        for field in msgspec.structs.fields(struct):
            place = f"{path}.{field.encode_name}".lstrip(".")
            if field.encode_name not in found["properties"]:
                yield f"{place} {MISSING}"
            else:
                yield from self._of_type(field.type, found["properties"][field.encode_name], place)

    def _of_type(self, hint: Any, found: Schema, path: str) -> Iterator[str]:
        found = self._resolved(found)
        if WasScalar() in getattr(hint, "__metadata__", ()) and found.get("type") == "string":
            return
        hint = plain_type(hint)
        wanted, allowed = {*json_types(hint)}, {*([found["type"]] if isinstance(found.get("type"), str) else found.get("type", ()))}
        if "number" in wanted:
            wanted.discard("integer")  # which is a number
        if not allowed or not wanted:
            return
        if wanted != allowed:
            yield f"{path} is {sorted(allowed)} in the schema, not {sorted(wanted)}"
        elif isinstance(hint, type) and issubclass(hint, Struct):
            if (hint, str(found)) not in self._seen:
                self._seen.add((hint, str(found)))
                yield from self.differences(hint, found, path)
        elif "array" in wanted:
            yield from self._of_type(typing.get_args(hint)[0], found.get("items", {}), f"{path}[]")
        elif "object" in wanted and isinstance(found.get("additionalProperties"), dict):
            yield from self._of_type(typing.get_args(hint)[1], found["additionalProperties"], f"{path}{{}}")

    def _resolved(self, found: Schema) -> Schema:
        while "$ref" in found:
            found = self.definitions[found["$ref"].removeprefix("#/$defs/")]
        return found


def plain_type(hint: Any) -> Any:
    """Return a type without marks and None."""
    if typing.get_origin(hint) is Annotated:
        return plain_type(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (Union, types.UnionType):
        parts = [each for each in typing.get_args(hint) if each is not type(None)]
        return plain_type(parts[0]) if len(parts) == 1 else Union[tuple(parts)]  # noqa: UP007 - of a list
    return hint


def json_types(hint: Any) -> Iterator[str]:
    """Yield the JSON types of a value; none if it can have any."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        for each in typing.get_args(hint):
            yield from json_types(plain_type(each))
    elif isinstance(hint, type) and issubclass(hint, Struct):
        yield "object"
    elif hint not in (Any, object):
        yield JSON_TYPES[typing.get_origin(hint) or hint]


def unknown(differences: Iterator[str]) -> set[str]:
    return {each for each in differences if each.partition(" ")[0] not in ELSEWHERE | RETIRED}


def differences_of(kind: str) -> Iterator[set[str]]:
    """Yield the differences of each version of *kind*."""
    for row in served_versions.versions_of(kind):
        document = schema.document(served_versions.schema_of(row.name, kind))
        yield {*Checked(document.get("$defs", {})).differences(KINDS[kind], document)}


@pytest.mark.parametrize("kind", KINDS)
def test_what_rules_read_is_in_a_schema(kind: str) -> None:
    """In that of one version: claims to devices and slices have fields that others have elsewhere."""
    found = [*differences_of(kind)]
    missing = set.intersection(*({text for text in each if text.endswith(MISSING)} for each in found))
    others = {text for each in found for text in each if not text.endswith(MISSING)}

    assert set() == unknown(iter(missing | others))


GENERATED = {
    "Pod": (pods.Pod, "v1/Pod"),
    "Job": (jobs.Job, "batch/v1/Job"),
    "ReplicaSet": (controllers.ReplicaSet, "apps/v1/ReplicaSet"),
    "StatefulSet": (controllers.StatefulSet, "apps/v1/StatefulSet"),
    "ReplicationController": (controllers.ReplicationController, "v1/ReplicationController"),
    "PodStatus": (pods.PodStatus, "#PodStatus"),
    "JobStatus": (jobs.JobStatus, "#JobStatus"),
    "PersistentVolumeClaim": (volumes.PersistentVolumeClaim, "#PersistentVolumeClaim"),
    "EphemeralVolumeSource": (volumes.EphemeralVolumeSource, "#EphemeralVolumeSource"),
    "LabelSelectorRequirement": (Requirement, "#LabelSelectorRequirement"),
    "NodeSelectorRequirement": (Requirement, "#NodeSelectorRequirement"),
}


def differences_of_generated(name: str) -> Iterator[str]:
    struct, place = GENERATED[name]
    stored = schema.stored("kinds/controllers")
    found = stored["$defs"][place[1:]] if place.startswith("#") else stored["kinds"][place]
    return Checked(stored["$defs"]).differences(struct, found)


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_read_is_a_field_of_the_api_server(name: str) -> None:
    assert set() == unknown(differences_of_generated(name))


def test_every_exception_is_needed() -> None:
    found = {text for kind in KINDS for each in differences_of(kind) for text in each}
    found |= {text for name in GENERATED for text in differences_of_generated(name)}

    assert set() == (ELSEWHERE | RETIRED) - {text.partition(" ")[0] for text in found}


def test_a_difference_would_be_seen() -> None:
    found = {"properties": {"key": {"type": "integer"}, "values": {"type": "array", "items": {"type": "object"}}}}

    assert [*Checked({}).differences(Requirement, found)] == [
        "key is ['integer'] in the schema, not ['string']",
        "operator is not in the schema",
        "values[] is ['object'] in the schema, not ['string']",
    ]
