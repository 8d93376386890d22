"""Control planes for the tests of this folder: one that they share, and a namespace for each test.

`make test` gives each file of the folder to one process, which has its own control planes.  Without the programs of a control
plane the tests are skipped; with MUSTER_REQUIRE_CLUSTER set they fail instead.

The mark ``kubernetes`` names the versions of Kubernetes that a test needs: ``kubernetes(since="1.30")`` lets it run where the selected
version is 1.30 or newer, by default ``SINCE``; ``kubernetes("1.30", "1.37")`` runs it on each of these versions that was built.
``custom_resources("1.30", "1.37")`` runs it also on each of these versions without the built-in kinds, where groups are custom resources:
``plane.api`` writes them in that form.  Tests that use the fixture ``strategy`` run with each strategy of the sidecar.

`make soak` runs all of that; `make test LIVE=all`, as the continuous integration does, each test once: about half of the tests of a file
with the built-in kinds, the others with custom resources on one of the versions that were built.  A file whose tests share what takes long to
start has ``sampled="custom"`` or ``sampled="built-in"``: these run in this API group only.  `make test` runs of most files the first test.
"""

from __future__ import annotations

import contextlib
import functools
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import pytest

from scheduler_core.model.options import STRATEGIES
from tests.cluster.api import NOT_FOUND, Api, ApiError
from tests.cluster.control_plane import LIVE, ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.kubelet import Kubelet
from tests.cluster.options import Options
from tests.cluster.programs import REQUIRED, MissingError, Programs, find, of
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until
from tests.sampling import WHOLE

if TYPE_CHECKING:
    from tests.cluster.doctor_installation import Examined

T = TypeVar("T")
CLUSTER = "tests/cluster/"
NO_PLANE = "no control plane"
SINCE = "1.37"
"""First version of Kubernetes for tests that name none: it serves all three kinds."""
TEST_SECONDS = 300
"""Timeout of a test: several waits on a slow machine; the error of a single wait says more than this timeout."""
TABLES = ("again", "admission_table", "built_in_kinds", "claim_validation", "definitions", "pod_admission", "programs")
"""Files of many cases that take little time."""
MINUTES = (
    *("bench", "build_crash", "build_kueue", "canaries", "certificate_rotation", "client_certificate_by_docs", "move_by_docs"),
    *("own_certificate_by_docs", "readme", "rollouts", "soak", "upgrade_by_docs", "upgrade_certificate", "upgrade_kubernetes"),
)
"""Files of which each test takes about a minute on two cores."""
EMPTIED = ("Pod", "PodGroup", "Workload", "CompositePodGroup")
"""Kinds whose objects are deleted after each test."""
# Otherwise a third of the start of an API server is garbage collection.  Programs of a test live for seconds, in less memory than this.
os.environ.setdefault("GOGC", "off")
os.environ.setdefault("GOMEMLIMIT", "800MiB")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give the tests of this folder a longer timeout, and leave out what ``--live first`` does not run."""
    if config.getoption("live") == "first" and (left_out := not_first(items)):
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))
    for item in items:
        if item.nodeid.startswith(CLUSTER):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


def not_first(items: Iterable[pytest.Item]) -> dict[pytest.Item, None]:
    """Return the tests of this folder that are neither the first of their file nor cases of a table; of files of minutes, all."""
    result, seen = {}, set()
    for item in items:
        name = item.nodeid.partition("::")[0].removeprefix(f"{CLUSTER}test_").removesuffix(".py")
        if not item.nodeid.startswith(CLUSTER) or name in TABLES:
            continue
        if name in seen or name in MINUTES:
            result[item] = None
        seen.add(name)
    return result


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on each version that its mark names, and with each strategy if it uses one."""
    used = metafunc.fixturenames
    strategies = STRATEGIES if "strategy" in used else ("",)
    mark = metafunc.definition.get_closest_marker("kubernetes")
    if mark and mark.args and "programs" in used:
        metafunc.parametrize("programs", mark.args, indirect=True)
    mark = metafunc.definition.get_closest_marker("custom_resources")
    if mark and mark.args and "programs" in used:
        runs = _runs(_built(mark.args), strategies, metafunc.definition.nodeid, mark.kwargs.get("sampled", ""))
        names = [" ".join(filter(None, (f"custom {version}" if version else "built-in", each))) for _, version, each in runs]
        arguments = ("custom", "programs", *(("strategy",) if any(strategies) else ()))
        metafunc.parametrize(arguments, [each[: len(arguments)] for each in runs], indirect=True, ids=names, scope="session")
    elif "strategy" in used:
        metafunc.parametrize("strategy", strategies, indirect=True, scope="session")


