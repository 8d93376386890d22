"""Decoding of the user's building blocks, with all errors in their shape."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.rules import checks
from workloadbuilder.workload_item import Block, DisruptionMode, PolicyKind, ResourceClaim, SchedulingPolicy

MOST = 2**31 - 1
"""Largest count; counts are signed 32-bit integers."""

_CLAIM_FIELDS = ("name", "resourceClaimName", "resourceClaimTemplateName")


class Reader:
    """Decoder of the blocks of one level, which collects errors and warnings.

    Its methods return the values that could be read, and add an error for each other one.
    """

    __slots__ = ("composite", "errors", "topology_field", "unread", "warnings")

    def __init__(self, *, composite: bool) -> None:
        self.composite = composite
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []
        self.unread: set[Block] = set()
        self.topology_field = "key"

    def add_error(self, path: FieldPath, detail: str) -> None:
        """Add an error about the whole value at *path*."""
        self.errors.append(field.invalid_struct(path, detail))

    def warn_renamed(self, path: FieldPath, former: str, current: str) -> None:
        """Warn that Kubernetes 1.37 has another name for a field."""
        self.warnings.append(field.invalid(path, former, f"this is the name in KEP-6089's examples; in Kubernetes 1.37 it is {current}"))

    def fields(self, value: Json, path: FieldPath, known: Sequence[str], *, accepted: Collection[str] = ()) -> dict[str, Json]:
        """Return the fields of a JSON object that are not null; unknown fields are errors.

        The names in *accepted* are allowed too, but never suggested.
        """
        if not isinstance(value, Mapping):
            self._type(path, value, "a mapping")
            return {}
        for name in value:
            if name not in known and name not in accepted:
                text = str(name)
                close = difflib.get_close_matches(text, known, n=1)
                self.add_error(path / text, f"unknown field {text!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        return {name: each for name, each in value.items() if each is not None}

    def policy(self, value: Json, path: FieldPath) -> SchedulingPolicy | None:
        """Return a scheduling policy: basic, or a gang, whose minimum may be absent."""
        chosen = self._union(value, path, ("basic", "gang"))
        if "gang" not in chosen:
            for name in chosen:
                self.fields(chosen[name], path / name, ())
            return SchedulingPolicy(PolicyKind.BASIC) if chosen else None
        minimum_field = "minGroupCount" if self.composite else "minCount"
        gang = self.fields(chosen["gang"], path / "gang", (minimum_field,))
        minimum = self._count(gang[minimum_field], path.join(("gang", minimum_field))) if minimum_field in gang else None
        return SchedulingPolicy(PolicyKind.GANG, minimum)

    def disruption_mode(self, value: Json, path: FieldPath) -> DisruptionMode | None:
        """Return a disruption mode: single or all."""
        chosen = self._union(value, path, ("single", "all"))
        for name in chosen:
            self.fields(chosen[name], path / name, ())
        return DisruptionMode(next(iter(chosen))) if chosen else None

    def constraints(self, value: Json, path: FieldPath) -> tuple[str, ...] | None:
        """Return the node label keys of topology constraints."""
        given = self.fields(value, path, ("topology",))
        entries = self._list(given.get("topology"), path / "topology")
        keys = [self._key(each, path.join(("topology", index))) for index, each in entries]
        return tuple(key for key in keys if key is not None)

    def resource_claims(self, value: Json, path: FieldPath) -> tuple[ResourceClaim, ...] | None:
        """Return resource claims, each by name or from a template."""
        return tuple(self._claim(each, path / index) for index, each in self._list(value, path))

    def _union(self, value: Json, path: FieldPath, members: tuple[str, str]) -> dict[str, Json]:
        """Return the only member that is set, with its value; empty if none or several are set."""
        before = len(self.errors)
        given = self.fields(value, path, members)
        chosen = {name: given[name] for name in members if name in given}
        # A misspelt member is reported as an unknown field already.
        if chosen or len(self.errors) == before:
            self.errors.extend(checks.union(path, {name: chosen.get(name) for name in members}))
        return chosen if len(chosen) == 1 else {}

    def _key(self, value: Json, path: FieldPath) -> str | None:
        given = self.fields(value, path, ("key",), accepted=("level",))
        if "level" in given:
            if "key" in given:
                self.add_error(path / "level", "must be absent: it is a former name of key, which is set")
                return None
            self.topology_field = "level"
            self.warn_renamed(path / "level", "level", "key")
        name = "level" if "level" in given else "key"
        return self._text(given, name, path) or ""

    def _claim(self, value: Json, path: FieldPath) -> ResourceClaim:
        given = self.fields(value, path, _CLAIM_FIELDS)
        name, by_name, from_template = (self._text(given, each, path) for each in _CLAIM_FIELDS)
        return ResourceClaim(name or "", by_name, from_template)

    def _text(self, given: Mapping[str, Json], name: str, path: FieldPath) -> str | None:
        value = given.get(name)
        if value is None or isinstance(value, str):
            return value
        self._type(path / name, value, "a string")
        return None

    def _count(self, value: Json, path: FieldPath) -> int | None:
        # 3.0 in YAML reaches the API server as 3.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._type(path, value, "an integer")
            return None
        return value

    def _list(self, value: Json, path: FieldPath) -> Iterator[tuple[int, Json]]:
        if value is None:
            return
        if not isinstance(value, (list, tuple)):
            self._type(path, value, "a list")
            return
        yield from enumerate(value)

    def _type(self, path: FieldPath, value: Json, expected: str) -> None:
        # Lists and mappings are not quoted: they may be large and deeply nested.
        shown = "{…}" if isinstance(value, Mapping) else "[…]" if isinstance(value, (list, tuple)) else value
        self.errors.append(field.type_invalid(path, shown, f"must be {expected}"))
