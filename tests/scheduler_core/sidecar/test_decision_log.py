from __future__ import annotations

import pytest

from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.queue.decision_log import DecisionLog


def decision(number, pods=1, status=Status.SUCCESS):
    return Decision(Name("PodGroup", "ns", f"g{number}"), status, assignments={f"ns/g{number}-{each}": "n" for each in range(pods)})


def kept(remembered, count):
    return [number for number in range(count) if remembered.get(Name("PodGroup", "ns", f"g{number}")) is not None]


@pytest.mark.parametrize(
    ("most", "most_pods", "want"),
    [
        pytest.param(3, 100, [3, 4, 5], id="so many decisions at most"),
        pytest.param(100, 8, [2, 3, 4, 5], id="so many pods at most"),
        pytest.param(100, 7, [3, 4, 5], id="a decision is kept whole or not at all"),
        pytest.param(100, 1, [5], id="the last is kept however large it is"),
        pytest.param(6, 12, [0, 1, 2, 3, 4, 5], id="all, where there is room"),
    ],
)
def test_what_was_decided_longest_ago_is_forgotten(most, most_pods, want):
    remembered = DecisionLog(most, most_pods)
    for number in range(6):
        remembered.record(decision(number, pods=2))

    assert want == kept(remembered, 6)
    assert len(want) == len(remembered)


def test_a_root_decided_anew_counts_once_and_as_new():
    remembered = DecisionLog(2, 4)
    for number, pods in ((0, 2), (1, 1), (0, 3), (2, 1)):
        remembered.record(decision(number, pods))

    assert [0, 2] == kept(remembered, 3)
    assert 3 == len(remembered.get(Name("PodGroup", "ns", "g0")).assignments)


def test_pods_that_wait_and_victims_count_too():
    remembered = DecisionLog(10, 2)
    remembered.record(decision(0))
    remembered.record(Decision(Name("PodGroup", "ns", "g1"), Status.UNSCHEDULABLE, pending={"ns/a": ()}, victims=("ns/b",)))

    assert [1] == kept(remembered, 2)


def test_a_deleted_root_frees_capacity():
    remembered = DecisionLog(10, 2)
    remembered.record(decision(0, 2))
    remembered.forget(Name("PodGroup", "ns", "g0"))
    remembered.forget(Name("PodGroup", "ns", "absent"))
    for number in (1, 2):
        remembered.record(decision(number))

    assert [1, 2] == kept(remembered, 3)
