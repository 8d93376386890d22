"""The recorded answers about quotas are those of Kueue, and the situations are the drawn ones."""

from __future__ import annotations

import collections

import pytest

from tests.cluster import go_tools, kueue_quotas
from tests.cluster.conftest import available
from tests.cluster.random_quotas import QuotaDrawing
from tests.sampling import every


@pytest.fixture(scope="module")
def program():
    return available(lambda: go_tools.find("kueue"))


@pytest.fixture(scope="module")
def cases():
    return kueue_quotas.recorded()


def test_the_recorded_answers_are_those_of_kueue(program, cases):
    chosen = every(5, cases)

    answers = kueue_quotas.judge(program, [{key: value for key, value in case.items() if key != "answer"} for case in chosen])

    assert answers == [{"name": case["name"], **case["answer"]} for case in chosen]


def test_the_recorded_situations_are_the_drawn_ones(cases):
    for case in cases:
        drawn = QuotaDrawing(int(case["name"].removeprefix("seed-"))).situation()
        assert case == {**drawn, "answer": case["answer"]}


def test_the_recorded_answers_are_of_all_sorts(cases):
    sorts = collections.Counter(kueue_quotas.sort_of(case["answer"]) for case in cases)
    modes = collections.Counter(mode for mode, *_ in sorts.elements())

    assert len(cases) >= 400
    assert {"Fit", "Preempt", "NoFit", "inadmissible"} == {mode for mode, count in modes.items() if count >= 40}
    assert len(sorts) >= 70
    told = {word for sort in sorts for word in sort}
    assert {"insufficient quota", "insufficient unused quota", "untolerated", "flavor", "resource", "reduced", "borrowing 3"} <= told
    assert {"InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing"} <= told


def test_what_kueue_tells_in_any_case_is_among_what_it_tells(cases):
    for case in cases:
        for pod_set in case["answer"].get("podSets", ()):
            assert {*pod_set["always"]} <= {*pod_set["reasons"]}
