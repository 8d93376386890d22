"""The recorded answers about quotas and topologies are those of Kueue, and the situations are the drawn ones."""

from __future__ import annotations

import collections

import pytest

from tests.cluster import go_tools, kueue_quotas
from tests.cluster.conftest import available
from tests.sampling import every


@pytest.fixture(scope="module")
def program():
    return available(lambda: go_tools.find("kueue"))


@pytest.fixture(scope="module", params=kueue_quotas.TABLES, ids=lambda table: table.file.name)
def table(request):
    return request.param


@pytest.fixture(scope="module")
def cases(table):
    return kueue_quotas.recorded(table)


def test_the_recorded_answers_are_those_of_kueue(program, cases):
    chosen = every(5, cases)

    answers = kueue_quotas.judge(program, [{key: value for key, value in case.items() if key != "answer"} for case in chosen])

    assert answers == [{"name": case["name"], **case["answer"]} for case in chosen]


def test_the_recorded_situations_are_the_drawn_ones(table, cases):
    for case in cases:
        drawn = table.drawing(int(case["name"].removeprefix("seed-"))).situation()
        assert case == {**drawn, "answer": case["answer"]}


def test_what_kueue_tells_in_any_case_is_among_what_it_tells(cases):
    for case in cases:
        for pod_set in case["answer"].get("podSets", ()):
            assert {*pod_set["always"]} <= {*pod_set["reasons"]}


def test_the_answers_about_quotas_are_of_all_sorts():
    cases = kueue_quotas.recorded(kueue_quotas.QUOTAS)
    sorts = collections.Counter(map(kueue_quotas.sort_of, cases))
    modes = collections.Counter(mode for mode, *_ in sorts.elements())
    told = {word for sort in sorts for word in sort}

    assert len(cases) >= 400
    assert {"Fit", "Preempt", "NoFit", "inadmissible"} == {mode for mode, count in modes.items() if count >= 40}
    assert {"insufficient quota", "insufficient unused quota", "untolerated", "flavor", "resource", "reduced", "borrowing 3"} <= told
    assert {"InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing"} <= told


def test_the_answers_about_topologies_are_of_all_sorts():
    cases = kueue_quotas.recorded(kueue_quotas.TOPOLOGIES)
    asked = collections.Counter(
        (case["answer"].get("mode"), key)
        for case in cases
        for each in case["workload"]["spec"]["podSets"]
        for key in each.get("topologyRequest", ())
    )

    for mode in ("Fit", "NoFit"):
        for key in ("required", "preferred", "unconstrained", "podSetSliceSize", "podSetGroupName"):
            assert asked[mode, key] >= 4, (mode, key)
