"""The sidecar is killed at each of its writes, and started again: every gang is whole or not there, nothing twice, nothing in vain."""

from __future__ import annotations

import contextlib
import time

import pytest

from tests.cluster.faults import WELL, Fault, faults
from tests.cluster.groups import LABEL, SCHEDULED, composite, condition_of, pod_group
from tests.cluster.kubelet import pod
from tests.cluster.sidecars import kubeconfig, sidecar
from tests.cluster.test_sidecar_place import bound, ours, places, racks, scheduled
from tests.cluster.waiting import until
from tests.sampling import WHOLE

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

MODE = ("--mode", "place,preempt,protect", "--lease", "none")
POINTS = range(1, 12)
QUIET_SECONDS = 5.0
"""Without a write for so long, there is no other."""


def moments(points: range, step: int = 0) -> pytest.MarkDecorator:
    """Run a test, with the arguments ``point`` and ``lose``, for each write at which a sidecar dies.

    `make soak` tries every write, both before it is made and before it is answered; `make test` every second one, in turn in one way,
    or with *step* one of so many.
    """
    ways = {False: "before it is made", True: "before it is answered"}
    chosen = [(point, lose) for point in points for lose in ways]
    if not WHOLE:
        chosen = chosen[::step] if step else [(point, lose) for point, lose in chosen if point % 2 == 1 and lose == (point % 4 == 1)]
    return pytest.mark.parametrize(("point", "lose"), [pytest.param(point, lose, id=f"{ways[lose]}-{point}") for point, lose in chosen])


def tree(api, namespace):
    """A composite of two gangs of three, each in a rack: six binds, three conditions."""
    api.create(composite("top", namespace, minimum=2))
    for leaf in "ab":
        api.create(pod_group(leaf, namespace, minimum=3, key=LABEL, parent="top"))
        api.create_all([ours(f"{leaf}{number}", namespace, leaf) for number in range(3)])


@contextlib.contextmanager
def killed_at(proxy, running, point, *, lose):
    """Kill the process at its write *point*, before the write is made or before it is answered.

    The number of writes varies by a few, since one event may carry several changes; if there are fewer, it is killed after the last.
    """

    def decide(requested):
        if requested.number < point:
            # Also where the process is dead by now: writes come by at the same time, and this one was sent before.
            return WELL
        if running.process.poll() is not None:
            return Fault(code=503)
        if not lose:
            running.kill()
            return Fault(code=503)
        return Fault(lose=True)

    begun = len(proxy.writes)
    proxy.decide = decide
    yield
    until(lambda: len(proxy.writes) > begun)
    until(lambda: len(proxy.writes) >= point or time.monotonic() - proxy.wrote > QUIET_SECONDS)
    if lose or len(proxy.writes) < point:
        running.kill()
    until(lambda: running.process.poll() is not None)


@contextlib.contextmanager
def doomed(plane, folder, mode, point, *, lose):
    """A sidecar that is killed at its write *point* after what is begun in here; yield its proxy."""
    with (
        faults(plane) as proxy,
        sidecar(plane, folder, *mode, through=proxy.kubeconfig(kubeconfig(plane)), fork=True) as running,
        killed_at(proxy, running, point, lose=lose),
    ):
        yield proxy


@moments(POINTS)
def test_a_tree_is_whole_whenever_the_sidecar_dies(plane, api, namespace, nodes, tmp_path, point, lose):
    nodes(*racks(4))
    with doomed(plane, tmp_path, MODE, point, lose=lose):
        tree(api, namespace)
    with sidecar(plane, tmp_path, *MODE, fork=True):
        result = bound(api, namespace, 6)
        for kind, name in (("PodGroup", "a"), ("PodGroup", "b"), ("CompositePodGroup", "top")):
            scheduled(api, kind, name, namespace)
    for leaf in "ab":
        assert 1 == len({result[f"{leaf}{number}"].partition("-")[0] for number in range(3)})


def test_a_gang_that_cannot_be_finished_is_undone(plane, api, namespace, nodes, tmp_path):
    """Killed after the first bind; meanwhile another takes the room: what is bound leaves, and the gang waits."""
    nodes(*racks(1, size=1))
    with doomed(plane, tmp_path, MODE, 2, lose=False):
        # The group comes last: otherwise the condition that pods are missing would be the first write on a busy machine.
        api.create_all([ours(f"p{number}", namespace, "train") for number in range(3)])
        api.create(pod_group("train", namespace, minimum=3, key=LABEL))
    # The one write that came before the kill is a bind; it is with the proxy still, perhaps.
    until(lambda: any(places(api, namespace).values()))
    (there,) = [name for name, where in places(api, namespace).items() if where]
    api.create(pod("thief", namespace, cpu=3))
    api.bind("thief", namespace, "r0-0")
    with sidecar(plane, tmp_path, *MODE, fork=True):
        api.wait("Pod", there, namespace, until=lambda result: result is None or "deletionTimestamp" in result["metadata"])
        staying = [each for each in api.objects("Pod", namespace) if "deletionTimestamp" not in each["metadata"]]
        assert ["thief"] == [each["metadata"]["name"] for each in staying if each["spec"].get("nodeName")]


def test_a_scheduled_gang_that_lost_a_pod_is_not_undone(plane, api, namespace, nodes, tmp_path):
    nodes(*racks(1, size=1))
    with sidecar(plane, tmp_path, *MODE, fork=True):
        api.create(pod_group("train", namespace, minimum=3))
        api.create_all([ours(f"p{number}", namespace, "train") for number in range(3)])
        bound(api, namespace, 3)
        scheduled(api, "PodGroup", "train", namespace)
    api.delete("Pod", "p0", namespace, gracePeriodSeconds=0)
    api.create(pod("thief", namespace, cpu=2))
    api.bind("thief", namespace, "r0-0")
    with sidecar(plane, tmp_path, *MODE, fork=True) as running:
        api.create(ours("p0", namespace, "train", cpu=2))
        until(lambda: running.explain(namespace, "train").get("status") not in (None, "Success"))

        assert {"p0": "", "p1": "r0-0", "p2": "r0-0", "thief": "r0-0"} == places(api, namespace)


def test_a_pod_that_cannot_be_bound_does_not_leave_a_partial_gang(plane, api, namespace, nodes, tmp_path):
    """The server refuses one bind of three for good: the gang is finished or gone, never in between."""
    nodes(*racks(1))
    with faults(plane) as proxy:
        refused = []

        def decide(requests):
            if requests.path.endswith("/p1/binding") and len(refused) < 1:
                refused.append(requests)
                return Fault(code=400)
            return WELL

        proxy.decide = decide
        with sidecar(plane, tmp_path, *MODE, through=proxy.kubeconfig(kubeconfig(plane)), fork=True):
            api.create(pod_group("train", namespace, minimum=3, key=LABEL))
            api.create_all([ours(f"p{number}", namespace, "train") for number in range(3)])
            bound(api, namespace, 3)
            result = api.wait("PodGroup", "train", namespace, until=lambda result: condition_of(result, SCHEDULED["PodGroup"]))
    assert refused
    assert condition_of(result, SCHEDULED["PodGroup"])
