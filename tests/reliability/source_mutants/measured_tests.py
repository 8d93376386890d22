"""Tests of a line: which tests execute it, as coverage.py measures, and how long they take.

Each test file is measured once in a process of its own, forked after all files were collected, so that caches are filled anew.  The result
is kept in a file named by digests of the sources and of the test file: after a change of a test only that file is measured again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from coverage import Coverage
from coverage.numbits import num_in_numbits, nums_to_numbits

from tests.conftest import CLUSTER, INSTALLATION, RELEASE, TOGETHER

ROOT = Path(__file__).parents[3]
AREAS = {
    "rules": ("validators/rules",),
    "plugins": ("scheduler_core/plugins",),
    "preemption": ("scheduler_core/preemption",),
    "feasibility": ("scheduler_core/placement/feasibility.py", "scheduler_core/exact/certificate"),
    "certs": ("certs",),
}
"""Files and folders that are mutated, by area."""
CACHE = ROOT / ".cache" / "mutants"
# prometheus_client keeps the metrics of a module, and refuses those of the module that is imported anew.
_PACKAGES = ("apiserver", "certs", "expansion", "kubeapi", "muster", "prometheus_client", "scheduler_core", "tests", "validators",
             "webhooks", "workloadbuilder")  # fmt: skip
_LEFT_OUT = (CLUSTER, INSTALLATION, RELEASE, "tests/reliability/", "tests/docs/", "tests/deploy/", "tests/editors/", "tests/examples/",
             "tests/recording/", "tests/test_", *TOGETHER)  # fmt: skip
"""Tests that take long, or start programs, in which no code is changed."""
_STARTS = re.compile(r"from tests import forked|tests\.forked |tests\.muster\.editor |tests\.webhooks\.running import .*\brunning\b")
"""In test files that start programs, too."""
OPTIONS = ("-q", "--capture=sys", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "no:xdist")
FAILED = 70
"""Exit status of a forked process whose work raised an error."""
MOST = 400
SECONDS = 20.0
"""Bounds of the tests of a mutant."""
MEASURED, LONGEST = 10.0, 120.0
"""Seconds of processor time after which no more tests of a file are measured, and seconds in all."""


class Test(msgspec.Struct, array_like=True):
    """A test that passed: its seconds, and the executed lines by file, as a set of bits."""

    seconds: float
    lines: dict[str, bytes]


def mutated_files(area: str) -> list[str]:
    """Return the files of an area; those that only describe a package have nothing to change."""
    found = [path for each in AREAS[area] for path in ([ROOT / each] if each.endswith(".py") else sorted((ROOT / each).rglob("*.py")))]
    return [str(each.relative_to(ROOT)) for each in found if each.name != "__init__.py"]


def run_forked(work: Callable[[], int], seconds: float) -> int | None:
    """Return the exit status of a forked process that does *work*, without output; None if it takes longer and is killed."""
    if not (child := os.fork()):
        status, errors = FAILED, os.dup(2)
        try:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            status = work()
        except BaseException:  # noqa: BLE001 - nothing above would see it
            os.write(errors, traceback.format_exc().encode())
        finally:
            os._exit(status)
    end, pause = time.monotonic() + seconds, 0.001
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class _Collected:
    """Plugin that gives the collected tests to a function in place of running them."""

    def __init__(self, use: Callable[[list[pytest.Item]], None]) -> None:
        self._use = use

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._use(session.items)
        return True


def import_anew() -> None:
    """Forget the modules of this repository, so that this process imports them again, and where a test runner sends their output."""
    os.chdir(ROOT)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    for each in [each for each in sys.modules if each.partition(".")[0] in _PACKAGES]:
        del sys.modules[each]
    sys.path.insert(0, str(ROOT))


def collect(use: Callable[[list[pytest.Item]], None], files: Sequence[str]) -> int:
    """Call *use* with the tests of files; return the exit status of pytest."""
    return int(pytest.main([*OPTIONS, *files], plugins=[_Collected(use)]))


def passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run a test; return whether it passes.  Fixtures that *following* shares stay."""
    before = item.session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed == before


def measured(files: Sequence[str] = ()) -> tuple[dict[str, Test], list[str]]:
    """Return the tests of files by name, by default of all that can see a mutant, and the files whose measurement failed.

    Files that were not measured yet are measured first.
    """
    folder = CACHE / _digest()
    for each in CACHE.glob("*"):
        if each != folder:
            shutil.rmtree(each)
    folder.mkdir(parents=True, exist_ok=True)
    kept = {each: folder / _kept_name(each) for each in files or _test_files()}
    if missing := [file for file, at in kept.items() if not at.exists()]:
        run_forked(lambda: _measure(missing, kept), len(missing) * LONGEST)
    decoder = msgspec.msgpack.Decoder(dict[str, Test] | None)
    found = {file: decoder.decode(at.read_bytes()) if at.exists() else None for file, at in kept.items()}
    tests = {name: test for of_file in found.values() for name, test in (of_file or {}).items()}
    return tests, [file for file, of_file in found.items() if of_file is None]


def _kept_name(file: str) -> str:
    return f"{hashlib.sha256((file + (ROOT / file).read_text(encoding='utf-8')).encode()).hexdigest()[:24]}.msgpack"


