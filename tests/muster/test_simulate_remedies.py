"""What would help: looked for as far as it is asked for, told as lines and as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.simulate.request import InvalidOptions, SimulationRequest, with_options
from muster.render import answer_json, answer_text
from muster.render.answer import Answer
from muster.render.tree_rows import Kinship
from scheduler_core.causes.changes import EvictedUnits, SearchLimit
from scheduler_core.causes.constraints import RunningPodsKeepNodes, TakesCapacity
from scheduler_core.model.decision import Decision, Remedy, Step
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from tests.muster.simulated import failed_gang, gang, lone, node, pod, stated

OBJECTS = [
    node("n1", cpu="2"),
    *(each for name in ("a", "b", "c", "d") for each in (gang(name, 5), *(pod(f"{name}-{number}", group=name) for number in range(5)))),
]
GONE = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "old"}
OLD = Name("Pod", "default", "old")
REMEDY = Remedy(EvictedUnits(1, (OLD,)), (Step(delete=GONE), Step(apply={"kind": "PodGroup"})))
EVICTED = "Pod default/old evicted (1 running pod)"
CONFLICT = (TakesCapacity(Name("PodGroup", "default", "a")), RunningPodsKeepNodes())


def simulated(*arguments, objects=OBJECTS):
    return CliRunner().invoke(cli.main, ["simulate", "-", *arguments], input="\n".join(map(json.dumps, objects)))


def with_remedies(*arguments):
    """How many of the four roots have any, and how many have none."""
    decisions = json.loads(simulated("--format", "json", *arguments).stdout)["decisions"]
    return [bool(each["remedies"]) for each in decisions]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([], [True, True, True, False], id="the first three"),
        pytest.param(["--remedies", "1"], [True, False, False, False], id="as many as asked for"),
        pytest.param(["--remedies", "0"], [False] * 4, id="none"),
        pytest.param(["--strategy", "greedy"], [False] * 4, id="greedy decides as kube-scheduler and no more"),
        pytest.param(["--strategy", "greedy", "--remedies", "4"], [True] * 4, id="greedy, asked for"),
    ],
)
def test_so_many_roots_are_helped(arguments, want):
    assert want == with_remedies(*arguments)


def test_a_limit_of_roots_is_a_note():
    def notes(*arguments):
        return json.loads(simulated("--format", "json", *arguments).stdout).get("notes", [])

    message = "searched for 3 of the 4 roots that are not placed; set --remedies 4 for all of them"
    causes = [{"reason": "SearchedRoots", "searched": 3, "roots": 4}]
    want = {"object": "Remedies", "message": message, "reason": "RemediesLimited", "causes": causes}
    assert [want] == notes()
    assert [] == notes("--remedies", "4")
    assert [] == notes("--remedies", "0")
    assert "Remedies: searched for 3 of the 4 roots" in simulated().stdout


def test_more_nodes_than_a_root_needs_are_explained():
    """The earlier root is not placed either, and takes the first new node."""
    roots = [each for name in ("a", "b") for each in (gang(name, 1), pod(f"{name}-0", group=name, cpu="1"))]
    objects = [node("n1", cpu="1"), *roots, pod("run", on="n1", cpu="1")]
    decisions = json.loads(simulated("--format", "json", objects=objects).stdout)["decisions"]

    changes = {each["root"]["name"]: [remedy["change"] for remedy in each["remedies"]] for each in decisions}
    assert "1 more node like n1" in changes["a"]
    assert "2 more nodes like n1, because PodGroup default/a is ahead in the queue and uses 1 of them" in changes["b"]


def test_a_remedy_applied_is_placed():
    answer = json.loads(simulated("--format", "json").stdout)
    steps = answer["decisions"][0]["remedies"][0]["steps"]
    changed = {(each["kind"], each["metadata"]["name"]): each for each in [*OBJECTS, *(step["apply"] for step in steps)]}
    again = json.loads(simulated("--format", "json", objects=[*changed.values()]).stdout)

    assert (answer["decisions"][0]["root"], "Success") == (again["decisions"][0]["root"], again["decisions"][0]["status"])


def test_json_has_the_change_its_steps_and_what_comes_of_it():
    told = dataclasses.replace(failed_gang(), remedies=(REMEDY,), conflict=CONFLICT, remedies_note=SearchLimit.TRIES)
    decision = answer_json.as_json(Answer.from_decisions([told]))["decisions"][0]

    steps = [{"delete": GONE}, {"apply": {"kind": "PodGroup"}}]
    assert [{"change": EVICTED, "steps": steps, "then": "Success"}] == decision["remedies"]
    assert ["PodGroup default/a also takes capacity", "running pods keep their nodes"] == decision["conflict"]
    assert "the search for remedies stopped at the maximum number of tries; there may be more" == decision["remediesNote"]


def test_text_reports_conflicting_constraints_and_remedies():
    told = dataclasses.replace(failed_gang(), remedies=(REMEDY,), conflict=CONFLICT, remedies_note=SearchLimit.STEPS)
    lines = answer_text.render(Answer.from_decisions([told]), Kinship()).splitlines()

    at = lines.index("     what would help:")
    assert [
        "     conflicting constraints: PodGroup default/a also takes capacity; running pods keep their nodes",
        "     what would help:",
        f"       - {EVICTED}",
        "     some changes could not be decided within the search limits; there may be more remedies",
    ] == lines[at - 1 : at + 3]


def test_a_single_pod_that_preemption_can_help_is_distinguished_from_many():
    pods = [Decision(lone(f"p{number}"), Status.UNSCHEDULABLE, pending={f"default/p{number}": stated("why")}) for number in range(20)]
    text = answer_text.render(Answer.from_decisions([dataclasses.replace(pods[0], remedies=(REMEDY,)), *pods[1:]]), Kinship())

    assert (f"- {EVICTED}" in text, "✗ 19 pods without a group" in text) == (True, True)


def test_a_root_that_waits_for_members_is_updated_once_a_change():
    short = [node("n1"), gang("half", 2), pod("half-0", group="half")]
    change = "minCount of PodGroup default/half lowered from 2 to 1"
    (decision,) = json.loads(simulated("--format", "json", objects=short).stdout)["decisions"]

    assert ("Wait", [change]) == (decision["status"], [each["change"] for each in decision["remedies"]])
    assert 1 == " ".join(simulated(objects=short).stdout.split()).count(change)


@pytest.mark.parametrize("value", [-1, True, "3", 1.5, 100_000_001], ids=repr)
def test_remedies_are_requested_by_a_number(value):
    with pytest.raises(InvalidOptions, match=r"option remedies: must be a number of roots from 0 to 100000000$"):
        with_options(SimulationRequest(), {"remedies": value})
