"""PlacementFeasible, compared with the table of kube-scheduler 1.37.1 and of KEP-6012; progress of the children of a composite."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.feasibility import CompositeProgress, inadmissible, judge, judge_by_document
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.scheduler_core.builders import cases, composite, entities, leaf, node, pod, pods, state

CASES = json.loads((Path(__file__).parents[2] / "cases" / "feasible.json").read_text(encoding="utf-8"))
TABLE = pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
COUNTS = st.integers(min_value=0, max_value=6)


@TABLE
def test_upstream_table(case):
    judged = judge(case["M"], case["S"], case["R"], composite=case["level"] == "CompositePodGroup")

    assert case["expect"]["status"] == judged.status


@TABLE
def test_document_table(case):
    is_composite = case["level"] == "CompositePodGroup"
    judged = judge_by_document(case["M"], case["S"], case["R"], case["U"], case["UU"], composite=is_composite)

    assert case["expect"]["kepStatus"] == judged.status


@pytest.mark.parametrize(
    ("scheduled", "remaining", "message"),
    [
        pytest.param(1, 1, "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining", id="unschedulable"),
        pytest.param(1, 2, "minCount (3) is not yet satisfied: 1 scheduled, 2 remaining", id="wait"),
        pytest.param(3, 0, "", id="success"),
    ],
)
def test_a_pod_group_is_reported_in_upstreams_words(scheduled, remaining, message):
    assert message == attempt_words(judge(3, scheduled, remaining, composite=False))


def test_a_composite_is_reported_of_its_min_group_count():
    assert attempt_words(judge(2, 0, 1, composite=True)) == "minGroupCount (2) cannot be satisfied: 0 scheduled, 1 remaining"


def test_what_eviction_cannot_help_says_so():
    want = "minGroupCount (4) cannot be satisfied: 1 scheduled, 0 remaining, 2 unschedulable, 1 unresolvable: no eviction could help"

    assert want == attempt_words(judge_by_document(4, 1, 0, 2, 1, composite=True))


def test_what_eviction_could_help_is_reported_as_upstream_does():
    assert attempt_words(judge(4, 1, 0, composite=True)) == attempt_words(judge_by_document(4, 1, 0, 3, 1, composite=True))


@pytest.mark.parametrize(
    ("judged", "success", "hopeless"),
    [
        pytest.param(judge(1, 1, 0, composite=False), True, False, id="success"),
        pytest.param(judge(1, 0, 1, composite=False), False, False, id="wait"),
        pytest.param(judge(1, 0, 0, composite=False), False, True, id="unschedulable"),
        pytest.param(judge_by_document(1, 0, 0, 0, composite=False), False, True, id="unresolvable"),
    ],
)
def test_what_it_means_for_the_loop(judged, success, hopeless):
    assert (success, hopeless) == (judged.success, judged.hopeless)


@given(minimum=st.integers(min_value=1, max_value=8), scheduled=COUNTS, remaining=COUNTS, unschedulable=COUNTS, unresolvable=COUNTS)
def test_the_document_only_divides_what_upstream_calls_unschedulable(minimum, scheduled, remaining, unschedulable, unresolvable):
    upstream = judge(minimum, scheduled, remaining, composite=False).status
    document = judge_by_document(minimum, scheduled, remaining, unschedulable, unresolvable, composite=False).status

    assert upstream == (Status.UNSCHEDULABLE if document is Status.UNRESOLVABLE else document)
    assert (document is Status.UNRESOLVABLE) == (scheduled + remaining + unschedulable < minimum)


SUCCESS, UNSCHEDULABLE, UNRESOLVABLE = Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE


def outcome(status: Status) -> PlacementOutcome:
    return PlacementOutcome(status, Placement(0, "", "", np.zeros(0, dtype=np.int64)), 0)


@pytest.mark.parametrize("by_document", [False, True], ids=["as kube-scheduler", "by the document"])
@pytest.mark.parametrize("case", [case for case in cases("feasible") if not case["basic"]], ids=lambda case: case["id"])
def test_children_that_were_tried_are_judged_as_the_plugin_does(case, by_document):
    tally = CompositeProgress(case["M"], case["S"] + case["R"] + case["U"] + case["UU"], by_document)
    for status, count in ((SUCCESS, "S"), (UNSCHEDULABLE, "U"), (UNRESOLVABLE, "UU")):
        for _ in range(case[count]):
            tally.add(outcome(status))

    assert case["expect"]["kepStatus" if by_document else "status"] == tally.judged().status
    assert (case["S"], case["R"]) == (tally.scheduled, tally.remaining)


def test_a_child_that_is_skipped_counts_as_one_that_no_eviction_helps():
    tally = CompositeProgress(2, 3, by_document=True)
    tally.skip()
    assert Status.WAIT == tally.judged().status

    tally.skip()
    assert UNRESOLVABLE == tally.judged().status
    assert "minGroupCount (2) cannot be satisfied: 0 scheduled, 1 remaining, 0 unschedulable, 2 unresolvable: no eviction could help" == (
        attempt_words(tally.judged())
    )


def form_of(objects: list[dict[str, object]], root: str) -> PlacementRequest:
    return Greedy(state(objects)).request(entities(objects)[root])


TREE = [
    node("n"),
    composite("root"),
    composite("pair", 2, parent="root"),
    leaf("whole", 2, parent="pair"),
    leaf("short", 3, parent="pair"),
    leaf("basic", parent="root"),
    leaf("mixed", 2, parent="root"),
    leaf("empty", parent="root"),
    *pods("whole", 2),
    *pods("short", 2),
    *pods("basic", 1),
    pod("mixed-0", "mixed"),
    pod("mixed-1", "mixed", on="n"),
]


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param(("pair", "whole"), "", id="enough members"),
        pytest.param(("pair", "short"), "minCount (3) cannot be satisfied: there are 2 members", id="too few members"),
        pytest.param(("basic",), "", id="a basic group with a pod"),
        pytest.param(("mixed",), "", id="those that run are members too"),
        pytest.param(("empty",), "minCount (1) cannot be satisfied: there are 0 members", id="a basic group without pods"),
        pytest.param(("pair",), "minGroupCount (2) cannot be satisfied: 1 children have the members they need", id="too few children"),
        pytest.param((), "", id="enough children"),
    ],
)
def test_a_group_without_the_members_it_needs_is_inadmissible(path, want):
    request = form_of(TREE, "root")
    for name in path:
        (request,) = [child for child in request.children if child.entity.name.name == name]

    assert want == attempt_words(inadmissible(request))
