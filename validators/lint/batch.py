"""Linting of many files in little memory, and by several processes: the report is that of ``lint_files.run``.

A process examines some of the files (``examine``) and writes the objects to its blobs.  When the results of all processes are
together (``Gathered``), each process validates some of the objects with the others as their lookup (``validate``).  Files with
findings of the second pass are read again for the positions.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from validators import pipeline
from validators.hierarchy.tree import GroupTree
from validators.lint import examination
from validators.lint.blobs import Blobs
from validators.lint.documents import Document, Manifest
from validators.lint.examination import Examination, FirstPass
from validators.lint.files import Files
from validators.lint.finding import Finding
from validators.lint.known_index import related_groups
from validators.lint.object_columns import NOWHERE, Columns, Origin
from validators.lint.object_store import StoredObjects
from validators.lint.segments import Segment
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.objects import Object, namespace_of
from validators.rules.base import Settings

_TASK_BYTES = 256 * 1024
_FILE_BYTES = 500
"""Bytes that take about as long as opening a file."""
ReadBlob = Callable[[int, int, int], bytes]
"""Reader of a blob: number of the process that wrote it, offset, size."""


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
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


@dataclasses.dataclass(slots=True)
class Batch:
    """Results of examining the files of a task: ``segments`` are numbers of files with their segments; objects are ``columns``."""

    task: int
    process: int
    examination: Examination
    segments: list[tuple[int, Segment]]
    columns: list[bytes]


def examine(files: Files, task: Task, settings: Settings, blobs: Blobs, *, process: int = 0, list_objects: bool = True) -> Batch:
    """Return the results of examining the files of *task*; without *list_objects*, the validated objects are not listed."""
    segments: list[tuple[int, Segment]] = []
    columns = Columns()

    def keep(document: Document, examined: pipeline.Examined, item: Object) -> None:
        form = None if examined.violations else examined.form
        columns.append(item, blobs, Origin(len(segments) - 1, document.chunk.part, document.index), form)

    results = Examination()
    for number in task.files:
        length, count = len(columns), len(segments)
        first = FirstPass(settings, keep)
        for segment, manifest in files.segments(number):
            if manifest.as_whole:
                columns.truncate(length)
                del segments[count:]
                first = FirstPass(settings, keep)
            segments.append((number, segment))
            first.read_manifest(manifest)
            if not list_objects:
                first.examination.checked.clear()
        results.add(first.examination)
    return Batch(task.number, process, results, segments, columns.to_bytes())


def examine_known(manifests: Iterable[Manifest], blobs: Blobs, process: int) -> Batch:
    """Return the objects of files that are only looked up, with the findings for what cannot be read in them."""
    columns = Columns()
    results = Examination()
    for manifest in manifests:
        results.findings += examination.unreadable_findings([manifest])
        for part in manifest.parts:
            item = pipeline.decode_for_lookup(part.content) if isinstance(part, Document) else None
            if item is not None:
                columns.append(item, blobs, NOWHERE, None)
    return Batch(0, process, results, [], columns.to_bytes())


class Gathered:
    """Results of the first pass over all files, and the second pass."""

    def __init__(self, batches: Sequence[Batch], known: Batch, files: Files, read: ReadBlob) -> None:
        self._files = files
        self._read = read
        self.examination = Examination()
        self._segments: list[tuple[int, Segment]] = []
        self._columns, self._processes = Columns(), array("B")
        for batch in sorted(batches, key=lambda each: each.task):
            self._add(batch)
        self.examination.findings += known.examination.findings
        if known.columns[0]:
            self._add_known(known)
        self.objects = StoredObjects(self._columns, self._blob)

    @property
    def count(self) -> int:
        """Number of objects."""
        return len(self._columns)

    def validate(self, numbers: range, settings: Settings) -> list[Finding]:
        """Return the findings of the objects *numbers* that need the other objects.

        Raises:
            ChangedError: a file is not what it was in the first pass.

        """
        violations: dict[int, list[tuple[int, Sequence[pipeline.Violation]]]] = {}
        for number, listed in self._violations(numbers, settings):
            if listed:
                violations.setdefault(self._columns.segment[number], []).append((number, listed))
        return [finding for segment in violations for finding in self._findings(segment, violations[segment])]

    def _violations(self, numbers: range, settings: Settings) -> Iterator[tuple[int, Sequence[pipeline.Violation]]]:
        """Yield the violations of each object; groups of one tree are validated together."""
        objects, form = self.objects, self._columns.form
        widths: dict[tuple[str, str], bool] = {}
        validated: set[int] = set()
        for number in numbers:
            if not form[number] or number in validated:
                continue
            item = objects.object(number)
            members: list[tuple[int, Object]] = [(number, item)]
            tree = None
            if isinstance(item, (PodGroup, CompositePodGroup)):
                groups = related_groups(item, objects.read)
                tree = GroupTree.build(group for _, group in groups)
                tree.widths = widths  # they depend on nodes only
                members = [(place, group) for place, group in groups if place in numbers and form[place]]
                validated |= {place for place, _ in members[1:]}
            for place, each in members:
                yield place, pipeline.validate_document(each, settings, lookup=objects, tree=tree, form=objects.form(place))

    def _findings(self, segment: int, violations: Sequence[tuple[int, Sequence[pipeline.Violation]]]) -> Iterator[Finding]:
        number, part = self._segments[segment]
        columns = self._columns
        documents = self._files.documents(number, part, {columns.part[each]: columns.first[each] for each, _ in violations})
        for each, listed in violations:
            index = columns.index[each]
            if index not in documents:
                raise ChangedError(f"{self._files.names[number]} changed while it was read; lint it again")
            yield from examination.findings_of(documents[index], listed)

    def _add(self, batch: Batch) -> None:
        self.examination.add(batch.examination)
        columns = Columns.from_bytes(batch.columns)
        self._columns.extend(columns, len(self._segments))
        self._segments += batch.segments
        self._processes.extend([batch.process] * len(columns))

    def _add_known(self, known: Batch) -> None:
        """Put the objects that are only looked up before the others, except for those that the others replace."""
        validated = StoredObjects(self._columns, self._blob)
        added = StoredObjects(Columns.from_bytes(known.columns), lambda _, offset, size: self._read(known.process, offset, size))
        columns = added.columns_without(lambda item: _is_replaced(item, validated))
        self._processes = array("B", [known.process] * len(columns)) + self._processes
        columns.extend(self._columns, 0)
        self._columns = columns

    def _blob(self, number: int, offset: int, size: int) -> bytes:
        return self._read(self._processes[number], offset, size)


def _is_replaced(item: Object, validated: StoredObjects) -> bool:
    # An object without a name replaces nothing: generateName creates a new object each time.
    name = item.metadata.name
    return bool(name) and any(True for _ in validated.named(item.kind, namespace_of(item), name))


def encode(results: object) -> bytes:
    """Return results of one of the passes as bytes, for another process."""
    return msgspec.msgpack.encode(results)


def decode_batches(content: bytes) -> list[Batch]:
    """Return the batches in *content*."""
    return msgspec.msgpack.decode(content, type=list[Batch])


def decode_findings(content: bytes) -> list[Finding]:
    """Return the findings in *content*."""
    return msgspec.msgpack.decode(content, type=list[Finding])
