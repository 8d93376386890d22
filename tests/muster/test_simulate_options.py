"""The options of a question."""

from __future__ import annotations

import pytest

from muster.commands.simulate import simulation_options
from muster.commands.simulate.node_addition import Addition
from muster.commands.simulate.request import InvalidOptions, SimulationRequest, with_options
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.loading import parsed_pod_specs
from scheduler_core.model.options import PlacingOptions
from validators.gates import Gates


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(None, SimulationRequest(), id="null"),
        pytest.param({}, SimulationRequest(), id="none"),
        pytest.param({"strategy": "greedy"}, SimulationRequest(), id="strategy"),
        pytest.param({"order": ["a", "b"]}, SimulationRequest(CycleOptions(order=("a", "b"))), id="order"),
        pytest.param({"order": "a, b"}, SimulationRequest(CycleOptions(order=("a", "b"))), id="order as a text"),
        pytest.param({"evict": True}, SimulationRequest(CycleOptions(evict=True)), id="evict"),
        pytest.param({"timings": True}, SimulationRequest(timings=True), id="timings"),
        pytest.param({"fragmentation": True}, SimulationRequest(fragmentation=True), id="fragmentation"),
        pytest.param({"drain": ["n1"]}, SimulationRequest(drain=("n1",)), id="drain"),
        pytest.param({"addNodes": ["2 like n1"]}, SimulationRequest(additions=(Addition(2, "n1"),)), id="addNodes"),
        pytest.param(
            {"addNodes": "2 like n1,a=b"}, SimulationRequest(additions=(Addition(2, "n1", (("a", "b"),)),)), id="addNodes as a text"
        ),
        pytest.param({"addNodes": 8, "like": "n1"}, SimulationRequest(additions=(Addition(8, "n1"),)), id="addNodes and like"),
        pytest.param(
            {"addNodes": ["1", "2 like n2", " 3 "], "like": ["n1,a=b", "n3"]},
            SimulationRequest(additions=(Addition(1, "n1", (("a", "b"),)), Addition(2, "n2"), Addition(3, "n3"))),
            id="addNodes in both forms",
        ),
        pytest.param({"drain": "rack=r3, n1"}, SimulationRequest(drain=("rack=r3", "n1")), id="drain by label"),
        pytest.param({"deviceTopology": "a.b/c, d/e"}, SimulationRequest(device_topology=("a.b/c", "d/e")), id="deviceTopology"),
        pytest.param({"schedulerName": "mine"}, SimulationRequest(CycleOptions(scheduler_name="mine")), id="schedulerName"),
        pytest.param(
            {"ignore": ["spec.resourceClaims"]}, SimulationRequest(CycleOptions(ignore=frozenset({"spec.resourceClaims"}))), id="ignore"
        ),
        pytest.param(
            {"gates": {"PodGroupPreemptionPolicy": False}},
            SimulationRequest(CycleOptions(gates=Gates(frozenset({"PodGroupPreemptionPolicy"})))),
            id="gates",
        ),
        pytest.param(
            {"fourStatuses": True, "nominatedFirst": True, "percentageOfPlacements": 0, "everyPod": True, "preemptForLeftovers": True},
            SimulationRequest(
                CycleOptions(
                    placing=PlacingOptions(
                        four_statuses=True, nominated_first=True, percentage_of_placements=0, every_pod=True, preempt_for_leftovers=True
                    )
                )
            ),
            id="placing",
        ),
    ],
)
def test_every_option_is_taken(given, want):
    assert want == with_options(SimulationRequest(), given)


