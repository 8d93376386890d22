"""The objects that placement reads, out of all that is given: lists opened, kinds told apart.

What cannot be told becomes a Problem, and the rest goes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from scheduler_core.model import wire
from scheduler_core.model.problem import Problem
from validators.model import decode
from validators.model.decode import Json, Source
from validators.versions import served

KINDS = ("Node", "Pod", "PodGroup", "CompositePodGroup", "Workload", "PriorityClass", "PodDisruptionBudget")
"""The kinds that are read."""

DEEP = "is nested too deeply to be read"
_NOUNS = {"Node": "node", "Pod": "pod", "PodDisruptionBudget": "budget", "PodGroup": "group", "CompositePodGroup": "group"}

Name = tuple[str, str]
"""Namespace (empty for kinds that have none) and name."""


class Unusable(ValueError):
    """An object cannot be used; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class GatheredObjects:
    """An object of a kind that is read, not read further yet."""

    kind: str
    api_version: str
    text: wire.Text

    def content(self) -> dict[str, Json]:
        """The parsed object without nulls; an item of a list is told what it is by the list.  Raises Unusable if it is no object."""
        return {**_content(self.text), "apiVersion": self.api_version, "kind": self.kind}

    def canonical(self) -> bytes:
        """The same text for the same object, however it is written."""
        try:
            return wire.ENCODER.encode(self.content())
        except Unusable:
            return bytes(self.text)


def gather(objects: Iterable[Source]) -> tuple[dict[str, list[GatheredObjects]], list[Problem]]:
    """The objects by kind, lists opened, with what is wrong; kinds that are not read are passed over."""
    sorter = _Sorter()
    for each in objects:
        sorter.add_source(each)
    return sorter.kinds, sorter.problems


def label(kind: str, name: Name) -> str:
    """An object as problems name it: ``Kind name`` or ``Kind namespace/name``."""
    return f"{kind} {'/'.join(each for each in name if each)}".rstrip()


def left_out(kind: str, why: str) -> str:
    """A problem for which the object is not used."""
    return f"{why}; the {_NOUNS.get(kind, kind)} is left out"


def written_name(text: wire.Text) -> Name:
    """Namespace and name as far as they are written, in an object that may be anything."""
    try:
        metadata = _content(text).get("metadata")
    except Unusable:
        return "", ""
    given = metadata if isinstance(metadata, Mapping) else {}
    namespace, name = (each if isinstance(each, str) else "" for each in (given.get("namespace"), given.get("name")))
    return namespace, name


def _content(text: wire.Text) -> dict[str, Json]:
    try:
        content = decode.plain(decode.parse(text))
    except decode.NotJson as error:
        raise Unusable(f"is not JSON: {error}") from None
    except RecursionError:
        raise Unusable(DEEP) from None
    if not isinstance(content, dict):
        raise Unusable("is no object")
    return content


class _Sorter:
    def __init__(self) -> None:
        self.kinds: dict[str, list[GatheredObjects]] = {kind: [] for kind in KINDS}
        self.problems: list[Problem] = []

    def add_source(self, source: Source) -> None:
        """Sort an object in, and what is in it if it is a list."""
        lists = [_Open(iter((source,)))]
        while lists:
            inside = lists[-1]
            if (each := next(inside.items, None)) is None:
                lists.pop()
                continue
            try:
                if inner := self._sort(_text(each), inside):
                    lists.append(inner)
            except Unusable as error:
                self.problems.append(Problem(_title(each, inside.kind), left_out("object", str(error))))

    def _sort(self, text: wire.Text, inside: _Open) -> _Open | None:
        head = _head(text)
        if head.api_version is None and head.kind is None:
            api_version, kind = inside.api_version, inside.kind
        else:
            api_version, kind = _stated("apiVersion", head.api_version), _stated("kind", head.kind)
        if not kind:
            raise Unusable("kind is missing")
        if kind.endswith("List") and (head.items or kind == "List"):
            return _opened(head.items, api_version, kind)
        if kind in KINDS and served.serves(api_version.rpartition("/")[0], kind):
            self.kinds[kind].append(GatheredObjects(kind, api_version, text))
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class _Open:
    """The items of a list, and what they are unless they say it."""

    items: Iterator[Source]
    api_version: str = ""
    kind: str = ""


def _text(source: Source) -> wire.Text:
    if isinstance(source, wire.Text):
        return source
    try:
        return wire.ENCODER.encode(source)
    except RecursionError:
        raise Unusable(DEEP) from None
    except (TypeError, ValueError) as error:
        raise Unusable(f"is not JSON: {error}") from None


def _head(text: wire.Text) -> wire.Head:
    try:
        return wire.HEAD.decode(text)
    except RecursionError:
        raise Unusable(DEEP) from None
    except wire.ValidationError:
        raise Unusable("is no object") from None
    except ValueError as error:
        raise Unusable(f"is not JSON: {error}") from None


def _stated(field: str, value: object) -> str:
    if value is None or value == "":
        raise Unusable(f"{field} is missing")
    if not isinstance(value, str):
        raise Unusable(f"{field} must be a string")
    return value


def _opened(items: wire.Text, api_version: str, kind: str) -> _Open | None:
    inner = kind.removesuffix("List")
    try:
        texts = wire.ITEMS.decode(items) if items else []
    except (ValueError, RecursionError):
        if bytes(items) == b"null" or (inner and inner not in KINDS):
            return None
        raise Unusable("items must be a list") from None
    return _Open(iter(texts), api_version, inner)


def _title(source: Source, kind: str) -> str:
    """What to call an object that could not be sorted in."""
    try:
        text = _text(source)
        stated = _head(text).kind
    except Unusable:
        return kind or "Object"
    return label(stated if isinstance(stated, str) and stated else kind or "Object", written_name(text))