@functools.cache
def _built(versions: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of *versions* that were built; all, so that tests are skipped or fail, if none was, and in `make soak`."""
    result = []
    for each in versions:
        with contextlib.suppress(MissingError):
            of(each)
            result.append(each)
    return versions if WHOLE or not result else tuple(result)


def _runs(versions: Sequence[str], strategies: Sequence[str], nodeid: str, sampled: str) -> list[tuple[bool, str, str]]:
    """Return whether groups are custom resources, the version and the strategy of each run of a test.

    There are all in `make soak`, otherwise one, in the API group *sampled*, ``custom`` or ``built-in``, if it is given.  The name of the test
    selects it, so that it is the same each time.
    """
    planes = [(False, ""), *((True, each) for each in versions)]
    if WHOLE:
        return [(*plane, strategy) for plane in planes for strategy in strategies]
    number, custom = divmod(zlib.crc32(nodeid.encode()), 2)
    number, index = divmod(number, len(versions))
    plane = planes[1 + index] if (custom and sampled != "built-in") or sampled == "custom" else planes[0]
    return [(*plane, strategies[number % len(strategies)])]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a newer version of Kubernetes than the selected one."""
    mark = item.get_closest_marker("kubernetes")
    if "programs" not in getattr(item, "fixturenames", ()) or (mark and mark.args) or _is_custom(item):
        return
    since = mark.kwargs["since"] if mark else SINCE
    if (minor := available(find).minor()) < int(since.partition(".")[2]):
        pytest.skip(f"Kubernetes {since} or newer is needed, and the control plane is 1.{minor}")


def _is_custom(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and hasattr(item, "callspec") and bool(item.callspec.params.get("custom"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the last log lines of the control planes to the report of a failed test; tests without one share a line."""
    report = yield
    if not item.nodeid.startswith(CLUSTER):
        return report
    if report.failed:
        for plane in LIVE:
            report.sections.extend((f"{name} said", messages) for name, messages in plane.logs())
    elif report.skipped and isinstance(report.longrepr, tuple) and NO_PLANE in report.longrepr[2]:
        report.longrepr = (__file__, 1, report.longrepr[2])
    return report


def available(find_program: Callable[[], T]) -> T:
    """Return the result of *find_program*; where it is missing skip the test, or let it fail if control planes are required."""
    try:
        return find_program()
    except MissingError as error:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set: {error}", pytrace=False)
        pytest.skip(f"{NO_PLANE}: {error}")


def built(version: str) -> Programs:
    """Return the programs of a version of Kubernetes, as ``1.30``, whichever is selected; skip the test where they were not built."""
    try:
        return of(version)
    except MissingError as error:
        pytest.skip(f"{NO_PLANE}: {error}")


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> Programs:
    """Return the programs of a control plane, of the version that the mark names or the selected one; skip the test without them."""
    version = getattr(request, "param", "")
    return built(version) if version else available(find)


@pytest.fixture(scope="session")
def custom(request: pytest.FixtureRequest) -> bool:
    """Return whether the groups of the control plane are custom resources."""
    return bool(getattr(request, "param", False))


@pytest.fixture(scope="session")
def strategy(request: pytest.FixtureRequest) -> str:
    """Return the strategy of the sidecar, for its option ``--strategy``."""
    return str(request.param)


@pytest.fixture(scope="package")
def selected_plane() -> Iterator[Callable[[Programs], ControlPlane]]:
    """Return a function that starts the control plane of the selected version once; it stays while tests run on another version."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda programs: stack.enter_context(ControlPlane(Options(), programs)))


@pytest.fixture(scope="package")
def plane(selected_plane: Callable[[Programs], ControlPlane], programs: Programs, *, custom: bool) -> Iterator[ControlPlane]:
    """Return etcd and kube-apiserver with all gates that the version has, or a ``custom_plane``; no scheduler, no controllers."""
    if custom:
        with custom_plane(programs) as started:
            yield started
        return
    selected = None
    with contextlib.suppress(MissingError):
        selected = find()
    if programs == selected:
        yield selected_plane(programs)
        return
    with ControlPlane(Options(), programs) as started:
        yield started


@pytest.fixture
def api(plane: ControlPlane) -> Api:
    """Return a client of ``plane`` as administrator."""
    return plane.api


@pytest.fixture
def namespace(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the name of a new namespace on ``plane``; its objects are deleted after the test."""
    with new_namespace(plane.api) as name:
        yield name


@contextlib.contextmanager
def new_namespace(api: Api, labels: dict[str, str] | None = None) -> Iterator[str]:
    """Create a namespace for one test."""
    created = api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-", "labels": labels or {}}})
    name: str = created["metadata"]["name"]
    try:
        yield name
    finally:
        clean(api, EMPTIED, name)
        api.delete("Namespace", name)


@pytest.fixture
def nodes(plane: ControlPlane) -> Iterator[Callable[..., list[Manifest]]]:
    """Return a function that creates nodes on ``plane``, which are deleted after the test."""
    with contextlib.ExitStack() as leaving:

        def create(*manifests: Manifest) -> list[Manifest]:
            for each in manifests:
                leaving.callback(plane.api.delete, "Node", each["metadata"]["name"])
            return plane.api.create_all(manifests)

        yield create


@pytest.fixture
def kubelet(plane: ControlPlane) -> Iterator[Kubelet]:
    """Run the kubelets of all nodes of ``plane``."""
    with Kubelet(plane.api) as playing:
        yield playing


@pytest.fixture(scope="module")
def examined_plane(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examined]:
    """Return Muster installed on ``plane``, for ``muster doctor``."""
    from tests.cluster.doctor_installation import examination

    with examination(plane, tmp_path_factory.mktemp("installed")) as result:
        yield result


@pytest.fixture
def examined(examined_plane: Examined) -> Iterator[Examined]:
    """Return ``examined_plane``; its objects are put back after the test."""
    yield examined_plane
    examined_plane.restore()


def clean(api: Api, kinds: Iterable[str], namespace: str = "") -> None:
    """Delete all objects of *kinds*, pods at once, and wait for that; finalizers are removed."""
    for kind in kinds:
        until(functools.partial(_gone, api, kind, namespace), told=functools.partial("{} in {} cannot be deleted".format, kind, namespace))


def _gone(api: Api, kind: str, namespace: str) -> bool:
    """Delete all objects; return true if there was none.  Call again, since other clients write too."""
    try:
        api.delete_all(kind, namespace, gracePeriodSeconds=0)
    except ApiError as error:
        if error.code == NOT_FOUND:
            return True  # The server does not have the kind.
        raise
    there = api.objects(kind, namespace)
    for each in there:
        if each["metadata"].get("finalizers"):
            with contextlib.suppress(ApiError):
                api.patch(kind, each["metadata"]["name"], namespace, body={"metadata": {"finalizers": None}})
    return not there
