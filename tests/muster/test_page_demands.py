"""What groups ask of a domain."""

from __future__ import annotations

import pytest

from scheduler_core.diagnosis.domain_amounts import demands
from tests.muster.paged import RACK, ZONE, gang, member, racks
from tests.muster.test_page_figure import tree, turn_of


def demanded(objects, name):
    attempt = turn_of(objects, name)[1]
    return demands(attempt.entity, attempt.decision.causes)


def asked(objects, name):
    """Title, keys of the levels and number of pods of each demand."""
    return [("all of " * each.whole + each.group, [link.key for link in each.chain], each.pods) for each in demanded(objects, name)]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(gang("t", 3, key=RACK, cpu="9"), [("t", [RACK], 3)], id="a gang"),
        pytest.param(gang("t", 5, minimum=2, cpu="9"), [("t", [], 2)], id="only as many pods as must be, and no level"),
        pytest.param([member("t", cpu="9")], [("t", [], 1)], id="a pod"),
        pytest.param(
            tree((2, RACK), (3, "")),
            [("all of t", [ZONE], 5), ("g0", [ZONE, RACK], 2), ("g1", [ZONE], 3)],
            id="a tree, with what is around each",
        ),
        pytest.param(
            tree((2, ""), (4, ""), (3, ""), minimum=2),
            [("all of t", [ZONE], 5), ("g0", [ZONE], 2), ("g1", [ZONE], 4), ("g2", [ZONE], 3)],
            id="its smallest groups",
        ),
        pytest.param(tree((2, RACK), (3, RACK), key=""), [("g0", [RACK], 2), ("g1", [RACK], 3)], id="a tree without a level"),
        pytest.param(
            tree((2, ZONE), (3, ZONE)), [("all of t", [ZONE], 5), ("g0", [ZONE], 2), ("g1", [ZONE], 3)], id="the same level twice"
        ),
    ],
)
def test_demands(objects, want):
    assert want == asked([*racks(1, 1, cpu="2"), *objects], "t")


def test_running_pods_are_not_counted_as_needed():
    objects = [*racks(1, 1), *gang("t", 3, key=RACK, cpu="3", minimum=4), member("t-runs", "t", on="r2-1")]
    assert [("t", [RACK], 3)] == asked(objects, "t")
    (demand,) = demanded(objects, "t")
    assert [frozenset({1})] == [link.pinned for link in demand.chain]


def test_a_demand_is_as_much_as_its_pods_take():
    (demand,) = demanded([*racks(1), *gang("t", 3, cpu="3")], "t")
    assert (3, 9000, 0) == (demand.pods, demand.amount(0), demand.amount(1))
