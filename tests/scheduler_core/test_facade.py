"""Public function ``scheduler_core.simulate``: the command's answers, and its stable names."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import scheduler_core
from muster import cli
from muster.render.answer_json import decision_json
from muster.render.cause_keys import member_word
from scheduler_core import facade
from scheduler_core.model import decision as internal
from scheduler_core.model.decision import GroupDecision
from tests.scheduler_core.wording.examples import field_names

PLACEMENT = Path(__file__).parents[2] / "muster" / "commands" / "demo" / "data" / "placement"
PROMISED = {
    "Decision": (
        *("root", "status", "message", "assignments", "nominations", "victims", "groups", "search", "pending"),
        *("remedies", "conflict", "remedies_note", "preemption"),
    ),
    "Domain": ("key", "value"),
    "Eviction": ("units", "lower", "violating", "proved"),
    "GroupCondition": ("type", "status", "reason", "message"),
    "GroupDecision": ("group", "status", "message", "domain", "conditions"),
    "Name": ("kind", "namespace", "name"),
    "Problem": ("object", "message", "kind", "names"),
    "Remedy": ("change", "steps", "then"),
    "Search": ("strategy", "outcome", "explored", "objective"),
    "Simulation": ("decisions", "pending", "problems"),
    "Step": ("apply", "delete"),
}
"""Fields of each type of the result.  Names here are never removed."""


def objects() -> list[Any]:
    return [each for path in sorted(PLACEMENT.iterdir()) for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def by_the_command(directory: Path, *arguments: str) -> dict[str, Any]:
    files = [str(path) for path in sorted(directory.iterdir())]
    return json.loads(CliRunner().invoke(cli.main, ["simulate", "--format", "json", *arguments, *files]).stdout)


def as_json(decision: scheduler_core.Decision) -> dict[str, Any]:
    """Return the JSON of a decision, whose texts replace the values that the command words."""
    worded = {"message", "pending", "groups", "remedies", "conflict", "remedies_note"}
    same = {each.name: getattr(decision, each.name) for each in dataclasses.fields(decision) if each.name not in worded}
    groups = tuple(GroupDecision(each.group, each.status, domain=each.domain) for each in decision.groups)
    found = decision_json(internal.Decision(**same, groups=groups))
    words: dict[str, Any] = {"message": decision.message}
    words["groups"] = [
        {**shown, "message": each.message, "conditions": [*map(dataclasses.asdict, each.conditions)]}
        for shown, each in zip(found["groups"], decision.groups, strict=True)
    ]
    words["remedies"] = [{"change": each.change, "steps": steps(each), "then": each.then} for each in decision.remedies]
    words |= {"conflict": [*decision.conflict]} if decision.conflict else {}
    words |= {"remediesNote": decision.remedies_note} if decision.remedies_note else {}
    return json.loads(json.dumps(found | words))


def steps(remedy: scheduler_core.Remedy) -> list[Any]:
    return [{"apply": each.apply} if each.apply is not None else {"delete": each.delete} for each in remedy.steps]


def by_the_function(**options: Any) -> dict[str, Any]:
    result = scheduler_core.simulate(objects(), **options)
    return {
        "decisions": [as_json(each) for each in result.decisions],
        "pending": [{"pod": pod, "reason": reason} for pod, reason in result.pending.items()],
        "problems": [{"object": each.object, "message": each.message, "reason": member_word(each.kind)} for each in result.problems],
    }


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        pytest.param([], {}, id="defaults"),
        pytest.param(["--strategy", "greedy"], {"strategy": "greedy"}, id="greedy"),
        pytest.param(["--strategy", "greedy", "--remedies", "1"], {"strategy": "greedy", "remedies": 1}, id="greedy with a remedy"),
        pytest.param(["--evict"], {"evict": True}, id="two cycles"),
        pytest.param(["--order", "sweep,evaluation"], {"order": ["sweep", "evaluation"]}, id="another order"),
        pytest.param(["--scheduler-name", "nobody"], {"scheduler_name": "nobody"}, id="no pod of that scheduler"),
        pytest.param(["--gates", "CompositePodGroup=false"], {"gates": {"CompositePodGroup": False}}, id="a gate is off"),
        pytest.param(["--budget", "1", "--remedies", "0"], {"budget": 1, "remedies": 0}, id="a budget that is spent at once"),
    ],
)
def test_it_answers_as_the_command_does(arguments: list[str], options: dict[str, Any]) -> None:
    want = by_the_command(PLACEMENT, *arguments)

    assert by_the_function(**options) == {key: without_causes(want[key]) for key in ("decisions", "pending", "problems")}


def without_causes(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return decisions, groups or pods without their causes, which the library returns in words only."""
    groups = ({"groups": without_causes(each["groups"])} if "groups" in each else {} for each in parts)
    return [{key: value for key, value in (each | own).items() if key != "causes"} for each, own in zip(parts, groups, strict=True)]


def test_the_order_of_the_objects_changes_nothing() -> None:
    assert scheduler_core.simulate(reversed(objects())) == scheduler_core.simulate(objects())


def test_objects_may_be_texts_and_lists() -> None:
    whole = {"apiVersion": "v1", "kind": "List", "items": objects()}

    assert scheduler_core.simulate([json.dumps(whole).encode()]) == scheduler_core.simulate(objects())


def test_placed_is_about_the_end() -> None:
    """The evaluation is placed in the second cycle, without its victims; the sweep is not."""
    without_sweep = [each for each in objects() if "sweep" not in each["metadata"]["name"]]

    assert not scheduler_core.simulate(objects(), evict=True).placed
    assert not scheduler_core.simulate(without_sweep).placed
    assert scheduler_core.simulate(without_sweep, evict=True).placed
    assert scheduler_core.simulate([]).placed


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        pytest.param({"strategy": "best"}, "strategy must be one of greedy, complete, is 'best'", id="strategy"),
        pytest.param({"gates": {"Nonsense": True}}, "there is no feature gate 'Nonsense'", id="gate"),
        pytest.param(
            {"gates": {"PodGroupPreemptionPolicy": True}, "kubernetes": "1.38"}, "in Kubernetes 1.38", id="gate of another version"
        ),
        pytest.param({"gates": {"GenericWorkload": False, "CompositePodGroup": True}}, "no API server starts with", id="gates"),
        pytest.param({"order": ["nothing"]}, "nothing", id="order"),
    ],
)
def test_a_mistake_is_a_value_error(options: dict[str, Any], reported: str) -> None:
    with pytest.raises(ValueError, match=reported):
        scheduler_core.simulate(objects(), **options)


def test_what_is_promised_is_there() -> None:
    assert {*PROMISED, "ProblemKind", "Status", "simulate"} == set(scheduler_core.__all__)
    fields = {name: {*field_names(getattr(scheduler_core, name))} for name in PROMISED}
    assert {name: set(listed) - fields[name] for name, listed in PROMISED.items()} == {name: set() for name in PROMISED}
    assert {"SUCCESS", "WAIT", "UNSCHEDULABLE", "UNRESOLVABLE", "INVALID", "ERROR"} <= set(scheduler_core.Status.__members__)
    parameters = inspect.signature(scheduler_core.simulate).parameters
    assert {"objects", "strategy", "evict", "order", "scheduler_name", "gates", "budget", "remedies"} <= set(parameters)
    assert all(each.default is not inspect.Parameter.empty for name, each in parameters.items() if name != "objects")


def test_the_example_of_its_docstring_runs() -> None:
    assert doctest.testmod(facade, raise_on_error=True).attempted >= 6


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        scheduler_core.nothing  # noqa: B018 - read for its error
