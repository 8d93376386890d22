"""Trials of mutants: the tests that execute a changed line run in forked processes, until one fails.  Nothing on disk changes.

One process collects the tests.  A mutant of the body of a function that did not run by then is a fork of that process in which functions
have their changed code.  Any other mutant is imported in place of its file, and its tests are collected again.
"""

from __future__ import annotations

import collections
import enum
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import mmap
import os
import resource
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from coverage import Coverage

from tests.reliability.source_mutants import measured_tests
from tests.reliability.source_mutants.measured_tests import FAILED, ROOT, Test, passes, run_forked
from tests.reliability.source_mutants.sites import Mutant

LONGEST = 100.0
"""Seconds of a mutant; most end by the limit of processor time."""
STARTING = 20.0
"""Seconds of processor time to import a mutant and collect its tests."""
MOST_FILES = 10
"""Test files that are collected anew for a mutant."""
MEMORY_BYTES = 6 << 30
"""Address space of a mutant: a loop that appends does not end otherwise."""


_NONE = b"\xff" * 4
"""In place of the index of the test that runs in a fork."""


class Outcome(enum.IntEnum):
    """End of a trial: the exit status of its process."""

    SURVIVED = 0
    KILLED = 1
    NOT_IMPORTED = 2
    TIMED_OUT = 3
    NO_TEST = 4


class _Mutated(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> Any:
        return _code(self.path, self._source)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, file: str, source: str) -> None:
        self._name, self._path, self._source = module_name(file), str(ROOT / file), source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=_Mutated(fullname, self._path, self._source))


def module_name(file: str) -> str:
    """Return the name by which a file is imported."""
    return file.removesuffix(".py").replace("/", ".")


def outcomes(mutants: Sequence[Mutant], tests: Mapping[str, Test]) -> list[tuple[Outcome, str]]:
    """Return the outcome of each mutant, with the name of the test that failed.  Raises ValueError: the tests cannot be collected."""
    chosen = [measured_tests.choose(tests, each.file, each.lines, each.body) for each in mutants]
    files = sorted({measured_tests.file_of(name) for names in chosen for name in names})
    if not files:
        return [(Outcome.NO_TEST, "")] * len(mutants)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder, "outcomes")
        status = run_forked(lambda: _collect(mutants, chosen, tests, files, at), 60 + len(mutants) * 4 * LONGEST)
        if not at.exists():
            raise ValueError(f"the tests of {len(files)} files cannot be collected, or a trial failed: exit status {status}")
        return [(Outcome(number), name) for number, name in msgspec.json.decode(at.read_bytes(), type=list[tuple[int, str]])]


def _collect(mutants: Sequence[Mutant], chosen: Sequence[Sequence[str]], tests: Mapping[str, Test], files: Sequence[str], at: Path) -> int:
    mutated = sorted({each.file for each in mutants})
    coverage = Coverage(data_file=None, include=[str(ROOT / each) for each in mutated], config_file=False, messages=False)
    coverage.set_option("run:disable_warnings", ["no-data-collected"])

    def use(items: list[pytest.Item]) -> None:
        coverage.stop()
        data = coverage.get_data()
        trials = _Trials(items, tests, {each: frozenset(data.lines(str(ROOT / each)) or ()) for each in mutated})
        at.write_bytes(msgspec.json.encode([trials.outcome(each, names) for each, names in zip(mutants, chosen, strict=True)]))

    measured_tests.import_anew()
    coverage.start()
    return measured_tests.collect(use, files)


