"""Objects of many files outside of Python's memory: encoded in ``ByteStore``, with some numbers in arrays, about 70 bytes for each.

A database takes more time for the same, see docs/benchmarks.md.
"""

from __future__ import annotations

import bisect
import functools
from array import array
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from kubeapi.base_structs import Record, record_field
from kubeapi.versions.api_versions import TABLE
from kubeapi.versions.conversion import Form
from validators.lint.object_index import Key
from validators.lint.places import StreamPart
from validators.model.controllers import Controller
from validators.model.objects import KINDS, Named, Object, namespace_of
from validators.object_lookup import references_to_groups

MODELS: tuple[type[Object], ...] = (*KINDS.values(), Controller, Named)
FORMS: tuple[Form, ...] = tuple(dict.fromkeys(row.form for row in TABLE))
_MODEL_NUMBERS = {model: number for number, model in enumerate(MODELS)}
_FORM_NUMBERS = {form: number for number, form in enumerate(FORMS, 1)}
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
HASH_BITS = 40
KIND_KEYS = frozenset({"kind", "known"})
OF_NAME, OF_CHILDREN, OF_KIND = (sort << HASH_BITS for sort in range(3))
"""Sorts of keys in their codes."""
AGAIN = 3 << HASH_BITS
"""In place of the code of a key: the object is validated once more in any case."""
NO_KIND = len(KINDS)
"""Number in place of a kind that is not in ``KINDS``."""
KEY_MARK = "\0"
"""First character of an encoded ``Key``: a path has strings, numbers and keys."""
_ENCODER = msgspec.msgpack.Encoder(enc_hook=lambda key: KEY_MARK + key)

_NUMBERS, _LONG_NUMBERS, _BYTES = (functools.partial(array, typecode) for typecode in "IQB")


class ByteStore(Protocol):
    """Bytes that are written one after another, and read again."""

    def append(self, blob: bytes) -> int:
        """Write *blob*; return its offset."""

    def flush(self) -> None:
        """Make all bytes readable."""

    def read(self, offset: int, size: int) -> bytes:
        """Return *size* bytes at *offset*."""


class MemoryByteStore:
    """ByteStore in memory."""

    def __init__(self) -> None:
        self._content = bytearray()

    def append(self, blob: bytes) -> int:
        """See ByteStore."""
        offset = len(self._content)
        self._content += blob
        return offset

    def flush(self) -> None:
        """See ByteStore."""

    def close(self) -> None:
        """Forget all bytes."""
        self._content.clear()

    def read(self, offset: int, size: int) -> bytes:
        """See ByteStore."""
        return bytes(self._content[offset : offset + size])


class Origin(NamedTuple):
    """Place of an object in the files: segment, in a list of the caller; part; and number in the file."""

    segment: int
    part: StreamPart
    number: int


NOWHERE = Origin(0, StreamPart(0, 0), 0)
"""Origin of objects that are only looked up."""


