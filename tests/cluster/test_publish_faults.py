"""Writes to a server that fails, is slow, or loses responses: each is executed once and reported once."""

from __future__ import annotations

import random
import time

import pytest

from scheduler_core.sidecar.writes import Bind, Evict, EvictionMethod, Nominate, WriteOutcome
from tests.cluster.faults import WELL, Fault, faults
from tests.cluster.kubelet import node, pod
from tests.cluster.test_publish import Writing, ref, running
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

RULES = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


@pytest.fixture
def through(plane, api, namespace):
    """Return a publisher that uses a proxy."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "writer", "namespace": namespace}}
    api.create(account)
    original = plane.service_account("writer", namespace)
    plane.grant(f"writer-{namespace}", RULES, {"kind": "ServiceAccount", "name": "writer", "namespace": namespace})
    with faults(plane) as proxy:
        writing = Writing(proxy.kubeconfig(original))
        writing.proxy = proxy
        writing.publisher.start(4)
        yield writing
        writing.publisher.stop()


@pytest.mark.parametrize("code", [409, 429, 500, 503])
def test_a_write_at_a_bad_moment_is_repeated(through, api, namespace, nodes, code):
    nodes(node("n1"))
    target = ref(api.create(pod("a", namespace)))
    through.proxy.decide = lambda requested: Fault(code=code, retry_after=0) if 0 < requested.number <= 3 else WELL

    assert {WriteOutcome.DONE} == through.submit(Bind(target, "n1"))
    assert "n1" == api.get("Pod", "a", namespace)["spec"]["nodeName"]


def test_a_bind_whose_answer_was_lost_is_done(through, api, namespace, nodes):
    nodes(node("n1"))
    target = ref(api.create(pod("a", namespace)))
    through.proxy.decide = lambda requests: Fault(lose=True) if requests.number == 1 else WELL

    assert {WriteOutcome.DONE} == through.submit(Bind(target, "n1"))
    assert 1 == len(through.proxy.writes)


@pytest.mark.parametrize("by", list(EvictionMethod))
def test_an_eviction_whose_answer_was_lost_is_done(through, api, namespace, nodes, by):
    nodes(node("n1"))
    target = running(api, namespace, "a")
    through.proxy.decide = lambda requested: (
        Fault(lose=True) if requested.changes and (requested.method == "DELETE" or "evict" in requested.path) else WELL
    )

    assert {WriteOutcome.DONE} == through.submit(Evict(target, "x", by))
    assert api.get("Pod", "a", namespace)["metadata"]["deletionTimestamp"]


def test_the_servers_word_to_wait_holds_for_all(through, api, namespace, nodes):
    nodes(node("n1"))
    targets = [ref(each) for each in api.create_all([pod(f"p{number}", namespace) for number in range(6)])]
    through.proxy.decide = lambda requested: Fault(code=429, retry_after=1) if requested.number == 1 else WELL
    through.publisher.submit([Bind(targets[0], "n1")])
    until(lambda: through.publisher._work_queue.paused_until > 0)
    resumes = through.publisher._work_queue.paused_until
    began = []
    through.proxy.decide = lambda requested: began.append(time.monotonic()) or WELL
    assert {WriteOutcome.DONE} == through.submit(*(Bind(each, "n1") for each in targets[1:])) | set(through.outcomes(1).values())

    assert all(moment >= resumes for moment in began)


def test_fifty_pods_are_each_bound_once_whatever_happens(through, api, namespace, nodes):
    nodes(node("n1"))
    targets = [ref(each) for each in api.create_all([pod(f"p{number}", namespace) for number in range(50)])]
    chance = random.Random(7)
    through.proxy.decide = lambda requested: chance.choices(
        [WELL, Fault(code=500), Fault(code=409), Fault(code=429), Fault(lose=True), Fault(delay=0.05)], [6, 1, 1, 1, 1, 1]
    )[0]

    assert {WriteOutcome.DONE} == through.submit(*(write for each in targets for write in (Nominate(each, "n1"), Bind(each, "n1"))))
    assert {"n1"} == {each["spec"].get("nodeName") for each in api.objects("Pod", namespace)}


def test_a_server_that_is_away_is_waited_for(through, plane, api, namespace, nodes):
    nodes(node("n1"))
    targets = [ref(each) for each in api.create_all([pod(f"p{number}", namespace) for number in range(3)])]
    through.proxy.decide = lambda requested: plane.restart_apiserver() or WELL if requested.number == 1 else WELL

    assert {WriteOutcome.DONE} == through.submit(*(Bind(each, "n1") for each in targets))
