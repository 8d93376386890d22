"""Domain cache: results of a group in every domain, compared with computing them again."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.causes.attempts import PluginReason
from scheduler_core.model.ledger import Hold, PodLoad
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.domain_cache import DomainCache
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, as_values, entities, leaf, node, pod, pods, racks, state


def cached_results(board: DomainCache, request: PlacementRequest) -> list[Any]:
    rows = range(len(board.division.domains))
    able = board.able.tolist()
    return [
        able,
        board.failed.tolist(),
        # What is not able is not compared.
        [(board.tight.tolist()[row], board.counts.tolist()[row]) for row in rows if able[row]],
        None if board.holds is None else [board.holds.tolist()[row] for row in rows if able[row]],
        [as_values(board.outcome(request, row)) for row in rows],
    ]


def board_of(here: PlacementState, request: PlacementRequest, greedy: Greedy) -> DomainCache:
    return DomainCache(request, here.topology.divide(here.topology.root, request.entity.key), here, greedy.attempt)


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Draw more racks than are tried one by one, of different sizes and kinds."""
    results = []
    for rack in range(draw(st.sampled_from([3, 7, 8, 12]))):
        for number in range(draw(st.integers(1, 3))):
            memory = draw(st.sampled_from(["8Gi", "4Gi", ""]))
            disk = draw(st.sampled_from(["ssd", "hdd"]))
            results.append(node(f"r{rack:02}-{number}", draw(st.sampled_from("248")), memory, rack=f"r{rack:02}", disk=disk))
    return results


