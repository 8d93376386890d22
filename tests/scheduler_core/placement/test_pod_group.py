"""Placing the pods of one group: run by run compared with pod by pod, and the message if it stops early."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.placement.feasibility import Feasibility, judge, judge_by_document
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_by_pod import PodByPod
from scheduler_core.placement.pod_group import _feasibility_after, try_leaf
from scheduler_core.placement.state import PlacementState
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, as_values, entities, leaf, names, node, pod, pods, state, taint

KINDS: dict[str, Json] = {
    "small": {"cpu": "500m"},
    "large": {"cpu": "2", "memory": "1Gi"},
    "device": {"cpu": "1", "gpu": "1"},
    "unspecified": {"cpu": ""},
    "choosy": {"cpu": "500m", "nodeSelector": {"disk": "ssd"}},
    "wishful": {
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
                    for key, weight in (("disk", 30), ("fast", 70))
                ]
            }
        }
    },
}
options = st.sampled_from(
    [
        PlacingOptions(),
        PlacingOptions(four_statuses=True),
        PlacingOptions(every_pod=True),
        PlacingOptions(four_statuses=True, every_pod=True),
    ]
)
randomly = settings(deadline=None, max_examples=sampled(200), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@st.composite
def nodes(draw: st.DrawFn) -> list[Json]:
    results = []
    for number in range(draw(st.integers(1, 6))):
        labels = draw(st.sampled_from([{}, {"disk": "ssd"}, {"fast": "1"}, {"disk": "ssd", "fast": "1"}]))
        gpu, pods_ = draw(st.sampled_from(["", "1", "3"])), draw(st.sampled_from([110, 110, 2]))
        memory = draw(st.sampled_from(["4Gi", "16Gi", ""]))
        soft = [taint(f"{key}=:PreferNoSchedule") for key in draw(st.sampled_from(["", "", "x", "xy"]))]
        results.append(node(f"n{number}", draw(st.sampled_from("1248")), memory, gpu=gpu, pods=pods_, taints=soft, **labels))
    return results


@st.composite
def gangs(draw: st.DrawFn) -> list[Json]:
    """Draw a group of pods of several kinds in any order, some running, and one nominated pod."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=9))
    if draw(st.booleans()):
        kinds.sort()
    running = draw(st.integers(0, 2))
    result = [leaf("g", draw(st.integers(0, len(kinds) + running)), priority=5)]
    result += [pod(f"g-{number:02}", "g", priority=5, **KINDS[kind]) for number, kind in enumerate(kinds)]
    result += [pod(f"run-{number}", "g", cpu="100m", on="n0", priority=5) for number in range(running)]
    if draw(st.booleans()):
        result.append(pod("promised", cpu="1", nominated="n0", priority=9, schedulingGates=[{"name": "wait"}]))
    return result


def formed(objects: list[Json], chosen: PlacingOptions) -> tuple[PlacementState, PlacementRequest]:
    here = state(objects, chosen)
    return here, Greedy(here).request(entities(objects)["g"])


@randomly
@given(nodes(), gangs(), options)
def test_run_by_run_gives_the_same_result_as_pod_by_pod(there, gang, chosen):
    here, request = formed([*there, *gang], chosen)
    before = (here.ledger.used.tobytes(), here.ledger.held.tobytes(), here.ledger.mark())
    by_run = try_leaf(request, here.topology.root, here)
    by_pod = try_leaf(dataclasses.replace(request, special=True), here.topology.root, here)

    assert as_values(by_pod) == as_values(by_run)
    assert before == (here.ledger.used.tobytes(), here.ledger.held.tobytes(), here.ledger.mark())


@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.booleans())
def test_a_run_stops_at_the_first_pod_that_decides_it(minimum, scheduled, left, failed, by_document):
    here = state([], PlacingOptions(four_statuses=by_document))
    want = None
    for number in range(failed + 1):
        # So many pods of the run have failed by now, and the others of it are still to come.
        remaining = left + failed - number
        if by_document:
            want = judge_by_document(minimum, scheduled, remaining, number, composite=False)
        else:
            want = judge(minimum, scheduled, remaining, composite=False)
        if number and want.hopeless:
            break
    result = _feasibility_after(here, minimum, scheduled, left, failed, failed)

    assert isinstance(want, Feasibility)
    assert (want.status, attempt_words(want)) == (result.status, attempt_words(result))


def try_group(objects: list[Json], **chosen: Any) -> tuple[PlacementOutcome, list[str]]:
    here, request = formed(objects, PlacingOptions(**chosen))
    outcome = try_leaf(request, here.topology.root, here)
    return outcome, [] if outcome.nodes is None else names(here, outcome)