def choose(tests: Mapping[str, Test], file: str, lines: tuple[int, int], body: tuple[int, int] | None) -> list[str]:
    """Return the tests for a change of *lines* in the *body* of a function, None meaning those of a module, in the order in which they run.

    Tests that execute them are first.  Others of the same test files see the change too if a fixture or a cache keeps a result, and those
    named after the file are its own.  Of many tests a part is chosen, so that each way through the body is among them.
    """
    of_file = [name for name, test in tests.items() if file in test.lines]
    executing = of_file if body is None else [each for each in of_file if _executed(tests[each].lines[file], lines)]
    own_name = re.compile(rf"/test_{Path(file).stem}\.py::|\[{Path(file).stem.replace('_', '-')}[-\]]")
    named = [each for each in tests if own_name.search(each)]
    package = f"tests/{'/'.join(Path(file).parts[:2])}/"
    near = {file_of(each) for each in executing}
    is_executing = set(executing)
    chosen: dict[str, None] = {}
    seconds = 0.0
    for group, most in (
        ([each for each in named if each in is_executing], MOST // 2),
        (named, MOST // 4),
        ([each for each in executing if each.startswith(package)], MOST // 2),
        (executing, MOST // 2),
        ([each for each in tests if file_of(each) in near], MOST // 4),
        (of_file, MOST // 8),
    ):
        spread = _spread({each: _way(tests[each].lines.get(file, b""), body) or file_of(each) for each in group})
        # Many quick tests rather than few slow ones.
        ordered = sorted(spread, key=lambda name: tests[name].seconds > SECONDS / MOST * 10)
        for name in [each for each in ordered if each not in chosen][:most]:
            if not chosen or seconds + tests[name].seconds <= SECONDS:
                chosen[name] = None
                seconds += tests[name].seconds
    of_test_file: dict[str, float] = {}
    for name in chosen:
        of_test_file[file_of(name)] = of_test_file.get(file_of(name), 0.0) + tests[name].seconds
    places = {name: place for place, name in enumerate(tests)}
    own = set(named)
    return sorted(chosen, key=lambda name: (name not in own, of_test_file[file_of(name)], file_of(name), places[name]))


def _way(lines: bytes, body: tuple[int, int] | None) -> object:
    return _executed(lines, body) if body else lines


def _executed(lines: bytes, among: tuple[int, int]) -> tuple[int, ...]:
    return tuple(line for line in range(among[0], among[1] + 1) if num_in_numbits(line, lines))


def _spread(ways: Mapping[str, object]) -> list[str]:
    """Return the names in an order of which each beginning has as many of each way as there are, spread over all of that way."""
    by_way: dict[object, list[str]] = {}
    for name, way in ways.items():
        by_way.setdefault(way, []).append(name)
    ranked = [
        (rank, number, name)
        for number, group in enumerate(by_way.values())
        # Multiples of the golden ratio leave no large gap, however many there are.
        for rank, name in enumerate(sorted(group, key={each: place * 0.618034 % 1 for place, each in enumerate(group)}.__getitem__))
    ]
    return [name for _, _, name in sorted(ranked)]


def _digest() -> str:
    """Return a digest of all modules that are not test files."""
    found = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if not name.startswith((CLUSTER, "tests/reliability/")) and not path.name.startswith("test_"):
                found.update(name.encode() + path.read_bytes())
    return found.hexdigest()[:16]


def file_of(name: str) -> str:
    """Return the file of a test."""
    return name.partition("::")[0]


def _test_files() -> list[str]:
    found = (str(each.relative_to(ROOT)) for each in sorted((ROOT / "tests").rglob("test_*.py")))
    chosen = (each for each in found if not each.startswith(_LEFT_OUT))
    return [each for each in chosen if not _STARTS.search((ROOT / each).read_text(encoding="utf-8"))]


def _measure(files: Sequence[str], kept: Mapping[str, Path]) -> int:
    import_anew()
    by_file: dict[str, list[pytest.Item]] = {each: [] for each in files}

    def use(items: list[pytest.Item]) -> None:
        for item in items:
            by_file[file_of(item.nodeid)].append(item)
        for file, tests in by_file.items():
            if run_forked(functools.partial(_measure_file, tests, kept[file]), LONGEST) != 0:
                kept[file].write_bytes(msgspec.msgpack.encode(None))

    return collect(use, files)


def _measure_file(items: Sequence[pytest.Item], at: Path) -> int:
    include = [f"{ROOT / each}" if each.endswith(".py") else f"{ROOT / each}/*" for area in AREAS.values() for each in area]
    coverage = Coverage(data_file=None, include=include, config_file=False, messages=False)
    coverage.set_option("run:disable_warnings", ["no-data-collected"])
    coverage.start()
    tests: dict[str, Test] = {}
    by_name = {each.nodeid: each for each in items}
    for name, following in itertools.pairwise([*_spread(dict.fromkeys(by_name)), None]):
        if name is None or time.process_time() > MEASURED:
            break
        coverage.switch_context(name)
        began = time.perf_counter()
        if passes(by_name[name], by_name.get(following or "")):
            tests[name] = Test(time.perf_counter() - began, {})
    coverage.stop()
    data = coverage.get_data()
    for path in data.measured_files():
        lines: dict[str, list[int]] = {}
        for line, names in data.contexts_by_lineno(path).items():
            for name in names:
                lines.setdefault(name, []).append(line)
        for name in lines.keys() & tests.keys():
            tests[name].lines[str(Path(path).relative_to(ROOT))] = nums_to_numbits(lines[name])
    at.write_bytes(msgspec.msgpack.encode(tests))
    return 0
