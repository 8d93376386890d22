"""Objects of many files outside of Python's memory, and the lookup of rules in them.

Objects are in blobs, for example in a temporary file, and their ``Columns`` in memory.  They are decoded when they are looked up.
"""

from __future__ import annotations

import bisect
import functools
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

import msgspec

from kubeapi.field_path import Key, Part
from kubeapi.groups import Group
from kubeapi.meta import replaced
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import SYSTEM_CLASSES
from validators.hierarchy.tree import GroupTree
from validators.lint import object_index
from validators.lint.engine import Pending
from validators.lint.object_columns import (
    FORMS,
    HASH_BITS,
    KEY_MARK,
    MODELS,
    NO_KIND,
    OF_CHILDREN,
    OF_KIND,
    OF_NAME,
    Columns,
    hashed,
)
from validators.lint.object_index import Connected
from validators.model.controllers import Controller
from validators.model.objects import KINDS, Object, namespace_of
from validators.object_lookup import counting, group_rank, references_to_groups

_KINDS = tuple(KINDS)
_HASH = 2**HASH_BITS - 1
_NUMBER_BITS = 64 - HASH_BITS
MOST_OBJECTS = 2**_NUMBER_BITS
_CACHED_BYTES = 500_000
"""Limit for the encoded size of the objects that stay decoded."""
_CACHED_RESULTS = 2000
MANY = 16
"""Objects of one key from which on they are decoded one at a time, and a result without groups is remembered."""
_Name = tuple[str, str, str]
"""Kind, namespace, name."""


class StoredObjects:
    """Lookup of the objects in *columns*; *read* returns the blob of an object by its number, offset and size.

    The results are those of ``object_lookup.KnownObjects`` with the same objects in the same order.
    """

    def __init__(self, columns: Columns, read: Callable[[int, int, int], bytes]) -> None:
        self._columns = columns
        self._read = read
        self._names = _sorted(columns.name)
        self._groups = _sorted(columns.group)
        self._cache: dict[int, Object] = {}
        self._cached_bytes = 0
        self._got: dict[_Name, Object | None] = {}
        self._children: dict[_Name, Sequence[Object]] = {}
        """Caches of results: several rules look up the same objects."""
        self._without_groups: set[object_index.Key] = set()
        """Keys of many objects none of which can be read as a group: each group that refers to their name looks them up."""
        self._connected: Connected[int] = Connected({}, GroupTree.build(()))
        self._of_kind: dict[str, array[int]] = {}
        for number, model in enumerate(columns.model):
            kind = _KINDS[model] if model < len(_KINDS) else self.object(number).kind
            self._of_kind.setdefault(kind, array("I")).append(number)

    def object(self, number: int) -> Object:
        """Return an object; the same one as before only while it is cached."""
        # The groups of a tree stay the same objects as long as it is used.
        item = self._cache.get(number) or self._connected.groups.get(number)
        if item is None:
            size = self._columns.size[number]
            item = self._decoded(number)
            if self._cached_bytes > _CACHED_BYTES:
                self._forget()
            self._cached_bytes += size
            self._cache[number] = item
        return item

    def columns_without(self, is_left_out: Callable[[Object], bool]) -> Columns:
        """Return the columns of the objects for which *is_left_out* is false."""
        columns = Columns()
        for number in range(len(self._columns)):
            if not is_left_out(self.object(number)):
                columns.append_from(self._columns, number)
        return columns

    def pending(self, number: int) -> Pending:
        """Return an object that is to be validated."""
        return Pending(self.object(number), FORMS[self._columns.form[number] - 1])

    def has(self, kind: str, namespace: str, name: str, rank: int) -> bool:
        """Return whether there is an object of that name and of the API group of that ``group_rank``."""
        return any(group_rank(self.object(number)) == rank for number in self.named(kind, namespace, name))

    def connected(self, place: int, group: Group) -> Connected[int]:
        """Return the groups that are connected with the group of that number.  Many of one name are; they are read once in a row."""
        if place not in self._connected.groups:
            self._connected = object_index.connected_groups(group, self.read_groups, self._connected.tree.widths)
        return self._connected

    def named(self, kind: str, namespace: str, name: str) -> Iterator[int]:
        """Yield the numbers of the objects of that name, in order."""
        for number in _numbers(self._names, hashed(kind, namespace, name)):
            item = self.object(number)
            if item.kind == kind and namespace_of(item) == namespace and item.metadata.name == name:
                yield number

    def children_of(self, kind: str, namespace: str, name: str) -> Iterator[int]:
        """Yield the numbers of the objects that refer to the group *name*, in order; see ``Lookup.children``."""
        previous = -1
        for place in _numbers(self._groups, hashed(kind, namespace, name)):
            number = self._columns.member[place]
            item = self.object(number)
            if number != previous and namespace_of(item) == namespace and (kind, name) in references_to_groups(item):
                yield number
            previous = number

    def extent(self, code: int) -> tuple[int, int] | None:
        """Return the numbers of the first and the last object that can have the key of this code; None if there is none."""
        sort, value = code & ~_HASH, code & _HASH
        if sort == OF_KIND:
            # Of a kind without a number, any object can be one.
            numbers = range(len(self._columns)) if value == NO_KIND else self._of_kind.get(_KINDS[value], ())
            return (numbers[0], numbers[-1]) if numbers else None
        index = self._groups if sort == OF_CHILDREN else self._names
        first, end = (bisect.bisect_left(index, each << _NUMBER_BITS) for each in (value, value + 1))
        if first == end:
            return None
        places = index[first] & (MOST_OBJECTS - 1), index[end - 1] & (MOST_OBJECTS - 1)
        return (self._columns.member[places[0]], self._columns.member[places[1]]) if sort == OF_CHILDREN else places

    def codes_of_several_units(self) -> set[int]:
        """Return the codes of the keys ``name`` and ``children`` that objects of more than one unit have."""
        unit, member = self._columns.unit, self._columns.member
        codes: set[int] = set()
        for sort, index in ((OF_NAME, self._names), (OF_CHILDREN, self._groups)):
            last = -1
            for each in index:
                if each >> _NUMBER_BITS == last >> _NUMBER_BITS:
                    pair = each & (MOST_OBJECTS - 1), last & (MOST_OBJECTS - 1)
                    one, other = (member[place] for place in pair) if sort == OF_CHILDREN else pair
                    if unit[one] != unit[other]:
                        codes.add(sort | each >> _NUMBER_BITS)
                last = each
        return codes

    def read_groups(self, key: object_index.Key) -> list[tuple[int, Group]]:
        """Return the groups of a key ``name`` or ``children`` of ``object_index`` with their numbers, in order."""
        if key in self._without_groups:
            return []
        part, kind, namespace, name = key
        numbers = [*(self.named if part == "name" else self.children_of)(kind, namespace, name)]
        groups = [*object_index.groups_among((number, self.object(number)) for number in numbers)]
        if not groups and len(numbers) > MANY:
            self._without_groups.add(key)
        return groups

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """See Lookup."""
        key = kind, namespace, name
        try:
            return self._got[key]
        except KeyError:
            if len(self._got) > _CACHED_RESULTS:
                self._forget()
            item = counting(map(self.object, self.named(kind, "" if kind in CLUSTER_SCOPED else namespace, name)))
            if item is None and kind == "PriorityClass":
                item = SYSTEM_CLASSES.get(name)
            self._got[key] = item
            return item

    def children(self, kind: str, namespace: str, name: str) -> Sequence[Object]:
        """See Lookup."""
        key = kind, namespace, name
        try:
            return self._children[key]
        except KeyError:
            numbers = array("I", self.children_of(kind, namespace, name)) if name else ()
            # Many objects are decoded one at a time: a rule may need only the first.
            few = [self.object(number) for number in numbers] if len(numbers) <= MANY else None
            if len(self._children) > _CACHED_RESULTS:
                self._forget()
            self._children[key] = listed = _Listed(numbers, self.object) if few is None else few
            return listed

    def _forget(self) -> None:
        for cache in (self._cache, self._got, self._children):
            cache.clear()
        self._cached_bytes = 0

    def list_kind(self, kind: str) -> Sequence[Object] | None:
        """See Lookup."""
        numbers = self._of_kind.get(kind)
        return None if numbers is None else _Listed(numbers, self.object)

    def _decoded(self, number: int) -> Object:
        columns = self._columns
        blob = self._read(number, columns.offset[number], columns.size[number])
        item = _decoder(columns.model[number]).decode(blob)
        return _with_keys(item) if isinstance(item, Controller) else item


