"""The report of ``muster lint`` on files, made by one or several processes in little memory."""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from muster.commands.lint import inputs
from validators import rules
from validators.lint import batch, engine, files
from validators.lint.batch import Gathered
from validators.lint.files import Files
from validators.lint.object_columns import MemoryByteStore

if TYPE_CHECKING:
    from muster.commands.lint.processes import FileByteStore
    from muster.commands.progress import Progress
    from validators.lint.batch import Batch
    from validators.lint.discovery import Discovered
    from validators.lint.documents import Manifest
    from validators.lint.finding import Finding, Report
    from validators.rules.base import Settings

_READING = "reading files"
_LARGE = 1_000_000
"""Bytes from which on several processes are faster than one."""
_MOST_TASKS = 2000
_OBJECTS_OF_A_TASK = 250
_THRESHOLDS = (100_000, 50, 100)
"""Thresholds of the garbage collector: documents have no cycles, so there is little to collect.  They stay until the command ends."""


def report_on(found: Discovered, objects: Discovered, settings: Settings, *, jobs: int | None, list_objects: bool) -> Report:
    """Return the report on the files *found*; those in *objects* are looked up only.  It does not depend on the number of *jobs*.

    Raises:
        click.ClickException: a file changed meanwhile, or a process ended early.

    """
    stdin = sys.stdin.buffer
    progress = inputs.shown_progress()
    read = Files(files.listed(found.files, stored=found.stored, given=found.paths), stdin, found.paths, found.unnamed)
    inputs.warn_without_files(found, len(read.names))
    further = files.manifests(
        objects.files,
        stdin,
        leave_out=map(files.identity, found.files if objects.files else ()),
        given=objects.paths,
        unnamed=objects.unnamed,
    )
    known = progress.over(further, len(objects.files), "reading --objects")
    gc.set_threshold(*_THRESHOLDS)
    try:
        with contextlib.closing(_Run(read, settings, jobs, progress, list_objects=list_objects)) as run:
            report = run.report(known)
    except batch.ChangedError as error:
        raise click.ClickException(str(error)) from None
    finally:
        progress.end()
    return report.with_skipped(found.skipped)


R = TypeVar("R", "Batch", "Finding")


class _Run:
    """Both passes over files.  Few bytes are read in this process and kept in memory."""

    def __init__(self, read: Files, settings: Settings, jobs: int | None, progress: Progress, *, list_objects: bool) -> None:
        self._files = read
        self._settings = settings
        self._progress = progress
        self._list_objects = list_objects
        sizes = read.sizes()
        self._is_large = sum(sizes) >= _LARGE
        self._tasks = batch.tasks(sizes, _MOST_TASKS)
        self._count = 1
        if self._is_large:
            from muster.commands.lint import processes

            rules.discover()  # before the processes are forked, which need them all
            self._count = min(jobs or processes.available(), len(self._tasks))
        self._blobs: Sequence[MemoryByteStore | FileByteStore] = [self._new_blobs() for _ in range(self._count)]

    def close(self) -> None:
        """Delete the objects."""
        for blobs in self._blobs:
            blobs.close()

    def report(self, known: Iterable[Manifest]) -> Report:
        """Return the report; the objects in *known* are looked up only."""
        looked_up = batch.examine_known(known, self._blobs[0], 0)
        batches = self._shared(_READING, [each.bytes for each in self._tasks], self._examine, batch.decode_batches)
        gathered = Gathered(batches, looked_up, self._files, self._read)
        del batches

        remaining = gathered.remaining
        size = max(_OBJECTS_OF_A_TASK, 1 + len(remaining) // _MOST_TASKS)

        def validate(_: int, numbers: Iterator[int]) -> list[Finding]:
            parts = (remaining[each * size : (each + 1) * size] for each in numbers)
            return [finding for part in parts for finding in gathered.validate(part, self._settings)]

        tasks = -(-len(remaining) // size)
        gathered.examination.findings += self._shared("validating", range(1, tasks + 1), validate, batch.decode_findings)
        return engine.report_on(gathered.examination, self._files.names, self._settings)

    def _examine(self, process: int, numbers: Iterator[int]) -> list[Batch]:
        blobs = self._blobs[process]
        batches = [
            batch.examine(
                self._files,
                self._tasks[each],
                self._settings,
                blobs,
                process=process,
                list_objects=self._list_objects,
                watch=functools.partial(self._show_offset, process, each),
            )
            for each in numbers
        ]
        blobs.flush()
        return batches

    def _show_offset(self, process: int, task: int, offset: int) -> None:
        """Show how far a large file is read.  Only this process has the terminal."""
        if process == 0:
            before = self._tasks[task - 1].bytes if task else 0
            self._progress.part(_READING, before + offset, self._tasks[-1].bytes)

    def _shared(
        self, label: str, ends: Sequence[int], work: Callable[[int, Iterator[int]], list[R]], decode: Callable[[bytes], list[R]]
    ) -> list[R]:
        """Return the results of *work* on the numbers of tasks, and show how much is done: *ends* has the amount after each task."""
        tasks = len(ends)
        if not self._is_large:
            return work(0, self._progress.over(range(tasks), tasks, label))
        from muster.commands.lint import processes

        count = min(self._count, tasks) or 1

        def encoded(process: int, numbers: Iterator[int]) -> bytes:
            return batch.encode(work(process, numbers))

        def show(number: int) -> None:
            self._progress.part(label, ends[number - 1] if number else 0, ends[-1])

        contents = processes.share(count, tasks, encoded, show)
        return [each for content in contents for each in decode(content)]

    def _new_blobs(self) -> MemoryByteStore | FileByteStore:
        if not self._is_large:
            return MemoryByteStore()
        from muster.commands.lint import processes

        return processes.FileByteStore()

    def _read(self, process: int, offset: int, size: int) -> bytes:
        return self._blobs[process].read(offset, size)
