"""Failures of the API server, its watches, the clock or a second replica: gangs are whole, pods are bound once."""

from __future__ import annotations

import random

import pytest

from tests.cluster.faults import WELL, Fault, faults
from tests.cluster.groups import LABEL, condition_of, pod_group
from tests.cluster.kubelet import node
from tests.cluster.sidecars import NAMESPACE, kubeconfig, sidecar
from tests.cluster.test_sidecar_place import bound, ours, places, racks, scheduled
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

MODE = ("--mode", "place,validate,preempt,protect")
ALONE = (*MODE, "--lease", "none")


def gang(api, namespace, name, count=3):
    api.create(pod_group(name, namespace, minimum=count, key=LABEL))
    api.create_all([ours(f"{name}-{number}", namespace, name, cpu="100m") for number in range(count)])


def binds(running):
    """Return the number of binds that a sidecar has counted; a bind is visible a moment before it is counted."""
    return running.metric('muster_writes_total{kind="Bind",outcome="done"}')


def whole(found, name, count=3):
    return 1 == len({found[f"{name}-{number}"].partition("-")[0] for number in range(count)})


@pytest.fixture
def through(plane, tmp_path):
    """A proxy, and a function that starts a sidecar behind it."""
    with faults(plane) as proxy:
        config = proxy.kubeconfig(kubeconfig(plane))
        yield proxy, lambda *options: sidecar(plane, tmp_path, *(options or ALONE), through=config, fork=True)


@pytest.mark.parametrize("code", [409, 429, 500])
def test_errors_at_random_only_delay(api, namespace, nodes, through, code):
    proxy, start = through
    nodes(*racks(4))
    chance = random.Random(code)
    proxy.decide = lambda requested: Fault(code=code, retry_after=0) if chance.random() < 0.2 else WELL
    with start():
        for number in range(5):
            gang(api, namespace, f"g{number}")
        result = bound(api, namespace, 15)
        for number in range(5):
            scheduled(api, "PodGroup", f"g{number}", namespace)

    assert all(whole(result, f"g{number}") for number in range(5))


def test_a_slow_server_only_delays(api, namespace, nodes, through):
    proxy, start = through
    nodes(*racks(2))
    proxy.decide = lambda requested: Fault(delay=0.5) if not requested.watches else WELL
    with start():
        gang(api, namespace, "g")
        assert whole(bound(api, namespace, 3), "g")
        scheduled(api, "PodGroup", "g", namespace)


def test_answers_that_are_lost_bind_nothing_twice(api, namespace, nodes, through):
    proxy, start = through
    nodes(*racks(2))
    chance = random.Random(3)
    proxy.decide = lambda requests: Fault(lose=True) if requests.changes and chance.random() < 0.5 else WELL
    with start():
        for number in range(4):
            gang(api, namespace, f"g{number}")
        result = bound(api, namespace, 12)
        for number in range(4):
            scheduled(api, "PodGroup", f"g{number}", namespace)

    assert all(whole(result, f"g{number}") for number in range(4))


def test_a_server_that_is_restarted_is_met_again(plane, api, namespace, nodes, tmp_path):
    nodes(*racks(2))
    with sidecar(plane, tmp_path, *ALONE, fork=True) as running:
        gang(api, namespace, "before")
        bound(api, namespace, 3)
        scheduled(api, "PodGroup", "before", namespace)
        plane.restart_apiserver()
        gang(api, namespace, "after")
        assert whole(bound(api, namespace, 6), "after")
        scheduled(api, "PodGroup", "after", namespace)
        until(lambda: running.get("/readyz")[0] == 200)


def test_a_history_that_is_gone_is_listed_again(plane, api, namespace, nodes, tmp_path):
    """The server forgets the changes from which the watches would go on: 410, and all is listed anew."""
    nodes(*racks(2))
    with sidecar(plane, tmp_path, *ALONE, fork=True):
        gang(api, namespace, "before")
        bound(api, namespace, 3)
        scheduled(api, "PodGroup", "before", namespace)
        plane.expire_history()
        plane.restart_apiserver()
        gang(api, namespace, "after")
        assert whole(bound(api, namespace, 6), "after")


def test_watches_that_stall_delay_and_break_nothing(api, namespace, nodes, through):
    proxy, start = through
    nodes(*racks(2))
    with start():
        gang(api, namespace, "before")
        bound(api, namespace, 3)
        proxy.holding.set()
        gang(api, namespace, "after")
        nodes(node("late", {LABEL: "late"}))
        api.delete("Node", "late")
        assert 3 == sum(map(bool, places(api, namespace).values()))
        proxy.holding.clear()
        assert whole(bound(api, namespace, 6), "after")