class _Listed(Sequence[Object]):
    """Objects that are decoded one at a time."""

    def __init__(self, numbers: Sequence[int], decoded: Callable[[int], Object]) -> None:
        self._numbers = numbers
        self._decoded = decoded

    @overload
    def __getitem__(self, index: int) -> Object: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Object]: ...
    def __getitem__(self, index: int | slice) -> Object | Sequence[Object]:
        if isinstance(index, slice):
            return [self._decoded(number) for number in self._numbers[index]]
        return self._decoded(self._numbers[index])

    def __len__(self) -> int:
        return len(self._numbers)


@functools.cache
def _decoder(model: int) -> msgspec.msgpack.Decoder[Object]:
    # Created on demand: msgspec inspects the type, and start-up must be fast.
    return msgspec.msgpack.Decoder(MODELS[model])


def _with_keys(item: Controller) -> Controller:
    pods = tuple(replaced(each, path=_path(each.path)) for each in item.pods)
    gang = None if item.gang is None else replaced(item.gang, path=_path(item.gang.path))
    return replaced(item, pods=pods, gang=gang)


def _path(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(Key(each[1:]) if isinstance(each, str) and each.startswith(KEY_MARK) else each for each in parts)


def _sorted(hashes: Iterable[int]) -> array[int]:
    return array("Q", sorted(each << _NUMBER_BITS | number for number, each in enumerate(hashes) if each))


def _numbers(index: Sequence[int], wanted: int) -> Iterator[int]:
    position = bisect.bisect_left(index, wanted << _NUMBER_BITS)
    while position < len(index) and index[position] >> _NUMBER_BITS == wanted:
        yield index[position] & (MOST_OBJECTS - 1)
        position += 1