class _Trials:
    """Forks of a process that has collected the tests."""

    def __init__(self, items: Sequence[pytest.Item], tests: Mapping[str, Test], executed: Mapping[str, frozenset[int]]) -> None:
        self._items = {each.nodeid: each for each in items}
        self._tests = tests
        self._executed = executed
        self._is_sound: dict[tuple[bool | str, ...], bool] = {}
        self._running = mmap.mmap(-1, len(_NONE))
        gc.unfreeze()
        self._functions: dict[str, list[types.FunctionType]] = {str(ROOT / each): [] for each in executed}
        for each in gc.get_objects():
            if type(each) is types.FunctionType and each.__code__.co_filename in self._functions:
                self._functions[each.__code__.co_filename].append(each)
        gc.freeze()

    def outcome(self, mutant: Mutant, names: Sequence[str]) -> tuple[int, str]:
        """Return the outcome, and the name of the test that failed, which passes without the change."""
        is_warm = mutant.body is not None and self._executed[mutant.file].isdisjoint(range(mutant.body[0], mutant.body[1] + 1))
        run = self._run_exchanged if is_warm else self._run_imported
        unchanged = mutant._replace(source=(ROOT / mutant.file).read_text(encoding="utf-8"))
        left = [each for each in names if each in self._items and self._is_sound.get((is_warm, each), True)]
        if not is_warm:
            left = _of_few_files(left)
        while left:
            outcome, failed = self._fork(run, mutant, left)
            if outcome is Outcome.SURVIVED:
                return outcome, ""
            # Without a test that failed, all of them were not collected.
            again = [failed] if failed else left if outcome is Outcome.KILLED else left[:1]
            if (name := (is_warm, *again)) not in self._is_sound:
                self._is_sound[name] = self._fork(run, unchanged, again)[0] is Outcome.SURVIVED
            if self._is_sound[name]:
                return outcome, failed
            left = [each for each in left if each not in again]
        return Outcome.NO_TEST, ""

    def _fork(self, run: Callable[[Mutant, Sequence[str]], int], mutant: Mutant, names: Sequence[str]) -> tuple[Outcome, str]:
        self._running[:] = _NONE
        status = run_forked(lambda: run(mutant, names), LONGEST)
        if status == FAILED:
            raise ValueError(f"trial of {mutant.name} failed")
        outcome = Outcome.TIMED_OUT if status is None else Outcome.KILLED if status < 0 else Outcome(status)
        running = self._running[:]
        return outcome, "" if outcome is Outcome.SURVIVED or running == _NONE else names[int.from_bytes(running)]

    def _run_exchanged(self, mutant: Mutant, names: Sequence[str]) -> int:
        path = str(ROOT / mutant.file)
        codes = {_place(each): each for each in _nested(_code(path, mutant.source))}
        try:
            for function in self._functions[path]:
                function.__code__ = codes[_place(function.__code__)]
        except (KeyError, ValueError):  # a function that there is no more, or that has other variables from around it
            return self._run_imported(mutant, names)
        return self._run_items([self._items[each] for each in names])

    def _run_imported(self, mutant: Mutant, names: Sequence[str]) -> int:
        measured_tests.import_anew()
        sys.meta_path.insert(0, _Finder(mutant.file, mutant.source))
        _limit(STARTING)
        try:
            importlib.import_module(module_name(mutant.file))
        except Exception:  # noqa: BLE001
            return Outcome.NOT_IMPORTED
        # A mutant whose tests cannot be collected, or have other names, is seen.
        status = [int(Outcome.KILLED)]

        def use(items: list[pytest.Item]) -> None:
            by_name = {each.nodeid: each for each in items}
            if by_name.keys() >= set(names):
                status[0] = self._run_items([by_name[each] for each in names])

        measured_tests.collect(use, list(dict.fromkeys(map(measured_tests.file_of, names))))
        return status[0]

    def _run_items(self, items: Sequence[pytest.Item]) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        for index, item in enumerate(items):
            self._running[:] = index.to_bytes(len(_NONE))
            _limit(2 + 4 * self._tests[item.nodeid].seconds)
            try:
                if not passes(item, items[index + 1] if index + 1 < len(items) else None):
                    return Outcome.KILLED
            except BaseException:  # noqa: BLE001 - a mutant may run out of memory in pytest
                return Outcome.KILLED
        return Outcome.SURVIVED


def _of_few_files(names: Sequence[str]) -> list[str]:
    """Return the names of the test files that have most of them, and of the first: a mutant that is imported collects each anew."""
    counts = collections.Counter(map(measured_tests.file_of, names))
    kept = {file for file, _ in counts.most_common(MOST_FILES)} | {*list(counts)[:1]}
    return [each for each in names if measured_tests.file_of(each) in kept]


def _limit(seconds: float) -> None:
    """End this process after *seconds* of processor time from now."""
    signal.signal(signal.SIGPROF, lambda *_: os._exit(Outcome.TIMED_OUT))
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _code(path: str, source: str) -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code: types.CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _nested(each)


def _place(code: types.CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno
