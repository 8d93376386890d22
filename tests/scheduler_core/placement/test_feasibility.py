"""PlacementFeasible, compared with the table of kube-scheduler 1.37.1 and of KEP-6012."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.status import Status
from scheduler_core.placement.feasibility import judge, judge_by_document
from scheduler_core.wording.kube_scheduler import attempt_words

CASES = json.loads((Path(__file__).parents[2] / "cases" / "feasible.json").read_text(encoding="utf-8"))
TABLE = pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
COUNTS = st.integers(min_value=0, max_value=6)


@TABLE
def test_upstream_table(case):
    judged = judge(case["M"], case["S"], case["R"], composite=case["level"] == "CompositePodGroup")

    assert case["expect"]["status"] == judged.status


@TABLE
def test_document_table(case):
    composite = case["level"] == "CompositePodGroup"
    judged = judge_by_document(case["M"], case["S"], case["R"], case["U"], case["UU"], composite=composite)

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
