"""Undecoded objects of one kind: in memory, or as their places in a file."""

from __future__ import annotations

import abc
import dataclasses
import itertools
import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Protocol

from kubeapi import decode
from kubeapi.decode import Json, Source
from kubeapi.meta import Struct

DEEP = "is nested too deeply to be read"


class Unusable(ValueError):
    """An object cannot be used; the message says why."""


class StoredText:
    """JSON text of one object that is not kept in memory."""

    # Not abstract: the type of every text is tested, which is slow with an abstract class.
    __slots__ = ()

    def read(self) -> bytes:
        """Return the text."""
        raise NotImplementedError


class GatheredObjects(Struct, frozen=True, gc=False):
    """Undecoded object."""

    kind: str
    api_version: str
    source: decode.Text | StoredText

    @property
    def group(self) -> str:
        """The API group."""
        return self.api_version.rpartition("/")[0]

    @property
    def text(self) -> decode.Text:
        """Return its JSON text."""
        return self.source.read() if isinstance(self.source, StoredText) else self.source

    def content(self) -> dict[str, Json]:
        """Return the parsed object without nulls; apiVersion and kind of a list item may come from the list.

        Raises:
            Unusable: the text is not a JSON object.

        """
        return {**content_of(self.text), "apiVersion": self.api_version, "kind": self.kind}

    def content_without_managers(self) -> dict[str, Json]:
        """Return ``content`` without ``metadata.managedFields``, which can be most of a small object."""
        return {**content_of(self.text, managers=False), "apiVersion": self.api_version, "kind": self.kind}

    def canonical(self) -> bytes:
        """Return the same bytes for equal objects, whatever their JSON formatting."""
        try:
            return decode.ENCODER.encode(self.content())
        except Unusable:
            return bytes(self.text)


def content_of(text: decode.Text, *, managers: bool = True) -> dict[str, Json]:
    """Return the parsed object without nulls, and unless *managers* without ``metadata.managedFields``.

    Raises:
        Unusable: *text* is not a JSON object.

    """
    try:
        whole = decode.WHOLE.decode(text)
        if not managers and isinstance(whole, dict) and isinstance(metadata := whole.get("metadata"), dict):
            metadata.pop("managedFields", None)
        content = decode.plain(whole)
    except RecursionError:
        raise Unusable(DEEP) from None
    except ValueError as error:
        raise Unusable(f"is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise Unusable("is not a JSON object")
    return content


class NameSearch:
    """Search for names of objects, and for texts that begin with one of them and a dash, as they are found in JSON without decoding it."""

    _MOST = 256
    """Number of names up to which a search for all of them is fast."""

    def __init__(self, names: Iterable[str]) -> None:
        given = {*names}
        first = [each for each in given if given.isdisjoint(heads(each))]
        self.are_few = "" not in given and len(first) <= self._MOST
        encoded = sorted(each.encode("utf-8", "surrogatepass") for each in first) if self.are_few else ()
        # By first byte: most quoted texts begin with none of them, and need no further comparison.
        begun = itertools.groupby(encoded, lambda each: each[:1])
        quoted = b"|".join(b"%b(?:%b)" % (re.escape(head), b"|".join(re.escape(each[1:]) for each in those)) for head, those in begun)
        self._find = re.compile(b'"(?:%b)["-]' % quoted).finditer if quoted else None

    def places(self, text: bytes) -> list[int]:
        """Return where *text*, with any number of objects, can have one of the names, which are few."""
        found = self._find(text) if self._find is not None else ()
        escaped = re.finditer(rb"\\u", text) if self._find is not None and b"\\" in text else ()
        return sorted(each.start() for each in (*found, *escaped))


def heads(name: str) -> Iterator[str]:
    """Yield what is before each dash of *name*."""
    return (name[: dash.start()] for dash in re.finditer("-", name))


class StoredTexts(abc.ABC):
    """Texts that are not kept in memory, in order."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Return their number."""

    @abc.abstractmethod
    def __getitem__(self, place: int) -> StoredText:
        """Return the text at *place*."""

    @abc.abstractmethod
    def read_all(self) -> Iterator[bytes]:
        """Return an iterator that reads them in order."""

    @abc.abstractmethod
    def with_names(self, names: NameSearch) -> Iterator[int]:
        """Yield the places of the texts that can have one of *names*, in order."""

    @abc.abstractmethod
    def without(self, places: Container[int]) -> StoredTexts:
        """Return all texts but those at *places*."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StoredObjects:
    """Objects of one type whose texts are not kept in memory."""

    kind: str
    api_version: str
    texts: StoredTexts

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[GatheredObjects]:
        return map(self.__getitem__, range(len(self.texts)))

    def __getitem__(self, place: int) -> GatheredObjects:
        return GatheredObjects(self.kind, self.api_version, self.texts[place])

    def in_memory(self) -> Iterator[GatheredObjects]:
        """Return an iterator over them with their texts; faster if all are read."""
        return map(GatheredObjects, itertools.repeat(self.kind), itertools.repeat(self.api_version), self.texts.read_all())


Given = Source | GatheredObjects | StoredObjects
"""Objects as they are given: JSON text or parsed JSON of one object or of a list, or gathered already."""


class Objects(Protocol):
    """Objects of one kind, in order."""

    def __len__(self) -> int:
        """Return their number."""

    def __iter__(self) -> Iterator[GatheredObjects]:
        """Return an iterator over them."""

    def __getitem__(self, place: int, /) -> GatheredObjects:
        """Return the object at *place*, which is not negative."""


def in_memory(objects: Objects) -> Iterator[GatheredObjects]:
    """Return an iterator over *objects* with their texts; faster if all are read."""
    return objects.in_memory() if isinstance(objects, ObjectList) else iter(objects)


class ObjectList:
    """Objects of one kind, in order, some of which can be stored; see ``Objects``."""

    def __init__(self) -> None:
        self._parts: list[list[GatheredObjects] | StoredObjects] = []

    def append(self, gathered: GatheredObjects) -> None:
        """Add an object."""
        last = self._parts[-1] if self._parts else None
        if isinstance(last, list):
            last.append(gathered)
        else:
            self._parts.append([gathered])

    def extend(self, stored: StoredObjects) -> None:
        """Add stored objects."""
        self._parts.append(stored)

    def given(self, excluded: Callable[[GatheredObjects], bool] | None = None, names: NameSearch | None = None) -> Iterator[Given]:
        """Yield the objects for which *excluded* is not true, stored ones together; with *names*, only objects with them can be excluded."""
        for part in self._parts:
            those: Iterable[int] = range(len(part))
            if names is not None and isinstance(part, StoredObjects):
                those = part.texts.with_names(names)
            places = {place for place in those if excluded(part[place])} if excluded is not None else ()
            if isinstance(part, list):
                yield from (each for place, each in enumerate(part) if place not in places)
            else:
                yield dataclasses.replace(part, texts=part.texts.without(places)) if places else part

    def in_memory(self) -> Iterator[GatheredObjects]:
        """Return an iterator over them with their texts; faster if all are read."""
        return itertools.chain.from_iterable(part if isinstance(part, list) else part.in_memory() for part in self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[GatheredObjects]:
        return itertools.chain.from_iterable(self._parts)

    def __getitem__(self, place: int) -> GatheredObjects:
        for part in self._parts:
            if place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(place)
