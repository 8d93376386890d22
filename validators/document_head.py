"""Errors of the ``apiVersion`` and ``kind`` of a document."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from kubeapi.base_structs import Record
from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from validators import field
from validators.field import FieldError
from validators.model.objects import KINDS


def errors(api_version: Json, kind: Json) -> Iterator[FieldError]:
    """Yield the errors of an absent ``apiVersion`` or ``kind``, or one that is not a string."""
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if value is None or value == "":
            yield dataclasses.replace(
                field.required(FieldPath(name), "a Kubernetes object must have apiVersion and kind"), origin="schema-required"
            )
        elif not isinstance(value, str):
            yield dataclasses.replace(field.type_invalid(FieldPath(name), value, "must be a string"), origin="schema-type")


def unserved(api_version: str, kind: str, minor: int) -> FieldError | None:
    """Return the error of a kind that Kubernetes 1.*minor* does not serve in that version; None if it serves it."""
    group = api_version.rpartition("/")[0]
    if kind not in KINDS:
        return dataclasses.replace(
            field.not_supported(FieldPath("kind"), kind, sorted(served_versions.kinds_of(group))), origin="schema-enum"
        )
    served_kind = served_versions.find(api_version, kind)
    if served_kind is None or served_kind.since > minor:
        versions = served_versions.versions_served(kind, minor, group)
        error = field.not_supported(FieldPath("apiVersion"), api_version, versions)
        return dataclasses.replace(error, detail=error.detail if versions else f"Kubernetes 1.{minor} has no {kind}", origin="schema-enum")
    if served_kind.until < minor:
        current = f"{group}/{' or '.join(row.version for row in served_versions.current(kind, group, minor))}"
        since = f"Kubernetes 1.{served_kind.until + 1}"
        detail = f"{kind} of this version is no longer served since {since}; {current} replaced it: run muster migrate"
        return dataclasses.replace(field.not_supported(FieldPath("apiVersion"), api_version, ()), detail=detail, origin="retired-version")
    return None


def has_rules(group: str, kind: str) -> bool:
    """Return whether there are rules for this kind of this API group."""
    return kind in KINDS and served_versions.serves(group, kind)


class Head(Record, frozen=True):
    """API group, version and kind of a document; *error* if it has rules in a version that is not served."""

    group: str
    version: str
    kind: str
    has_rules: bool
    error: FieldError | None

    @property
    def api_version(self) -> str:
        """The usual spelling of ``apiVersion``: ``/v1`` is ``v1``."""
        return served_versions.named(self.group, self.version)


@functools.lru_cache(maxsize=256)
def head(api_version: str, kind: str, minor: int) -> Head:
    """Return the head of a document for Kubernetes 1.*minor*."""
    group, _, version = api_version.rpartition("/")
    api_version = served_versions.named(group, version)
    is_known = _is_known(api_version, kind)
    return Head(group, version, kind, is_known, unserved(api_version, kind, minor) if is_known else None)


def _is_known(api_version: str, kind: str) -> bool:
    """Return whether there are rules for such an object, or its group may only have kinds with rules.

    A CustomResourceDefinition can have versions that the table lacks: there are no rules for their objects.
    """
    group = api_version.rpartition("/")[0]
    if not has_rules(group, kind):
        return group in served_versions.WORKLOAD_GROUPS
    return group not in served_versions.FOREIGN or served_versions.find(api_version, kind) is not None
