"""One building block of a user's, read: what it says, and each thing that is wrong with its shape."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from validators.rules import checks
from workloadbuilder.item import Block, DisruptionMode, PolicyKind, ResourceClaim, SchedulingPolicy

MOST = 2**31 - 1
"""The largest count: counts are signed integers of 32 bits."""

_CLAIM_FIELDS = ("name", "resourceClaimName", "resourceClaimTemplateName")


class Reader:
    """Reads blocks of one level, keeping what is wrong with them.

    What comes back is what could be read; where something was wrong, an error was added.
    """

    __slots__ = ("composite", "errors", "topology_field", "unread", "warnings")

    def __init__(self, *, composite: bool) -> None:
        self.composite = composite
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []
        self.unread: set[Block] = set()
        self.topology_field = "key"

    def wrong(self, path: FieldPath, detail: str) -> None:
        """Add an error about the whole value at *path*."""
        self.errors.append(field.invalid_struct(path, detail))

    def renamed(self, path: FieldPath, former: str, current: str) -> None:
        """Warn that a field has another name by now."""
        self.warnings.append(field.invalid(path, former, f"KEP-6089's examples call it so; Kubernetes 1.37 calls it {current}"))

    def fields(self, value: Json, path: FieldPath, known: Sequence[str], *, unsaid: Collection[str] = ()) -> dict[str, Json]:
        """The fields of a JSON object, those left out that are null; unknown ones are errors.

        *unsaid* are names that are known too, but never suggested.
        """
        if not isinstance(value, Mapping):
            self._type(path, value, "a mapping")
            return {}
        for name in value:
            if name not in known and name not in unsaid:
                text = str(name)
                close = difflib.get_close_matches(text, known, n=1)
                self.wrong(path / text, f"unknown field {text!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        return {name: each for name, each in value.items() if each is not None}

    def policy(self, value: Json, path: FieldPath) -> SchedulingPolicy | None:
        """A scheduling policy: basic, or a gang that may leave its minimum open."""
        chosen = self._union(value, path, ("basic", "gang"))
        if "gang" not in chosen:
            for name in chosen:
                self.fields(chosen[name], path / name, ())
            return SchedulingPolicy(PolicyKind.BASIC) if chosen else None
        counted = "minGroupCount" if self.composite else "minCount"
        gang = self.fields(chosen["gang"], path / "gang", (counted,))
        minimum = self._count(gang[counted], path.join(("gang", counted))) if counted in gang else None
        return SchedulingPolicy(PolicyKind.GANG, minimum)

    def disruption_mode(self, value: Json, path: FieldPath) -> DisruptionMode | None:
        """A disruption mode: single or all."""
        chosen = self._union(value, path, ("single", "all"))
        for name in chosen:
            self.fields(chosen[name], path / name, ())
        return DisruptionMode(next(iter(chosen))) if chosen else None

    def constraints(self, value: Json, path: FieldPath) -> tuple[str, ...] | None:
        """The node label keys of topology constraints; None where they cannot be read."""
        given = self.fields(value, path, ("topology",))
        listed = self._list(given.get("topology"), path / "topology")
        keys = [self._key(each, path.join(("topology", place))) for place, each in listed]
        return tuple(key for key in keys if key is not None)

    def resource_claims(self, value: Json, path: FieldPath) -> tuple[ResourceClaim, ...] | None:
        """Resource claims, each by name or from a template."""
        return tuple(self._claim(each, path / place) for place, each in self._list(value, path))

    def _union(self, value: Json, path: FieldPath, members: tuple[str, str]) -> dict[str, Json]:
        """The one member that is given, as a mapping of one; none where there is none or more than one."""
        before = len(self.errors)
        given = self.fields(value, path, members)
        chosen = {name: given[name] for name in members if name in given}
        # Who misspelt a member has been told how it is spelt.
        if chosen or len(self.errors) == before:
            self.errors.extend(checks.union(path, {name: chosen.get(name) for name in members}))
        return chosen if len(chosen) == 1 else {}

    def _key(self, value: Json, path: FieldPath) -> str | None:
        given = self.fields(value, path, ("key",), unsaid=("level",))
        if "level" in given:
            if "key" in given:
                self.wrong(path / "level", "must be absent: key says the same under its current name")
                return None
            self.topology_field = "level"
            self.renamed(path / "level", "level", "key")
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
        # A whole number stays one however it is written: 3.0 in YAML reaches the API server as 3.
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

    def _type(self, path: FieldPath, value: Json, wanted: str) -> None:
        # Lists and mappings are not echoed: they may be large, and deep.
        shown = "{…}" if isinstance(value, Mapping) else "[…]" if isinstance(value, (list, tuple)) else value
        self.errors.append(field.type_invalid(path, shown, f"must be {wanted}"))
