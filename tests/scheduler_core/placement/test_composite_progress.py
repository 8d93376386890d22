"""Progress of the children of a composite, and when trying can stop."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.feasibility import CompositeProgress, inadmissible
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.scheduler_core.builders import cases, composite, entities, leaf, node, pod, pods, state

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
