"""A control plane for the tests of this folder: one for each set of options, a namespace of its own for each test.

`make test` gives each file of the folder to one of its processes, each of which has control planes of its own.  Where there is
none to be had the tests are skipped, all for one reason; with MUSTER_REQUIRE_CLUSTER set they fail instead.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import pytest

from tests.cluster.api import Api, ApiError
from tests.cluster.control_plane import LIVE, ControlPlane
from tests.cluster.kubelet import Kubelet
from tests.cluster.options import Options
from tests.cluster.programs import REQUIRED, MissingError, Programs, find
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until

HERE = Path(__file__).parent
NO_PLANE = "no control plane"
TEST_SECONDS = 300
"""What a test may take in all: several waits on a machine that is slow, where a wait that is in vain says more than this."""
EMPTIED = ("Pod", "PodGroup", "Workload", "CompositePodGroup")
"""Kinds of which nothing stays after a test."""
# At Go's default of 100 a quarter of the start of an API server is garbage collection.
os.environ.setdefault("GOGC", "400")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of this folder may take longer than others."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What the control planes told last goes into the report of a test that failed; tests without one share a line."""
    report = yield
    if HERE not in item.path.parents:
        return report
    if report.failed:
        for plane in LIVE:
            report.sections.extend((f"{name} said", told) for name, told in plane.logs())
    elif report.skipped and isinstance(report.longrepr, tuple) and NO_PLANE in report.longrepr[2]:
        report.longrepr = (__file__, 1, report.longrepr[2])
    return report


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The programs of a control plane; without them, no test of this folder."""
    try:
        return find()
    except MissingError as error:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set: {error}", pytrace=False)
        pytest.skip(f"{NO_PLANE}: {error}")


@pytest.fixture(scope="session")
def planes(programs: Programs) -> Iterator[Callable[[Options], ControlPlane]]:
    """A function that returns the control plane with these options, started when it is first asked for."""
    started: list[tuple[Options, ControlPlane]] = []
    with contextlib.ExitStack() as stack:

        def plane_with(options: Options) -> ControlPlane:
            for have, found in started:
                if have == options:
                    return found
            found = stack.enter_context(ControlPlane(options, programs))
            started.append((options, found))
            return found

        yield plane_with


@pytest.fixture(scope="session")
def plane(planes: Callable[[Options], ControlPlane]) -> ControlPlane:
    """etcd and kube-apiserver with all gates on; no scheduler, no controllers."""
    return planes(Options())


@pytest.fixture
def api(plane: ControlPlane) -> Api:
    """A client of ``plane`` as administrator."""
    return plane.api


@pytest.fixture
def namespace(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a new namespace on ``plane``; what the test leaves in it is removed."""
    with new_namespace(plane.api) as name:
        yield name


@contextlib.contextmanager
def new_namespace(api: Api, labels: dict[str, str] | None = None) -> Iterator[str]:
    """A namespace for one test."""
    made = api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-", "labels": labels or {}}})
    name: str = made["metadata"]["name"]
    try:
        yield name
    finally:
        clean(api, EMPTIED, name)
        api.delete("Namespace", name)


@pytest.fixture
def nodes(plane: ControlPlane) -> Iterator[Callable[..., list[Manifest]]]:
    """A function that creates nodes on ``plane``, which are gone after the test."""
    with contextlib.ExitStack() as leaving:

        def create(*manifests: Manifest) -> list[Manifest]:
            for each in manifests:
                leaving.callback(plane.api.delete, "Node", each["metadata"]["name"])
            return plane.api.create_all(manifests)

        yield create


@pytest.fixture
def kubelet(plane: ControlPlane) -> Iterator[Kubelet]:
    """The kubelets of all nodes of ``plane``."""
    with Kubelet(plane.api) as playing:
        yield playing


def clean(api: Api, kinds: Iterable[str], namespace: str = "") -> None:
    """Delete all objects of *kinds*, pods at once, and wait until they are gone; finalizers are taken off."""
    for kind in kinds:
        until(functools.partial(_gone, api, kind, namespace), told=functools.partial("{} in {} cannot be deleted".format, kind, namespace))


def _gone(api: Api, kind: str, namespace: str) -> bool:
    """Whether there is none; what there is, is deleted.  Whoever else writes may be faster, or make another: ask again, then."""
    api.delete_all(kind, namespace, gracePeriodSeconds=0)
    there = api.objects(kind, namespace)
    for each in there:
        if each["metadata"].get("finalizers"):
            with contextlib.suppress(ApiError):
                api.patch(kind, each["metadata"]["name"], namespace, body={"metadata": {"finalizers": None}})
    return not there
