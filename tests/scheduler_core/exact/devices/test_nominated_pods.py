"""Complete search of roots whose pods have a nominated node, beside other nominated pods, compared with exhaustive search."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.proofs import certificates
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.exact.certificate.checker import accepts
from tests.scheduler_core.exact.devices import brute
from tests.scheduler_core.exact.devices.small_clusters import Cluster, Json, clusters, manifests
from tests.scheduler_core.exact.devices.test_against_brute_force import wrong

RANDOM = settings(
    max_examples=sampled(600), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
OPTIONS = CycleOptions(strategy="complete", scheduler_name="default-scheduler")


@st.composite
def nominated(draw: st.DrawFn, *, counted: bool) -> tuple[Cluster, list[Json]]:
    """Draw a cluster whose running pods without devices are only nominated, by another scheduler, and so are some pods of the root.

    Return it as it is for the root, and its objects: nominated pods of lower priority do not count, and the others do as if they ran.
    """
    cluster = draw(clusters(counted=counted, running=3))
    with_devices = {name for _, users in cluster.held for name in users}
    pods, nodes = [], {}
    for pod in cluster.pods:
        is_other = pod.node and pod.name not in with_devices
        pods.append(dataclasses.replace(pod, priority=draw(st.sampled_from((5, 10, 15)))) if is_other else pod)
        if is_other:
            nodes[pod.name] = pod.node
        elif not pod.node and draw(st.booleans()):
            nodes[pod.name] = draw(st.sampled_from(sorted(cluster.rack)))
    objects = manifests(dataclasses.replace(cluster, pods=pods))
    for each in objects:
        if each["kind"] == "Pod" and (node := nodes.get(each["metadata"]["name"])):
            each["status"] = {"nominatedNodeName": node}
            if each["spec"].pop("nodeName", None):
                each["spec"]["schedulerName"] = "other"
    return dataclasses.replace(cluster, pods=[pod for pod in pods if pod.priority >= 10]), objects


def check(drawn: tuple[Cluster, list[Json]], *, counted: bool) -> None:
    cluster, objects = drawn
    snapshot = load(objects)
    (decision,) = run_cycle(snapshot, OPTIONS).decisions
    assert [] == (wrong(cluster, decision) if decision.assignments else [])
    if decision.search.outcome != "budget":
        assert brute.possible(cluster) == (decision.status is Status.SUCCESS), decision
        assert decision.status is Status.SUCCESS or decision.search.outcome == "infeasible"
    # The checker does not know requests for capacity.
    for certificate in certificates(snapshot, [decision], OPTIONS) if counted else ():
        assert "proof" not in certificate or accepts(objects, json.loads(json.dumps(certificate)))


@RANDOM
@given(nominated(counted=True))
def test_a_nominated_root_with_counted_devices_is_placed_iff_possible(drawn):
    check(drawn, counted=True)


@RANDOM
@given(nominated(counted=False))
def test_a_nominated_root_with_any_devices_is_placed_iff_possible(drawn):
    check(drawn, counted=False)


@pytest.mark.usefixtures("without_greedy")
@pytest.mark.parametrize("counted", [True, False])
def test_the_search_of_nominated_roots_needs_no_result_of_greedy(counted):
    RANDOM(given(nominated(counted=counted))(lambda drawn: check(drawn, counted=counted)))()