class Columns(Record, frozen=True):
    """Objects in order, with one entry for each in each of the first columns.

    Attributes:
        segment: the segment of the object, in a list of the caller.
        part: offset of the part of the file that has it.
        first: number in the file of the first object of that part.
        index: its number in the file.
        offset: its offset in the blobs.
        size: its encoded size in bytes.
        name: hash of kind, namespace and name.
        model: number of its type.
        form: 0 if it need not be validated, else 1 more than the number of its form.
        unit: number of the unit of neighbouring files with which it was validated; units are in order.
        leader: number of the first object that was validated together with it.
        group: hash of the kind of child, namespace and name, of each group that an object refers to.
        member: number of that object.
        read: code of a key that was looked up when an object was validated with its neighbours; see ``coded``.
        reader: number of that object, a leader.

    """

    segment: array[int] = record_field(default_factory=_NUMBERS)
    part: array[int] = record_field(default_factory=_NUMBERS)
    first: array[int] = record_field(default_factory=_NUMBERS)
    index: array[int] = record_field(default_factory=_NUMBERS)
    offset: array[int] = record_field(default_factory=_LONG_NUMBERS)
    size: array[int] = record_field(default_factory=_NUMBERS)
    name: array[int] = record_field(default_factory=_LONG_NUMBERS)
    model: array[int] = record_field(default_factory=_BYTES)
    form: array[int] = record_field(default_factory=_BYTES)
    unit: array[int] = record_field(default_factory=_NUMBERS)
    leader: array[int] = record_field(default_factory=_NUMBERS)
    group: array[int] = record_field(default_factory=_LONG_NUMBERS)
    member: array[int] = record_field(default_factory=_NUMBERS)
    read: array[int] = record_field(default_factory=_LONG_NUMBERS)
    reader: array[int] = record_field(default_factory=_NUMBERS)

    def __len__(self) -> int:
        return len(self.size)

    def append(self, item: Object, blobs: ByteStore, origin: Origin, form: Form | None) -> None:
        """Add an object; *form* is None if it need not be validated."""
        blob = _ENCODER.encode(item)
        namespace = namespace_of(item)
        for kind, group in references_to_groups(item):
            self.group.append(hashed(kind, namespace, group))
            self.member.append(len(self))
        self.segment.append(origin.segment)
        self.part.append(origin.part.offset)
        self.first.append(origin.part.first)
        self.index.append(origin.number)
        self.offset.append(blobs.append(blob))
        self.name.append(hashed(item.kind, namespace, item.metadata.name))
        self.model.append(_MODEL_NUMBERS[type(item)])
        self.form.append(0 if form is None else _FORM_NUMBERS[form])
        self.unit.append(0)
        self.leader.append(len(self))
        self.size.append(len(blob))

    def add_reads(self, members: Sequence[int], codes: Sequence[int]) -> None:
        """Note that objects were validated together, and the codes of the keys that were looked up for them."""
        self.read.extend(codes)
        self.reader.extend([members[0]] * len(codes))
        for each in members:
            self.leader[each] = members[0]

    def append_from(self, other: Columns, number: int) -> None:
        """Add an object of *other*."""
        members = slice(bisect.bisect_left(other.member, number), bisect.bisect_right(other.member, number))
        self.group.extend(other.group[members])
        self.member.extend([len(self)] * len(other.group[members]))
        for mine, theirs in zip(self._of_objects(), other._of_objects(), strict=True):
            mine.append(theirs[number])

    def truncate(self, length: int) -> None:
        """Forget all objects after the first *length*."""
        for column in self._of_objects():
            del column[length:]
        for numbers, values in ((self.member, self.group), (self.reader, self.read)):
            end = bisect.bisect_left(numbers, length)
            del numbers[end:]
            del values[end:]

    def extend(self, other: Columns, segments: int) -> None:
        """Add the objects of *other*, whose segments come after *segments* others."""
        length, units = len(self), self.unit[-1] + 1 if self.unit else 0
        for mine, theirs in zip(self._of_objects(), other._of_objects(), strict=True):
            mine.extend(theirs)
        self.segment[length:] = array("I", (each + segments for each in other.segment))
        self.unit[length:] = array("I", (each + units for each in other.unit))
        self.leader[length:] = array("I", (each + length for each in other.leader))
        self.group.extend(other.group)
        self.member.extend(each + length for each in other.member)
        self.read.extend(other.read)
        self.reader.extend(each + length for each in other.reader)

    def codes(self, first: int, end: int) -> set[int]:
        """Return the codes of the keys ``name`` and ``children`` of the objects from number *first* up to *end*."""
        groups = self.group[bisect.bisect_left(self.member, first) : bisect.bisect_left(self.member, end)]
        return {*self.name[first:end], *(OF_CHILDREN | each for each in groups)}

    def to_bytes(self) -> list[bytes]:
        """Return all columns as bytes."""
        return [column.tobytes() for column in self._all()]

    @classmethod
    def from_bytes(cls, columns: Sequence[bytes]) -> Columns:
        """Return the columns that ``to_bytes`` wrote."""
        created = cls()
        for column, content in zip(created._all(), columns, strict=True):
            column.frombytes(content)
        return created

    def _of_objects(self) -> tuple[array[int], ...]:
        first = self.segment, self.part, self.first, self.index, self.offset, self.size, self.name, self.model, self.form
        return *first, self.unit, self.leader

    def _all(self) -> tuple[array[int], ...]:
        return *self._of_objects(), self.group, self.member, self.read, self.reader


def coded(key: Key) -> int:
    """Return the code of a key of ``object_index``: a hash, or the number of a kind; with its sort in the bits above."""
    if key[0] in KIND_KEYS:
        return OF_KIND | _KIND_NUMBERS.get(key[1], NO_KIND)
    part, kind, namespace, name = key
    return (OF_CHILDREN if part == "children" else OF_NAME) | hashed(kind, namespace, name)


def hashed(kind: str, namespace: str, name: str) -> int:
    """Return a hash other than 0, equal in all processes that are forked from this one."""
    return hash((kind, namespace, name)) & (2**HASH_BITS - 1) or 1
