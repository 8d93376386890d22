"""Changes of an object, with the paths that fields have before all changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import Part

Parts = tuple[Part, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Rename:
    """New name of a field."""

    path: Parts
    to: str


@dataclasses.dataclass(frozen=True, slots=True)
class Replace:
    """New value of a scalar, or of null."""

    path: Parts
    value: Json


@dataclasses.dataclass(frozen=True, slots=True)
class Remove:
    """Removal of a field; a mapping without remaining fields becomes ``{}``."""

    path: Parts


@dataclasses.dataclass(frozen=True, slots=True)
class Unwrap:
    """Replacement of a mapping with one member by the value of that member."""

    path: Parts
    member: str


@dataclasses.dataclass(frozen=True, slots=True)
class Add:
    """New field of the mapping at *path*, after its field *after*; that is empty if the mapping is.  A value that is no scalar is small."""

    path: Parts
    name: str
    value: Json
    after: str


@dataclasses.dataclass(frozen=True, slots=True)
class Reform:
    """Reduction of a mapping to one field, renamed to *to*, with the value *value*."""

    path: Parts
    kept: str
    to: str
    value: str


Change = Rename | Replace | Remove | Unwrap | Add | Reform


def applied(content: Mapping[str, Json], changes: Iterable[Change]) -> dict[str, Json]:
    """Return *content* after all *changes*, which are applied at once."""
    return dict(_Changes(changes).apply_to(content, ()))


def below(path: Parts, change: Change) -> Change:
    """Return the same change for an object that is at *path* of another one."""
    return dataclasses.replace(change, path=(*path, *change.path))


class _Changes:
    def __init__(self, changes: Iterable[Change]) -> None:
        self._renamed: dict[Parts, str] = {}
        self._values: dict[Parts, Json] = {}
        self._removed: set[Parts] = set()
        self._unwrapped: dict[Parts, str] = {}
        self._added: dict[Parts, list[Add]] = {}
        self._touched: set[Parts] = set()
        for change in changes:
            self._add(change)

    def apply_to(self, value: Json, at: Parts) -> Json:
        """Return *value*, which is at path *at*, with the changes."""
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
        changed = {
            self._renamed.get((*at, name), name): self.apply_to(each, (*at, name))
            for name, each in value.items()
            if (*at, name) not in self._removed
        }
        return changed | {each.name: each.value for each in self._added.get(at, ())}

    def _add(self, change: Change) -> None:
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