def test_watches_that_say_nothing_any_more_are_begun_again(api, namespace, nodes, through):
    """The connections stay open, as behind a load balancer that forgot them: nothing else would ever be heard."""
    proxy, start = through
    nodes(*racks(2))
    with start(*ALONE, "--silence", "5"):
        gang(api, namespace, "before")
        bound(api, namespace, 3)
        proxy.hush()
        gang(api, namespace, "after")
        assert whole(bound(api, namespace, 6), "after")


def test_two_replicas_do_the_work_of_one(plane, api, namespace, nodes, tmp_path):
    nodes(*racks(4))
    one, two = ((*MODE, "--identity", name) for name in ("one", "two"))
    with sidecar(plane, tmp_path, *one, fork=True) as first, sidecar(plane, tmp_path, *two, fork=True) as second:
        for number in range(10):
            gang(api, namespace, f"g{number}")
        result = bound(api, namespace, 30)
        for number in range(10):
            scheduled(api, "PodGroup", f"g{number}", namespace)
        writes = [binds(each) for each in (first, second)]

    assert all(whole(result, f"g{number}") for number in range(10))
    assert [0.0, 30.0] == sorted(writes)


def leader(api):
    if not api.exists("Lease", "muster-sidecar", NAMESPACE):
        return None
    return api.get("Lease", "muster-sidecar", NAMESPACE)["spec"].get("holderIdentity")


def test_a_leader_that_dies_is_followed(plane, api, namespace, nodes, tmp_path):
    nodes(*racks(2))
    with sidecar(plane, tmp_path, *MODE, "--identity", "first", fork=True) as first:
        until(lambda: leader(api) == "first")
        with sidecar(plane, tmp_path, *MODE, "--identity", "second", fork=True) as second:
            gang(api, namespace, "before")
            bound(api, namespace, 3)
            first.kill()
            gang(api, namespace, "after")
            bound(api, namespace, 6)
            assert "second" == leader(api)
            until(lambda: 3 == binds(second), told=lambda: f"{binds(second)} binds")


def test_a_leader_that_was_asleep_writes_nothing_when_it_wakes(plane, api, namespace, nodes, tmp_path):
    """Stopped (SIGSTOP) for longer than its lease: to it no time has passed; another leads by then."""
    nodes(*racks(2))
    with sidecar(plane, tmp_path, *MODE, "--identity", "sleeper", fork=True) as sleeper:
        until(lambda: leader(api) == "sleeper")
        sleeper.process.send_signal(19)
        try:
            with sidecar(plane, tmp_path, *MODE, "--identity", "awake", fork=True) as awake:
                gang(api, namespace, "g")
                bound(api, namespace, 3)
                until(lambda: 3 == binds(awake), told=lambda: f"{binds(awake)} binds")
                sleeper.process.send_signal(18)
                until(lambda: sleeper.metric("muster_leader") == 0)
                gang(api, namespace, "later")
                bound(api, namespace, 6)
                until(lambda: 6 == binds(awake), told=lambda: f"{binds(awake)} binds")
                assert 0 == binds(sleeper)
        finally:
            sleeper.process.send_signal(18)


def test_a_graceful_stop_hands_over_at_once(plane, api, namespace, nodes, tmp_path):
    nodes(*racks(2))
    with sidecar(plane, tmp_path, *MODE, "--identity", "first", fork=True) as first:
        until(lambda: leader(api) == "first")
        assert 0 == first.stop()
    assert leader(api) in (None, "")


def test_a_gang_whose_pods_vanish_while_it_is_bound_is_not_left_half(api, namespace, nodes, through):
    """Two of four pods are deleted at the moment of their bind: what is bound is undone, or finished when they come again."""
    proxy, start = through
    nodes(*racks(1))

    def decide(requested):
        if requested.path.endswith(("/g-2/binding", "/g-3/binding")):
            name = requested.path.split("/")[-2]
            if api.exists("Pod", name, namespace):
                api.delete("Pod", name, namespace, gracePeriodSeconds=0)
        return WELL

    proxy.decide = decide
    with start():
        gang(api, namespace, "g", 4)
        api.wait_all("Pod", namespace, until={"g-2", "g-3"}.isdisjoint)
        proxy.decide = lambda requested: WELL
        api.create_all([ours(f"g-{number}", namespace, "g", cpu="100m") for number in (2, 3)])
        bound(api, namespace, 4)
        result = api.wait(
            "PodGroup", "g", namespace, until=lambda result: condition_of(result, "PodGroupInitiallyScheduled").get("status") == "True"
        )
    assert result
