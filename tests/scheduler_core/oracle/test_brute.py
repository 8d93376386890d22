"""The oracle compared with exhaustive search, on random clusters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import builders
from tests.sampling import sampled
from tests.scheduler_core.oracle import brute, cycle
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.strategies import TINY, clusters

slowly = settings(deadline=None, max_examples=sampled(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def of_groups(decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [decision for decision in decisions if decision["root"]["kind"] != "Pod"]


@slowly
@given(clusters())
def test_what_the_oracle_places_breaks_nothing(objects):
    decisions = cycle.run(objects)

    assert [] == brute.violations(objects, {pod: node for decision in decisions for pod, node in decision["assignments"].items()})


@slowly
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(objects, random):
    want = cycle.run(objects)
    random.shuffle(objects)

    assert want == cycle.run(objects)


@slowly
@given(clusters(TINY))
def test_where_there_is_no_placement_the_oracle_finds_none(objects):
    first, *_ = of_groups(cycle.run(objects)) or [None]
    if first is None:
        return
    result = brute.placement(objects, **first["root"])

    if result is None:
        assert {} == first["assignments"]
    else:
        assert [] == brute.violations(objects, result)


@slowly
@given(clusters())
def test_victims_have_less_priority_and_are_given_for_all_that_is_nominated(objects):
    pods = {f"default/{each['metadata']['name']}": each["spec"] for each in objects if each["kind"] == "Pod"}
    for decision in cycle.run(objects):
        assert {pods[pod].get("nodeName") for pod in decision["nominations"]} <= {None}
        assert {pods[pod]["priority"] for pod in decision["victims"]} <= set(
            range(max((pods[pod]["priority"] for pod in decision["nominations"]), default=0))
        )
        assert not (decision["assignments"] and decision["victims"])


def node(name: str, cpu: int = 1, **labels: str) -> dict[str, Any]:
    return builders.node(name, cpu, "", pods=9, labels=labels)


def leaf(name: str, minimum: int, second: int, key: str = "") -> dict[str, Any]:
    return builders.pod_group(name, minimum, key, "root", metadata={"creationTimestamp": f"2026-01-01T00:00:0{second}Z"})


def composite(minimum: int) -> dict[str, Any]:
    return builders.composite_pod_group("root", minimum)


def members(group: str, count: int, cpu: int = 1, **spec: Any) -> Objects:
    container = {"resources": {"requests": {"cpu": str(cpu)}}}
    return [
        {
            "kind": "Pod",
            "metadata": {"name": f"{group}-{n}"},
            "spec": {"containers": [container], "schedulingGroup": {"podGroupName": group}, **spec},
        }
        for n in range(count)
    ]


def test_greedy_lets_optional_pods_starve_a_sibling_where_a_placement_exists():
    objects = [node("n", 3), composite(2), leaf("a", 1, 0), leaf("b", 1, 1), *members("a", 3), *members("b", 1)]
    (decision,) = cycle.run(objects)

    assert ("Unschedulable", {}) == (decision["status"], decision["assignments"])
    assert brute.placement(objects, "CompositePodGroup", "root") is not None


@pytest.mark.parametrize(
    ("assignments", "want"),
    [
        pytest.param({"default/a-0": "r1", "default/a-1": "r1", "default/b-0": "r2"}, [], id="as it should be"),
        pytest.param({}, [], id="nothing placed"),
        pytest.param({"default/a-0": "r1", "default/a-1": "r3", "default/b-0": "r2"}, ["not in one domain"], id="two domains"),
        pytest.param({"default/a-0": "r1", "default/b-0": "r2"}, ["minimum of 2", "minimum of 2"], id="a gang cut short and its root"),
        pytest.param({"default/a-0": "r1", "default/a-1": "r1"}, ["minimum of 2"], id="a child missing"),
        pytest.param({"default/a-0": "r1", "default/a-1": "r1", "default/b-0": "r1"}, ["insufficient cpu"] * 3, id="too much on a node"),
        pytest.param({"default/a-0": "none"}, ["which is no node"], id="no such node"),
        pytest.param({"default/x": "r1"}, ["is no pod"], id="no such pod"),
        pytest.param({"default/c-0": "r2"}, ["runs on r2 already"], id="running already"),
        pytest.param({"default/d-0": "r2"}, ["not all there"], id="a group that is not there"),
    ],
)
def test_violations_name_what_is_broken(assignments, want):
    objects = [node("r1", 2, rack="r1"), node("r2", 2, rack="r2"), node("r3", 2, rack="r3")]
    objects += [composite(2), leaf("a", 2, 0, "rack"), leaf("b", 1, 1), *members("a", 2), *members("b", 1), *members("d", 1)]
    objects += members("c", 1, nodeName="r2", schedulingGroup=None)
    messages = brute.violations(objects, assignments)

    assert len(want) == len(messages)
    assert all(part in line for part, line in zip(want, messages, strict=True))