def test_all_members_are_tried_beyond_the_minimum():
    outcome, where = try_group([node("a", "3"), leaf("g", 1), *pods("g", 4)])

    assert (Status.SUCCESS, 3, ["a", "a", "a", "-"]) == (outcome.status, outcome.placed, where)


def test_a_gang_is_given_up_at_the_first_pod_that_makes_its_minimum_impossible():
    outcome, where = try_group([node("a", "2"), leaf("g", 3), *pods("g", 4)])

    assert (Status.UNSCHEDULABLE, ["a", "a", "-", "-"]) == (outcome.status, where)
    assert "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" == attempt_words(outcome.reason)
    assert (0, ()) == (outcome.placed, outcome.loads)


def test_the_words_count_what_was_left_when_it_was_given_up():
    # Four workers fail before the leader is tried; the fourth decides it.
    gang = [leaf("g", 3), *(pod(f"g-{number}", "g", cpu="9") for number in range(5)), pod("g-5", "g")]
    outcome, where = try_group([node("a", "2"), *gang])

    assert "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining" == attempt_words(outcome.reason)
    assert ["-"] * 6 == where


def test_members_that_run_count():
    objects = [node("a", "2"), leaf("g", 2), pod("g-9", "g", on="a"), *pods("g", 1)]
    outcome, where = try_group(objects)

    assert (Status.SUCCESS, 1, ["a"]) == (outcome.status, outcome.placed, where)


@pytest.mark.parametrize(
    ("chosen", "status", "texts"),
    [
        pytest.param({}, Status.UNSCHEDULABLE, "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining", id="as kube-scheduler"),
        pytest.param(
            {"four_statuses": True},
            Status.UNRESOLVABLE,
            "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining, 0 unschedulable, 0 unresolvable: no eviction could help",
            id="by the document",
        ),
    ],
)
def test_too_few_members_are_not_tried_at_all(chosen, status, texts):
    here, request = formed([node("a"), leaf("g", 2), *pods("g", 2)], PlacingOptions(**chosen))
    short = dataclasses.replace(request, entity=dataclasses.replace(request.entity, minimum=3))
    outcome = try_leaf(short, here.topology.root, here)

    assert (status, texts, None) == (outcome.status, attempt_words(outcome.reason), outcome.nodes)


def test_leaders_and_workers_find_their_places_in_their_order():
    gang = [leaf("g", 3), pod("g-0", "g", gpu="1"), pod("g-1", "g", cpu="3"), pod("g-2", "g", cpu="3")]
    outcome, where = try_group([node("a", "4", gpu="1"), node("b", "4"), *gang])

    assert (Status.SUCCESS, ["a", "b", "a"]) == (outcome.status, where)
    assert [1, 2] == [len(load.nodes) for load in outcome.loads]


@pytest.mark.parametrize(("every_pod", "status"), [(False, Status.SUCCESS), (True, Status.UNSCHEDULABLE)])
def test_a_pod_without_a_node_matters_beyond_the_minimum_only_if_that_is_requested(every_pod, status):
    outcome, _ = try_group([node("a", "2"), leaf("g", 1), *pods("g", 3)], every_pod=every_pod)

    assert status == outcome.status
    assert ("a pod of the group fits on no node" if every_pod else "") == attempt_words(outcome.reason)


@randomly
@given(
    nodes(),
    st.sampled_from(["small", "large", "device", "choosy"]),
    st.integers(1, 4),
    st.integers(0, 12),
    st.integers(0, 2),
    st.booleans(),
)
def test_a_placement_holds_the_desired_count_where_that_many_would_find_a_node(there, kind, count, desired, running, promised):
    objects = [*there, leaf("g"), *(pod(f"g-{number}", "g", **KINDS[kind]) for number in range(count))]
    objects += [pod(f"run-{number}", "g", cpu="100m", on="n0") for number in range(running)]
    if promised:
        objects.append(pod("promised", cpu="1", nominated="n0", priority=9, schedulingGates=[{"name": "wait"}]))
    here, request = formed(objects, PlacingOptions())
    outcome = try_leaf(dataclasses.replace(request, entity=dataclasses.replace(request.entity, desired=desired)), here.topology.root, here)
    if not outcome.success:
        return
    steps, result = PodByPod(here.profile, here.ledger, here.stateful, here.capacity, here.nodes.everything), 0
    while result + running < desired and steps.place(request.entity.waiting[0]) >= 0:
        result += 1

    # A count that is reached already, or none at all, is no wish.
    assert (bool(desired) and result + running >= desired) == outcome.holds
