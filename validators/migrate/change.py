"""What changes in an object, as values: by the paths that fields have before anything has changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from validators.field import Part
from validators.model.decode import Json

Parts = tuple[Part, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Rename:
    """A field gets another name."""

    path: Parts
    to: str


@dataclasses.dataclass(frozen=True, slots=True)
class Replace:
    """A scalar becomes another value."""

    path: Parts
    value: Json


@dataclasses.dataclass(frozen=True, slots=True)
class Remove:
    """A field goes; what held nothing else holds ``{}`` then."""

    path: Parts


@dataclasses.dataclass(frozen=True, slots=True)
class Unwrap:
    """A mapping with one member gives way to what that member holds."""

    path: Parts
    member: str


@dataclasses.dataclass(frozen=True, slots=True)
class Add:
    """A scalar field joins the mapping at *path*, behind its field *after*."""

    path: Parts
    name: str
    value: str | int
    after: str


@dataclasses.dataclass(frozen=True, slots=True)
class Reform:
    """A mapping keeps one field, under the name *to* and with the value *value*, and loses all others."""

    path: Parts
    kept: str
    to: str
    value: str


Change = Rename | Replace | Remove | Unwrap | Add | Reform


def applied(content: Mapping[str, Json], changes: Iterable[Change]) -> dict[str, Json]:
    """*content* after all *changes*, which are made at once."""
    changed = _Changed(changes)
    return dict(changed.apply_to(content, ()))


def below(path: Parts, change: Change) -> Change:
    """The same change in an object that stands at *path* of another."""
    return dataclasses.replace(change, path=(*path, *change.path))


class _Changed:
    def __init__(self, changes: Iterable[Change]) -> None:
        self._renamed: dict[Parts, str] = {}
        self._values: dict[Parts, Json] = {}
        self._removed: set[Parts] = set()
        self._unwrapped: dict[Parts, str] = {}
        self._added: dict[Parts, list[Add]] = {}
        self._touched: set[Parts] = set()
        for change in changes:
            self._take(change)

    def apply_to(self, value: Json, at: Parts) -> Json:
        """The value that stands at *at*, changed."""
        if at in self._values:
            return self._values[at]
        if at not in self._touched:
            return value
        if isinstance(value, list):
            return [self.apply_to(each, (*at, number)) for number, each in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        if at in self._unwrapped:
            member = self._unwrapped[at]
            return self.apply_to(value[member], (*at, member))
        found = {
            self._renamed.get((*at, name), name): self.apply_to(each, (*at, name))
            for name, each in value.items()
            if (*at, name) not in self._removed
        }
        return found | {each.name: each.value for each in self._added.get(at, ())}

    def _take(self, change: Change) -> None:
        if isinstance(change, Rename):
            self._renamed[change.path] = change.to
        elif isinstance(change, Replace):
            self._values[change.path] = change.value
        elif isinstance(change, Reform):
            self._values[change.path] = {change.to: change.value}
        elif isinstance(change, Remove):
            self._removed.add(change.path)
        elif isinstance(change, Unwrap):
            self._unwrapped[change.path] = change.member
        else:
            self._added.setdefault(change.path, []).append(change)
        self._touched.update(change.path[:length] for length in range(len(change.path) + 1))
