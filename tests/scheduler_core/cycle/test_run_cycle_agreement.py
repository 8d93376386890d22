"""One scheduling cycle compared with recorded answers of kube-scheduler, an independent implementation and brute force."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.builders import (
    Json,
    decided,
    leaf,
    node,
    pod,
    pods,
    promising,
    rendered,
    run,
)
from tests.scheduler_core.oracle import brute, compare
from tests.scheduler_core.oracle.strategies import TINY
from tests.scheduler_core.test_agreement import SCENARIOS, answered, short

randomly = settings(
    max_examples=sampled(150), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def scenarios_with(part: str) -> Any:
    """Return the scenarios that have expectations of a kind."""
    return pytest.mark.parametrize("case", [case for case in SCENARIOS if case["expect"].get(part)], ids=lambda case: case["id"])


@scenarios_with("domainOf")
def test_pods_are_together_in_one_domain_where_kube_scheduler_keeps_them_together(case):
    labels = {each["name"]: each.get("labels") or {} for each in case["nodes"]}
    bound: Json = {}
    for decision in answered(case, "greedy")["decisions"]:
        bound |= short(decision["assignments"])
    for rule in case["expect"]["domainOf"]:
        (domain,) = {labels[bound[each]][rule["key"]] for each in rule["pods"]}

        assert rule.get("value", domain) == domain


@scenarios_with("perGroup")
def test_groups_end_as_with_kube_scheduler_or_as_the_documents_have_it(case):
    groups = {group["name"]: group["status"] for decision in answered(case, "greedy")["decisions"] for group in decision["groups"]}
    by_documents = case["expect"].get("kepStatus")
    differing = by_documents if isinstance(by_documents, dict) else {}

    assert {} == {
        name: groups.get(name)
        for name, status in case["expect"]["perGroup"].items()
        if groups.get(name) not in {status, differing.get(name, status), by_documents if isinstance(by_documents, str) else status}
    }


def answer(objects: list[Json], **options: Any) -> Json:
    parsed: Json = json.loads(rendered(objects, **options))
    return parsed


def unsettled(objects: list[Json], decisions: list[Json]) -> bool:
    """Return true if a group with nominated members is not placed.

    The engine and the oracle differ in which of its nominations count while victims are reprieved.
    """
    nominated = {each["metadata"]["name"] for each in objects if (each.get("status") or {}).get("nominatedNodeName")}
    missing = {decision["root"]["name"] for decision in decisions if decision["status"] != "Success"}
    groups = {
        each["metadata"]["name"]: each["spec"].get("parentCompositePodGroupName") for each in objects if each["kind"].endswith("Group")
    }
    for each in objects:
        if each["kind"] == "Pod" and each["metadata"]["name"] in nominated:
            name = (each["spec"].get("schedulingGroup") or {}).get("podGroupName")
            while groups.get(name):
                name = groups[name]
            if name in missing:
                return True
    return False


@randomly
@given(promising(), st.booleans())
def test_promises_and_preempted_pods_count_as_in_an_independent_implementation(objects, evict):
    messages = answer(objects, evict=evict)
    if unsettled(objects, messages["decisions"]):
        return

    assert [] == compare.compare(objects, messages, evict=evict)


@randomly
@given(promising(TINY))
def test_what_is_placed_breaks_no_constraint_and_is_possible(objects):
    decisions = run(objects).decisions
    assert [] == brute.violations(objects, {key: where for each in decisions for key, where in each.assignments.items()})
    if decisions and decisions[0].assignments:
        root = decisions[0].root

        assert brute.placement(objects, root.kind, root.name, root.namespace) is not None


@st.composite
def equal_gangs(draw: st.DrawFn) -> list[Json]:
    """Draw a gang of equal pods without topology constraint on a few nodes."""
    nodes = [
        node(f"n{number}", draw(st.sampled_from("1234")), draw(st.sampled_from(["2Gi", "8Gi"])), pods=draw(st.sampled_from([110, 1, 2])))
        for number in range(draw(st.integers(1, 4)))
    ]
    count, runs = draw(st.integers(1, 5)), draw(st.integers(0, 1))
    cpu, memory = draw(st.sampled_from(["500m", "1", "2", "1500m"])), draw(st.sampled_from(["", "1Gi", "3Gi"]))
    there = [pod("there", on="n0", cpu="500m")] if draw(st.booleans()) else []
    own = [pod("own", "g", cpu="100m", on="n0")] * runs
    return [*nodes, *there, *own, leaf("g", draw(st.integers(1, count + runs))), *pods("g", count, cpu, memory)]


@randomly
@given(equal_gangs())
def test_an_equal_gang_is_placed_exactly_where_trying_everything_finds_a_placement(objects):
    assert (brute.placement(objects, "PodGroup", "g") is not None) == (decided(objects).status is Status.SUCCESS)


@randomly
@given(promising(apart=True), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_changes_no_byte_of_the_answer(objects, evict, chance: random.Random):
    assert rendered(objects, evict=evict) == rendered(chance.sample(objects, len(objects)), evict=evict)
