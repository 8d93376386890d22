"""Fields that an object can have at a path, by the schemas of its kind."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.field_path import Part
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import TABLE
from kubeapi.versions.kubernetes_releases import OLDEST
from validators import schema
from validators.built_in import shapes
from validators.model.objects import KINDS
from validators.reports import field_docs

_RETIRED = {("Pod", ("spec", "workloadRef"))}
"""Fields of a schema that only retired versions had."""
_TYPES = {"integer": "integer", "number": "number", "string": "string", "boolean": "true or false", "object": "mapping", "array": "list"}


@dataclasses.dataclass(frozen=True, slots=True)
class KnownField:
    """Field by the parts of schemas about it."""

    kind: str
    path: tuple[Part, ...]
    parts: tuple[Mapping[str, Any], ...]
    is_required: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        """Types of JSON that the value can have."""
        listed = [part.get("type", ()) for part in self.parts]
        return tuple(dict.fromkeys(name for each in listed for name in ([each] if isinstance(each, str) else each)))

    @property
    def values(self) -> tuple[str, ...]:
        """Values that the field can have, as they are written; none if any others are allowed."""
        doc = field_docs.find(self.kind, self.path)
        listed = [*(part.get("enum", ()) for part in self.parts), doc.limits.get("enum", ()) if doc else ()]
        words = ["true", "false"] if self.types == ("boolean",) else []
        return tuple(dict.fromkeys([*words, *(str(value) for each in listed for value in each if value != "")]))

    @property
    def default(self) -> str:
        """Single value that the API server sets; empty if there is none."""
        doc = field_docs.find(self.kind, self.path)
        return "" if doc is None or doc.default.startswith("{") else doc.default

    @property
    def type_in_words(self) -> str:
        """Type of the value for people; empty if any is allowed."""
        return " or ".join(_TYPES.get(each, each) for each in self.types)


def versions() -> Mapping[str, frozenset[str]]:
    """Return the API versions of each kind that has a schema."""
    return _versions()


@functools.cache
def _versions() -> Mapping[str, frozenset[str]]:
    known: dict[str, set[str]] = {}
    for row in TABLE:
        for each in row.kinds:
            if each.kind in KINDS and each.until >= OLDEST:
                known.setdefault(each.kind, set()).add(row.name)
    for (group, kind), listed in shapes.kinds().items():
        known.setdefault(kind, set()).update(served_versions.named(group, version) for version in listed)
    return {kind: frozenset(listed) for kind, listed in sorted(known.items())}


def field_at(api_version: str, kind: str, path: Sequence[Part]) -> KnownField | None:
    """Return what is known of the field at a path, whose indices are of no account; None if no schema has it."""
    parts = tuple(part for root in _roots(api_version, kind) for part in _walk(root, path))
    return KnownField(kind, tuple(path), parts) if parts else None


def fields_of(api_version: str, kind: str, path: Sequence[Part]) -> list[KnownField]:
    """Return the fields of the mapping at a path; required ones first, the status last."""
    found: dict[str, KnownField] = {}
    for root in _roots(api_version, kind):
        for holder in _walk(root, path):
            required = {*holder.get("required", ()), *(("apiVersion", "kind", "metadata", "spec") if not path else ())}
            for name, below in holder.get("properties", {}).items():
                at = (*path, name)
                if (kind, at) not in _RETIRED:
                    before = found.get(name) or KnownField(kind, at, ())
                    is_required = before.is_required or name in required
                    found[name] = KnownField(kind, at, (*before.parts, _resolved(root, below)), is_required)
    return sorted(found.values(), key=lambda each: (each.path == ("status",), not each.is_required, str(each.path[-1])))


def _roots(api_version: str, kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of a kind: the one that rules use, and the published one."""
    if served_versions.find(api_version, kind) is not None and kind in KINDS:
        yield schema.document(served_versions.schema_of(api_version, kind))
    group, _, version = api_version.rpartition("/")
    if version in shapes.versions_of(group, kind):
        yield schema.document(f"kinds/controllers:{api_version}/{kind}")


def _walk(root: Mapping[str, Any], path: Sequence[Part]) -> Iterator[Mapping[str, Any]]:
    """Yield the part of a schema at a path, if it has one."""
    part: Any = root
    for step in path:
        holder = _resolved(root, part)
        below = holder.get("items") if isinstance(step, int) else holder.get("properties", {}).get(step, holder.get("additionalProperties"))
        if not isinstance(below, dict):
            return
        part = below
    yield _resolved(root, part)


def _resolved(root: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in part:
        part = root["$defs"][str(part["$ref"]).rpartition("/")[2]]
    return part
