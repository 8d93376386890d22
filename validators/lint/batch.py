"""Linting of many files in little memory, and by several processes: with the findings of ``engine``.

A process examines some of the files (``examine``), validates their objects with each other (``Neighbours``), and writes them to its blobs.
When the results of all processes are together (``Gathered``), each process validates some of the objects for which something was looked
up that is in other files, with all objects as their lookup (``validate``).  Files with findings of this second pass are read again for
the positions.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from kubeapi.base_structs import Record
from validators import pipeline
from validators.lint import engine
from validators.lint.documents import Document, Manifest
from validators.lint.engine import FirstPass, Pending
from validators.lint.examination import Examination, findings_of
from validators.lint.files import Files
from validators.lint.finding import Finding
from validators.lint.large_files import Segment
from validators.lint.object_columns import AGAIN, NOWHERE, ByteStore, Columns, Origin, coded
from validators.lint.object_index import Key, ObjectIndex, RecordingLookup
from validators.lint.object_store import StoredObjects
from validators.model.objects import Object
from validators.rules.base import Settings

_TASK_BYTES = 64 * 1024
"""More documents than these do not fit into the caches of a processor; they are kept until the last one is read."""
_FILE_BYTES = 500
"""Bytes that take about as long as opening a file."""
ReadBlob = Callable[[int, int, int], bytes]
"""Reader of a blob: number of the process that wrote it, offset, size."""


class Task(Record, frozen=True):
    """Consecutive files to examine, and the bytes up to the end of them."""

    number: int
    files: range
    bytes: int


def tasks(sizes: Sequence[int], most: int) -> list[Task]:
    """Return tasks of about the same number of bytes for files of these *sizes*, at most *most*."""
    share = max(_TASK_BYTES, 1 + (sum(sizes) + _FILE_BYTES * len(sizes)) // most)
    listed: list[Task] = []
    first, size, total = 0, 0, 0
    for number, each in enumerate(sizes):
        size, total = size + each + _FILE_BYTES, total + each
        if size >= share or number == len(sizes) - 1:
            listed.append(Task(len(listed), range(first, number + 1), total))
            first, size = number + 1, 0
    return listed


class ChangedError(Exception):
    """File that changed between the passes; the message names it."""


class Batch(Record, frozen=True):
    """Results of examining the files of a task.

    Attributes:
        segments: numbers of files with their segments.
        columns: the objects.
        found: findings of objects that were validated with their neighbours, with the numbers of the objects.

    """

    task: int
    process: int
    examination: Examination
    segments: list[tuple[int, Segment]]
    columns: list[bytes]
    found: list[tuple[int, Finding]]


def examine(
    files: Files,
    task: Task,
    settings: Settings,
    blobs: ByteStore,
    *,
    process: int = 0,
    list_objects: bool = True,
    watch: Callable[[int], None] = lambda _: None,
) -> Batch:
    """Return the results of examining the files of *task*; without *list_objects*, the validated objects are not listed.

    *watch* is called before each part of a large file with the offset of the part.
    """
    segments: list[tuple[int, Segment]] = []
    columns = Columns()
    nearby = Neighbours(columns, settings)
    found: list[tuple[int, Finding]] = []

    def keep(document: Document, examined: pipeline.Examined, item: Object) -> None:
        origin = Origin(len(segments) - 1, document.chunk.part, document.index)
        columns.append(item, blobs, origin, None if examined.violations else examined.form)
        nearby.add(len(columns) - 1, document, examined, item)

    results = Examination()
    for number in task.files:
        length, count = len(columns), len(segments)
        first = FirstPass(settings, keep, list_objects=list_objects)
        for segment, manifest in files.segments(number):
            if segment.size is not None:
                watch(segment.offset)
                found += nearby.findings()  # files before a large one remain if that turns out to be unreadable as a whole
            if manifest.as_whole:
                columns.truncate(length)
                del segments[count:]
                found = [each for each in found if each[0] < length]
                first = FirstPass(settings, keep, list_objects=list_objects)
            segments.append((number, segment))
            first.read_manifest(manifest)
            if segment.size is not None:
                found += nearby.findings()
        results.add(first.examination)
    found += nearby.findings()
    return Batch(task.number, process, results, segments, columns.to_bytes(), found)


def examine_known(manifests: Iterable[Manifest], blobs: ByteStore, process: int) -> Batch:
    """Return the objects of files that are only looked up, with the findings for what cannot be read in them."""
    columns = Columns()
    results = Examination()
    for item in engine.known_objects(manifests, results):
        columns.append(item, blobs, NOWHERE, None)
    return Batch(0, process, results, [], columns.to_bytes(), [])


class Neighbours:
    """Objects of a few files, and those of them that are to be validated, by their number in *columns*.

    Most references lead to an object of the same file or of one beside it.  The findings of a document hold if no object further away has one
    of the keys that its rules looked up: then the lookup of all objects gives the same results.  ``_settled`` tells this for each document.
    """

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


def _settled(columns: Columns, objects: StoredObjects) -> Iterator[bool]:
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


class _Documents(Record, frozen=True):
    """Objects of some parts of a segment, by their number in the file."""

    segment: int
    parts: frozenset[int]
    documents: Mapping[int, Document]


class Gathered:
    """Results of the first pass over all files, and the second pass."""

    def __init__(self, batches: Sequence[Batch], known: Batch, files: Files, read: ReadBlob) -> None:
        self._files = files
        self._read = read
        self.examination = Examination()
        self._segments: list[tuple[int, Segment]] = []
        self._columns, self._processes = Columns(), array("B")
        self._found: list[tuple[int, Finding]] = []
        self._last_read = _Documents(-1, frozenset(), {})
        for batch in sorted(batches, key=lambda each: each.task):
            self._add(batch)
        self.examination.findings += known.examination.findings
        known_objects = self._add_known(known) if known.columns[0] else 0
        self.objects = StoredObjects(self._columns, self._blob)
        self.remaining = self._settle(known_objects)
        """Numbers of the objects that are to be validated with all others."""

    def validate(self, numbers: Sequence[int], settings: Settings) -> list[Finding]:
        """Return the findings of the objects *numbers* that need the other objects.

        Raises:
            ChangedError: a file is not what it was in the first pass.

        """
        violations: dict[int, list[tuple[int, Sequence[pipeline.Violation]]]] = {}
        for _, validated in engine.second_pass(numbers, self.objects.pending, lambda: self.objects, settings):
            for number, listed in validated.items():
                if listed:
                    violations.setdefault(self._columns.segment[number], []).append((number, listed))
        return [finding for segment in violations for finding in self._findings(segment, violations[segment], with_fixes=settings.fixes)]

    def _settle(self, known_objects: int) -> array[int]:
        """Take over the findings that hold; return the numbers of the other objects.  The first objects are *known_objects*."""
        settled = bytes(_settled(self._columns, self.objects))
        self.examination.findings += [finding for number, finding in self._found if settled[number + known_objects]]
        self._found.clear()
        form = self._columns.form
        return array("I", (number for number, is_settled in enumerate(settled) if form[number] and not is_settled))

    def _findings(
        self, segment: int, violations: Sequence[tuple[int, Sequence[pipeline.Violation]]], *, with_fixes: bool
    ) -> Iterator[Finding]:
        number, _ = self._segments[segment]
        columns = self._columns
        documents = self._documents(segment, {columns.part[each]: columns.first[each] for each, _ in violations})
        for each, listed in violations:
            index = columns.index[each]
            if index not in documents:
                raise ChangedError(f"{self._files.names[number]} changed while it was read; lint it again")
            yield from findings_of(documents[index], listed, with_fixes=with_fixes)

    def _documents(self, segment: int, parts: Mapping[int, int]) -> Mapping[int, Document]:
        """Return the objects of these *parts* of a segment.  A segment can be a large file, which is not read again for each task."""
        last = self._last_read
        if last.segment != segment or not last.parts.issuperset(parts):
            self._last_read = last = _Documents(-1, frozenset(), {})  # before others are read: both may be large
            number, part = self._segments[segment]
            self._last_read = last = _Documents(segment, frozenset(parts), self._files.documents(number, part, parts))
        return last.documents

    def _add(self, batch: Batch) -> None:
        self.examination.add(batch.examination)
        columns = Columns.from_bytes(batch.columns)
        self._found += ((number + len(self._columns), finding) for number, finding in batch.found)
        self._columns.extend(columns, len(self._segments))
        self._segments += batch.segments
        self._processes.extend([batch.process] * len(columns))

    def _add_known(self, known: Batch) -> int:
        """Put the objects that are only looked up before the others, except for those that the others replace; return their number."""
        validated = StoredObjects(self._columns, self._blob)
        added = StoredObjects(Columns.from_bytes(known.columns), lambda _, offset, size: self._read(known.process, offset, size))
        columns = added.columns_without(lambda item: engine.is_replaced(item, validated.has))
        self._processes = array("B", [known.process] * len(columns)) + self._processes
        count = len(columns)
        columns.extend(self._columns, 0)
        self._columns = columns
        return count

    def _blob(self, number: int, offset: int, size: int) -> bytes:
        return self._read(self._processes[number], offset, size)


def encode(results: object) -> bytes:
    """Return results of one of the passes as bytes, for another process."""
    return msgspec.msgpack.encode(results)


def decode_batches(content: bytes) -> list[Batch]:
    """Return the batches in *content*."""
    return msgspec.msgpack.decode(content, type=list[Batch])


def decode_findings(content: bytes) -> list[Finding]:
    """Return the findings in *content*."""
    return msgspec.msgpack.decode(content, type=list[Finding])
