"""Environment of all tests: independent of the caller's signals, terminal, locale, time zone, umask and home."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.sampling import WHOLE, sampled

# A test that takes long on a busy machine is not wrong for that.  Examples are the same in each run of `make test`, so that a change
# is never refused for what is not its fault, and others in each `make soak`.
hypothesis.settings.register_profile(
    "muster",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    max_examples=sampled(100),
    derandomize=not WHOLE,
)
hypothesis.settings.load_profile("muster")

TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "PAGER")
LANGUAGE = ("LANG", "LANGUAGE", "LC_CTYPE", "LC_MESSAGES", "LC_TIME", "LC_NUMERIC", "LC_COLLATE", "PYTHONIOENCODING")
HOME_PREFIX = "muster-tests-home-"
OBJECTS_PER_COLLECTION = 50_000
"""Seventy times as many as by default: a test is over after one or two collections."""
SHOWN_SECONDS = 0.005
"""Shorter durations are not listed by ``--durations``."""
CLUSTER, INSTALLATION, RELEASE = "tests/cluster/", "tests/installation/", "tests/release/"
LONG = (
    RELEASE,
    *(
        f"{CLUSTER}test_{name}.py"
        for name in (
            *("webhooks_down", "sidecar_bad_days", "sidecar_preempt_bad", "soak", "bench", "snapshot", "demo_cluster", "control_plane"),
            *("doctor", "doctor_certificates", "doctor_foreign", "install_by_docs", "managed_certificate", "own_certificate_by_docs"),
            *("sidecar_both_groups", "sidecar_takeover", "upgrade_by_docs", "upgrade_certificate"),
        )
    ),
)
"""What takes longest: another worker that starts one of them last keeps the rest waiting."""
PARSED = ("tests/test_architecture.py", "tests/test_project.py", f"{INSTALLATION}test_extras.py")
"""Files that need the syntax trees of all modules, which a process parses once."""
BACKWARDS = 4
"""Of so many workers one takes its tests from the end of the queue."""
TOGETHER = (
    INSTALLATION,
    RELEASE,
    *(
        f"tests/{name}"
        for name in (
            "docs/test_site.py",
            "examples/test_kopf_trainer.py",
            "muster/test_demo.py",
            "muster/test_lint_jobs.py",
            "muster/test_page.py",
            "muster/test_page_in_browser.py",
            "muster/test_page_with_axe.py",
            "muster/test_page_with_keys.py",
            "muster/test_standard_output.py",
            "scheduler_core/cp_sat/",
            "validators/test_schema_reference.py",
            "webhooks/test_server_clients.py",
            "webhooks/test_server_requests.py",
        )
    ),
)
"""Files and folders whose tests share something that takes long to make."""


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment once for each process, before a test is imported."""
    # nohup and many CI systems start programs with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    for name in (*TERMINAL, *LANGUAGE):
        os.environ.pop(name, None)
    os.environ |= {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
    # Without it every program that a test starts would compile all its modules.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    time.tzset()
    _leave_home(config)
    if hasattr(config, "workerinput") and config.option.verbose <= 0 and not config.option.xmlpath:
        _send_less(config.pluginmanager)


def _leave_home(config: pytest.Config) -> None:
    """Set an empty home directory; build caches stay where they are."""
    home = Path(os.environ.get("HOME") or Path.home())
    os.environ.setdefault("XDG_CACHE_HOME", str(home / ".cache"))
    os.environ.setdefault("GOPATH", str(home / "go"))
    empty = tempfile.mkdtemp(prefix=HOME_PREFIX)
    os.environ["HOME"] = empty
    config.add_cleanup(lambda: shutil.rmtree(empty, ignore_errors=True))


def _send_less(plugins: pytest.PytestPluginManager) -> None:
    """Let this worker not send what nobody reads: that a test begins and ends, and that its fixtures were made or left without a word.

    That is four messages of six for most tests, and half of the CPU time of pytest-xdist.
    """
    (worker,) = (each for each in plugins.get_plugins() if type(each).__name__ == "WorkerInteractor")
    send = worker.pytest_runtest_logreport

    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or report.duration > SHOWN_SECONDS or report.sections or report.user_properties:
            send(report)

    plugins.unregister(worker)
    worker.pytest_runtest_logstart = worker.pytest_runtest_logfinish = None
    worker.pytest_runtest_logreport = pytest_runtest_logreport
    plugins.register(worker)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that selects tests on a control plane; `make test` uses it."""
    parser.addoption("--live", choices=("all", "first"), default="all", help="run all tests on a control plane, or the first of most files")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first and other long units last: workers begin at both ends."""
    items.sort(key=lambda item: _position(item.nodeid))


def _position(nodeid: str) -> int:
    if nodeid.startswith(LONG):
        return -1
    if nodeid.startswith(PARSED):
        return 1
    return 2 if nodeid.startswith(INSTALLATION) else int(nodeid.startswith(TOGETHER))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Take the collected tests out of garbage collection: they live as long as the process, and there are many.

    What little garbage there is among them stays: to find it takes a process longer than all collections after it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])
        gc.enable()


class ByControlPlane(LoadScopeScheduling):
    """xdist scheduler: tests on a control plane are distributed by file, most others one by one.

    A worker keeps a control plane for all its files, and each file starts its other processes once.  The same holds for other files
    and folders with something that takes long to make.  (The marker ``xdist_group`` would do, but pytest-xdist 3.8 does not see it under
    pytest 9.2.)  The files on a control plane are first in the queue, because they wait for half of their time.  One worker in four
    takes from its end: while the others wait, CPU-bound tests run, and enough of them are left for the end, when no worker waits.

    With a unit for nearly each test, work that pytest-xdist does for all units of a worker at each result would be quadratic.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(CLUSTER):
            return nodeid.partition("::")[0]
        if nodeid.startswith(PARSED):
            return PARSED[0]
        return next(filter(nodeid.startswith, TOGETHER), nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if int(node.gateway.id.removeprefix("gw")) % BACKWARDS == 1:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work[node][scope] = unit
        node.send_runtest_some([self.places[nodeid] for nodeid, completed in unit.items() if not completed])

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """Return the index of each test, which all workers have collected in the same order."""
        return {nodeid: index for index, nodeid in enumerate(self.collection or ())}

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Mark a test as completed, and forget its unit after the last one."""
        nodeid = self.registered_collections[node][item_index]
        units, scope = self.assigned_work[node], self._split_scope(nodeid)
        units[scope][nodeid] = True
        if all(units[scope].values()):
            del units[scope]
        self._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Use this scheduler if tests are distributed by group, as `make test` does."""
    if config.getvalue("dist") != "loadgroup":
        return None
    # Otherwise the files with most tests come first, which are not those that take longest.
    config.option.loadscopereorder = False
    return ByControlPlane(config, log)
