"""Validation of documents with those of neighbouring files, while all of these are in memory.

Most references lead to an object of the same file or of one beside it.  The findings of a document hold if no object further away has one of
the keys that its rules looked up: then the lookup of all objects gives the same results.  ``settled`` tells this for each document.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Iterator, Sequence

from kubeapi.groups import CompositePodGroup, PodGroup
from validators import pipeline
from validators.hierarchy.tree import GroupTree
from validators.lint import examination
from validators.lint.documents import Document
from validators.lint.finding import Finding
from validators.lint.known_index import Key, ObjectIndex, RecordingLookup, related_groups
from validators.lint.object_columns import AGAIN, Columns, coded
from validators.lint.object_store import StoredObjects
from validators.model.objects import Object
from validators.rules.base import Settings


class Neighbours:
    """Objects of a few files, and those of them that are to be validated, by their number in *columns*."""

    def __init__(self, columns: Columns, settings: Settings) -> None:
        self._columns = columns
        self._settings = _without_fixes(settings)
        self._with_fixes = settings.fixes
        self._unit = 0
        self._index = ObjectIndex()
        self._pending: dict[int, tuple[Document, Object, pipeline.Examined]] = {}

    def add(self, number: int, item: Object) -> None:
        """Add an object that others can refer to."""
        self._index.append((b"", number), item)
        self._columns.unit[number] = self._unit

    def add_pending(self, number: int, document: Document, examined: pipeline.Examined) -> None:
        """Let an object that was added be validated."""
        if examined.object is not None:
            self._pending[number] = document, examined.object, examined

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """Yield the findings with the numbers of the objects, write into the columns what was looked up, and forget all objects."""
        validated: set[int] = set()
        for number, (_, item, _) in self._pending.items():
            if number not in validated:
                lookup = RecordingLookup(self._index)
                members, tree = self._related(number, item, lookup)
                validated.update(members)
                violations = {each: self._violations_of(each, lookup, tree) for each in members}
                # Fixes are similar names, and those of all objects are searched.
                if self._with_fixes and any(violations.values()):
                    self._columns.add_reads(members, [AGAIN])
                    continue
                self._columns.add_reads(members, [coded(key) for key in _without_known(lookup.reads, self._index)])
                for each, listed in violations.items():
                    yield from ((each, finding) for finding in examination.findings_of(self._pending[each][0], listed, with_fixes=False))
        self._index, self._pending = ObjectIndex(), {}
        self._unit += 1

    def _related(self, number: int, item: Object, lookup: RecordingLookup) -> tuple[Sequence[int], GroupTree | None]:
        """Return the objects that are validated together, with their tree: groups that are connected, else the object alone."""
        if not isinstance(item, (PodGroup, CompositePodGroup)):
            return (number,), None
        groups = related_groups(item, lookup.read_groups)
        return [place for (_, place), _ in groups if place in self._pending], GroupTree.build(group for _, group in groups)

    def _violations_of(self, number: int, lookup: RecordingLookup, tree: GroupTree | None) -> Sequence[pipeline.Violation]:
        _, item, examined = self._pending[number]
        return pipeline.validate_document(item, self._settings, lookup=lookup, tree=tree, form=examined.form, templates=examined.templates)


@functools.lru_cache(maxsize=8)
def _without_fixes(settings: Settings) -> Settings:
    """Return one object for all units: caches of rules compare settings that are not the same object field by field."""
    return dataclasses.replace(settings, fixes=False) if settings.fixes else settings


def _without_known(reads: set[Key], index: ObjectIndex) -> Iterator[Key]:
    """Yield the keys on which the results depend: whether a kind is known is certain if an object of it is here."""
    return (key for key in reads if key[0] != "known" or not index.objects(("kind", key[1])))


def settled(columns: Columns, objects: StoredObjects) -> Iterator[bool]:
    """Yield for each object whether the findings of ``Neighbours`` hold for it."""
    unit, beyond = columns.unit, set[int]()
    spread = objects.codes_of_several_units()
    start, end = 0, len(columns.read)
    while start < end:
        current = unit[columns.reader[start]]
        part = slice(start, bisect.bisect_right(columns.reader, current, start, key=unit.__getitem__))
        reads = columns.read[part]
        looked_up = set(reads)
        # Nearly all keys are of objects of the unit alone: these are found without a search.
        elsewhere = looked_up - columns.codes(bisect.bisect_left(unit, current), bisect.bisect_right(unit, current))
        left = {each for each in elsewhere if each == AGAIN or any(unit[number] != current for number in objects.extent(each) or ())}
        left |= looked_up & spread
        if left:
            beyond.update(reader for read, reader in zip(reads, columns.reader[part], strict=True) if read in left)
        start = part.stop
    return (leader not in beyond for leader in columns.leader)
