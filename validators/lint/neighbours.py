"""Validation of documents with those of neighbouring files, while all of these are in memory.

Most references lead to an object of the same file or of one beside it.  The findings of a document hold if no object further away has one of
the keys that its rules looked up: then the lookup of all objects gives the same results.  ``settled`` tells this for each document.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Iterator

from validators import pipeline
from validators.lint import engine
from validators.lint.documents import Document
from validators.lint.engine import Pending
from validators.lint.examination import findings_of
from validators.lint.finding import Finding
from validators.lint.known_index import Key, ObjectIndex, RecordingLookup
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
        self._index = ObjectIndex[int]()
        self._pending: dict[int, tuple[Document, Pending]] = {}

    def add(self, number: int, document: Document, examined: pipeline.Examined, item: Object) -> None:
        """Add an object that others can refer to; it is validated if it has no violations by itself."""
        self._index.append(number, item)
        self._columns.unit[number] = self._unit
        if not examined.violations:
            self._pending[number] = document, Pending(item, examined.form, examined.templates)

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """Yield the findings with the numbers of the objects, write into the columns what was looked up, and forget all objects."""
        index, pending = self._index, self._pending
        validated = engine.second_pass(pending, lambda number: pending[number][1], lambda: RecordingLookup(index), self._settings)
        for lookup, violations in validated:
            # Fixes are similar names, and those of all objects are searched.
            again = self._with_fixes and any(violations.values())
            self._columns.add_reads([*violations], [AGAIN] if again else [coded(key) for key in _without_known(lookup.reads, index)])
            for number, listed in violations.items() if not again else ():
                yield from ((number, finding) for finding in findings_of(pending[number][0], listed, with_fixes=False))
        self._index, self._pending = ObjectIndex(), {}
        self._unit += 1


@functools.lru_cache(maxsize=8)
def _without_fixes(settings: Settings) -> Settings:
    """Return one object for all units: caches of rules compare settings that are not the same object field by field."""
    return dataclasses.replace(settings, fixes=False) if settings.fixes else settings


def _without_known(reads: set[Key], index: ObjectIndex[int]) -> Iterator[Key]:
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