def test_the_later_word_counts():
    before = with_options(SimulationRequest(), {"evict": True, "order": ["a"], "gates": {"PodGroupPreemptionPolicy": False}})
    after = with_options(before, {"evict": False, "gates": {"PodGroupPreemptionPolicy": True}})

    assert after == with_options(SimulationRequest(), {"order": ["a"]})


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param([], "options must be an object", id="a list"),
        pytest.param({"evicts": True}, "there is no option 'evicts'; did you mean evict", id="misspelt"),
        pytest.param(
            {"deviceTopology": "clique"}, "option deviceTopology: 'clique' must be an attribute with its domain", id="no attribute"
        ),
        pytest.param({"evict": "yes"}, "option evict: must be true or false", id="no switch"),
        pytest.param({"timings": 1}, "option timings: must be true or false", id="a number for a switch"),
        pytest.param({"order": [1]}, "option order: must be a list of names", id="no names"),
        pytest.param({"drain": {"n1": True}}, "option drain: must be a list of names", id="an object for a list"),
        pytest.param({"schedulerName": 1}, "option schedulerName: must be a name", id="no name"),
        pytest.param({"percentageOfPlacements": 101}, "option percentageOfPlacements: must be a whole number from 0 to 100", id="too much"),
        pytest.param(
            {"percentageOfPlacements": True}, "option percentageOfPlacements: must be a whole number from 0 to 100", id="true is no number"
        ),
        pytest.param({"rankOrder": False}, "option rankOrder: must be one of on, off, is False", id="rank order that is no word"),
        pytest.param({"strategy": "best"}, "option strategy: must be one of greedy, complete, is 'best'", id="unknown strategy"),
        pytest.param({"budget": 0}, "option budget: must be a number of steps from 1", id="budget"),
        pytest.param({"gates": ["A"]}, "option gates: must be an object of feature gates, each true or false", id="no gates"),
        pytest.param({"gates": {"GangScheduling": True}}, "there is no feature gate 'GangScheduling'", id="unknown gate"),
        pytest.param({"gates": {"GenericWorkload": False}}, "no API server starts", id="gates that do not go together"),
        pytest.param({"addNodes": 3}, "numbers and nodes: 1 and 0", id="a number of nodes"),
        pytest.param({"addNodes": "3"}, "numbers and nodes: 1 and 0", id="a number as a text"),
        pytest.param({"like": "n1"}, "numbers and nodes: 0 and 1", id="like without a number"),
        pytest.param({"addNodes": [1, 2], "like": ["n1"]}, "numbers and nodes: 2 and 1", id="too few to be like"),
        pytest.param({"addNodes": 1, "like": [1]}, "option like: must be a list of strings", id="like a number"),
        pytest.param(
            {"addNodes": -1, "like": "n1"},
            "option addNodes: '-1 like n1': the number of nodes must be from 1 to 100,000",
            id="fewer than none",
        ),
        pytest.param({"addNodes": {"n1": 3}}, "option addNodes: must be a list of strings", id="an object for texts"),
        pytest.param({"addNodes": ["3 n1"]}, "'3 n1' must be 'N like NODE", id="no addition"),
        pytest.param({"ignore": ["spec.volumes.pvc"]}, "is not a field that can be ignored", id="unknown field"),
        pytest.param(
            {"ignore": ["spec.volumes.persistentVolumeClaims"]}, "did you mean spec.volumes.persistentVolumeClaim", id="misspelt field"
        ),
    ],
)
def test_a_mistake_is_reported(given, want):
    with pytest.raises(InvalidOptions, match=want.replace("(", r"\(")):
        with_options(SimulationRequest(), given)


@pytest.mark.parametrize("field", ["spec.volumes[0].persistentVolumeClaim", "spec.volumes.rbd", "spec.resourceClaims[1]"])
def test_a_field_is_ignored_with_or_without_its_place(field):
    assert with_options(SimulationRequest(), {"ignore": [field]}).cycle.ignore == {field}


def test_every_field_that_is_not_modelled_can_be_ignored():
    volumes = {f"spec.volumes.{name}" for name in parsed_pod_specs._VOLUMES.values()}
    assert volumes | {"spec.resourceClaims", "spec.topologySpreadConstraints"} == simulation_options.IGNORABLE
