"""The raw objects of a cluster by name, so that a change can be written as whole objects that replace them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.loading.gather import GatheredObjects, Unusable, gather, written_name
from scheduler_core.model import wire
from scheduler_core.model.decision import Step
from scheduler_core.whatif.edits.node_templates import OWNERS, Content, belongs_to_its_node
from validators.model.decode import Source
from validators.model.objects import CLUSTER_SCOPED

Key = tuple[str, str, str]
"""Kind, namespace (empty for kinds that have none), name."""


class Book:
    """The objects as they are written, and on top of them those that a change has replaced."""

    def __init__(self, objects: Iterable[Source]) -> None:
        """Lists are opened; of several objects of one name the one counts that counts when they are loaded."""
        self._found, _ = gather(objects)
        self._named: dict[str, dict[Key, GatheredObjects]] = {}
        self._over: dict[Key, Content] = {}
        self._mentions: dict[tuple[str, ...], list[GatheredObjects]] = {}

    def get(self, kind: str, namespace: str, name: str) -> Content | None:
        """A copy of the object, to be changed at will; None where there is none, or it cannot be read."""
        key = (kind, "" if kind in CLUSTER_SCOPED else namespace, name)
        if (over := self._over.get(key)) is not None:
            return copy.deepcopy(over)
        found = self._of(kind).get(key)
        return None if found is None else _content(found)

    def objects_on_node(self, node: str) -> list[Content]:
        """Copies of the pods on *node* that belong to it, by namespace and name; of several of one name the one that counts."""
        found: dict[Key, GatheredObjects] = {}
        mark = node.encode()
        for each in (each for each in self._mentioning(OWNERS) if mark in bytes(each.text)):
            namespace, name = _name(each)
            key = ("Pod", namespace or "default", name)
            if key not in found or each.canonical() < found[key].canonical():
                found[key] = each
        pods = [content for key in sorted(found) if (content := _content(found[key])) is not None]
        return [
            pod for pod in pods if isinstance(pod.get("spec"), dict) and pod["spec"].get("nodeName") == node and belongs_to_its_node(pod)
        ]

    def free(self, names: Iterable[str], part: str) -> Iterator[str]:
        """Those of *names* that no node has and no pod mentions; *part* stands in all of them."""
        texts = [bytes(each.text) for each in self._mentioning((part,))]
        for name in names:
            if not any(name.encode() in text for text in texts) and self.get("Node", "", name) is None:
                yield name

    def all(self, kind: str, namespace: str) -> list[Content]:
        """Copies of all objects of a kind in a namespace, by name."""
        names = {key for key in (*self._of(kind), *self._over) if key[0] == kind and key[1] == namespace}
        return [content for key in sorted(names) if (content := self.get(*key)) is not None]

    def with_steps(self, steps: Sequence[Step]) -> Book:
        """The same objects with those that *steps* apply."""
        return _Later(self, {key_of(step.apply): dict(step.apply) for step in steps if step.apply is not None})

    def _mentioning(self, words: tuple[str, ...]) -> list[GatheredObjects]:
        """The pods in whose text one of *words* stands somewhere: of a great many only these are parsed."""
        if words not in self._mentions:
            marks = [word.encode() for word in words]
            self._mentions[words] = [found for found in self._found.get("Pod", ()) if any(mark in bytes(found.text) for mark in marks)]
        return self._mentions[words]

    def _of(self, kind: str) -> Mapping[Key, GatheredObjects]:
        if kind not in self._named:
            named = self._named[kind] = {}
            for found in self._found.get(kind, ()):
                namespace, name = _name(found)
                key = (kind, "" if kind in CLUSTER_SCOPED else namespace or "default", name)
                if key not in named or found.canonical() < named[key].canonical():
                    named[key] = found
        return self._named[kind]


class _Later(Book):
    def __init__(self, book: Book, over: Mapping[Key, Content]) -> None:
        vars(self).update(vars(book))
        self._over = {**self._over, **over}


def key_of(content: Mapping[str, Any]) -> Key:
    """What an object is called."""
    metadata, kind = content.get("metadata") or {}, str(content.get("kind", ""))
    return kind, "" if kind in CLUSTER_SCOPED else metadata.get("namespace") or "default", str(metadata.get("name", ""))


def merged(*changes: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of several changes, each made on top of those before: what is replaced twice is so once, as the last says."""
    return tuple(net_changes(step for steps in changes for step in steps).values())


def net_changes(steps: Iterable[Step]) -> dict[Key, Step]:
    """What *steps* come to, in whatever order they are: the last one on each object, by its key."""
    found: dict[Key, Step] = {}
    for step in steps:
        if step.apply is not None:
            found[key_of(step.apply)] = step
        elif step.delete is not None:
            found[step.delete["kind"], step.delete["namespace"], step.delete["name"]] = step
    return found


def _content(found: GatheredObjects) -> Content | None:
    try:
        return found.content()
    except Unusable:
        return None


def _name(found: GatheredObjects) -> tuple[str, str]:
    """Namespace and name, read without the rest of the object where that can be done."""
    try:
        metadata = wire.FIELDS.decode(wire.FIELDS.decode(found.text)["metadata"])
        namespace, name = (_word(metadata.get(field)) for field in ("namespace", "name"))
    except (KeyError, ValueError, RecursionError):
        return written_name(found.text)
    return namespace, name


def _word(text: wire.Text | None) -> str:
    """A JSON string without escapes; names of objects have none.  Raises ValueError for anything else."""
    written = b'""' if text is None else bytes(text).strip()
    if written[:1] != b'"' or b"\\" in written:
        raise ValueError("is no plain name")
    return written[1:-1].decode()
