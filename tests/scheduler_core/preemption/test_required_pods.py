"""Nodes where a group may run."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.plans.required_pods import RequiredPods
from tests.scheduler_core.preemption.crowded import node
from tests.scheduler_core.preemption.pending_root import gang, requirements_of

NODES = [node("a", 1, rack="r1"), node("b", 1, rack="r2"), node("c", 1, rack="r1"), node("d", 1)]


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [
        pytest.param("", None, [[0, 1, 2, 3]], id="anywhere without a key"),
        pytest.param("rack", None, [[0, 2], [1]], id="in any domain of its key"),
        pytest.param("rack", "r2", [[1]], id="in that of its members that run"),
        pytest.param("rack", "r3", [], id="nowhere if that is not there"),
    ],
)
def test_it_may_be(key, value, want):
    state = requirements_of([*NODES, *gang(1, 1)]).state

    assert want == [place.nodes.tolist() for place in RequiredPods(0, key, value).domains_in(state, state.topology.root)]