KINDS: list[Json] = [{"cpu": "1"}, {"cpu": "500m", "memory": "1Gi"}, {"cpu": ""}, {"cpu": "1", "nodeSelector": {"disk": "ssd"}}]
steps = st.lists(
    st.tuples(st.sampled_from(["assume", "assume", "hold", "mark", "rewind", "look", "look"]), st.integers(0, 30), st.integers(0, 2)),
    max_size=14,
)
randomly = settings(deadline=None, max_examples=sampled(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@randomly
@given(clusters(), st.sampled_from(KINDS), st.integers(1, 6), st.integers(0, 6), steps, st.booleans(), st.booleans())
def test_scores_updated_incrementally_equal_scores_computed_anew(there, kind, count, minimum, plan, every_pod, desired):
    objects = [*there, leaf("g", min(minimum, count), "rack"), *pods("g", count, **kind)]
    objects += [pod(f"other-{number}", **each) for number, each in enumerate(KINDS)]
    here = state(objects, PlacingOptions(every_pod=every_pod))
    greedy = Greedy(here)
    entity = entities(objects)["g"]
    request = greedy.request(dataclasses.replace(entity, desired=count + 2) if desired else entity)
    board = board_of(here, request, greedy)
    shapes = [entities(objects)[f"other-{number}"].waiting[0].shape for number in range(len(KINDS))]
    # One cause for one load, so that the same versions come again.
    causes: dict[tuple[int, int], int] = {}
    marks = [here.ledger.mark()]
    for what, number, which in plan:
        # On one node, or on a stretch of nodes, so that now few and now many domains change.
        index = number % len(here.nodes)
        where = np.arange(index, len(here.nodes) if number % 3 == 0 else index + 1, dtype=np.int64)
        cause = causes.setdefault((number, which), here.ledger.fresh())
        loads = (PodLoad(shapes[which], where),)
        match what:
            case "assume":
                here.ledger.assume(loads, cause)
            case "hold":
                here.ledger.hold(Hold(loads, here.ledger.fresh()))
            case "mark":
                marks.append(here.ledger.mark())
            case "rewind":
                here.ledger.rewind(marks.pop() if len(marks) > 1 else marks[0])
            case _:
                board.refresh(request)
                cached_results(board, request)
    board.refresh(request)
    other = Greedy(here)
    fresh = board_of(here, request, other)
    for row, domain in enumerate(fresh.division.domains):
        fresh._record(row, try_leaf(request, domain, here))

    assert cached_results(fresh, request) == cached_results(board, request)


class Counting:
    """Counter of trials of a domain."""

    def __init__(self, greedy: Greedy) -> None:
        self.asked: list[str] = []
        self._greedy = greedy

    def __call__(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        self.asked.append(placement.value)
        return self._greedy.attempt(request, placement)


def test_only_domains_that_changed_are_tried_again():
    objects = [*racks({f"r{number}": 1 for number in range(4)}), leaf("g", 1, "rack"), *pods("g", 1)]
    here = state(objects)
    greedy = Greedy(here)
    request, attempt = greedy.request(entities(objects)["g"]), Counting(greedy)
    board = DomainCache(request, here.topology.divide(here.topology.root, "rack"), here, attempt)
    board.refresh(request)
    first, attempt.asked = attempt.asked, []
    mark = here.ledger.mark()
    here.ledger.assume((PodLoad(request.runs[0].shape, np.array([2])),), here.ledger.fresh())
    board.refresh(request)
    here.ledger.rewind(mark)
    board.refresh(request)
    board.refresh(request)

    assert (["r0", "r1", "r2", "r3"], ["r2", "r2"]) == (first, attempt.asked)


@pytest.mark.parametrize("count", [7, 8])
def test_many_domains_are_tried_in_one_go_with_the_same_result(count):
    objects = [*racks({f"r{number}": 1 + number % 2 for number in range(count)}), leaf("g", 5, "rack"), *pods("g", 6)]
    here = state(objects)
    greedy = Greedy(here)
    request, attempt = greedy.request(entities(objects)["g"]), Counting(greedy)
    board = DomainCache(request, here.topology.divide(here.topology.root, "rack"), here, attempt)
    board.refresh(request)

    assert [number % 2 == 1 for number in range(count)] == board.able.tolist()
    assert (count if count < 8 else 0) == len(attempt.asked)
    assert {6} == {len(outcome.nodes) for row in range(count) if (outcome := board.outcome(request, row)).nodes is not None}
    assert "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining" == attempt_words(board.outcome(request, 0).reason)


def test_a_domain_whose_trial_fails_with_an_error_is_marked():
    objects = [*racks({"r1": 1, "r2": 1}), leaf("g", 1, "rack"), *pods("g", 1)]
    here = state(objects)
    greedy = Greedy(here)
    request = greedy.request(entities(objects)["g"])

    def attempt(request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        return (
            greedy.attempt(request, placement)
            if placement.value == "r1"
            else PlacementOutcome(Status.ERROR, placement, 0, PluginReason("conflict"))
        )

    board = DomainCache(request, here.topology.divide(here.topology.root, "rack"), here, attempt)
    board.refresh(request)

    assert ([True, False], [False, True]) == (board.able.tolist(), board.failed.tolist())


def test_a_domain_refuted_by_counting_is_tried_only_on_request():
    objects = [*racks({"r0": 1, "r1": 3, "r2": 1}), leaf("g", 9, "rack")]
    objects += [pod(f"g-{number}", "g", cpu="500m" if number % 2 else "1") for number in range(10)]
    here = state(objects)
    greedy = Greedy(here)
    request, attempt = greedy.request(entities(objects)["g"]), Counting(greedy)
    board = DomainCache(request, here.topology.divide(here.topology.root, "rack"), here, attempt)
    board.refresh(request)
    before = list(attempt.asked)

    assert (["r1"], [False, True, False]) == (before, board.able.tolist())
    assert Status.UNSCHEDULABLE is board.outcome(request, 2).status
    assert ["r1", "r2"] == attempt.asked


def test_the_result_of_a_domain_that_filters_exclude_is_that_of_the_last_refresh():
    objects = [node("n0", "1", rack="r0", disk="hdd"), node("n1", "4", rack="r1", disk="ssd"), leaf("g", 2, "rack")]
    objects += [pod("g-0", "g"), pod("g-1", "g", nodeSelector={"disk": "ssd"})]
    here = state(objects)
    greedy = Greedy(here)
    request, attempt = greedy.request(entities(objects)["g"]), Counting(greedy)
    board = DomainCache(request, here.topology.divide(here.topology.root, "rack"), here, attempt)
    messages = []
    for _ in range(2):
        board.refresh(request)
        messages.append(attempt_words(board.outcome(request, 0).reason))
        here.ledger.assume((PodLoad(request.runs[0].shape, np.array([0])),), here.ledger.fresh())

    wanted = [f"minCount (2) cannot be satisfied: {scheduled} scheduled, {left} remaining" for scheduled, left in ((1, 0), (0, 1))]
    assert (wanted, [False, True], ["r1", "r0", "r0"]) == (messages, board.able.tolist(), attempt.asked)
