"""The JSON of a simulation: its shape is a promise."""

from __future__ import annotations

import dataclasses
import json

from kubeapi.problem import Problem, SeveralObjects
from muster.render import answer_json
from muster.render.answer import Answer
from muster.render.problem_words import problem_words
from scheduler_core.model.decision import Eviction, RankedGroup, RankLevel
from scheduler_core.model.names import Name
from tests.muster.simulated import failed_gang, leaf, placed_tree, preempting, stated


def rendered(*decisions, **rest):
    return json.loads(answer_json.render(Answer.from_decisions(decisions, **rest)))


def test_shape_of_a_whole_answer():
    answer = rendered(
        placed_tree(), rootless=[("default/lonely", stated("why"))], problems=[Problem.about(Name("Node", "", "n"), SeveralObjects())]
    )

    assert list(answer) == ["version", "decisions", "pending", "problems", "summary"]
    assert answer["version"] == 1
    assert answer["pending"] == [{"pod": "default/lonely", "reason": "why", "causes": [{"reason": "PluginReason", "message": "why"}]}]
    assert answer["problems"] == [{"object": "Node n", "message": problem_words(Problem(SeveralObjects())), "reason": "SeveralObjects"}]
    assert answer["summary"] == {"roots": 1, "placed": 1, "pods": 4}


def test_shape_of_a_decision():
    (decision,) = rendered(placed_tree())["decisions"]

    assert decision == {
        "root": {"kind": "CompositePodGroup", "namespace": "default", "name": "run"},
        "status": "Success",
        "message": "",
        "assignments": {"default/a-0": "n1", "default/a-1": "n1", "default/b-0": "n2", "default/b-1": "n10"},
        "nominations": {},
        "victims": [],
        "groups": decision["groups"],
        "search": {"strategy": "greedy", "outcome": "not-searched", "explored": 0},
        "remedies": [],
    }
    assert list(decision) == ["root", "status", "message", "assignments", "nominations", "victims", "groups", "search", "remedies"]


def test_shape_of_the_rank_order():
    level = RankLevel("topology.example/rack", domains=2, apart=1)
    (decision,) = rendered(dataclasses.replace(placed_tree(), ranks=(RankedGroup(leaf("b"), 4, (level,)),)))["decisions"]

    assert decision["ranks"] == [
        {
            "kind": "PodGroup",
            "namespace": "default",
            "name": "b",
            "pods": 4,
            "levels": [{"key": "topology.example/rack", "domains": 2, "apart": 1}],
        }
    ]


def test_shape_of_a_group():
    (decision,) = rendered(placed_tree())["decisions"]

    assert decision["groups"][1] == {
        "kind": "PodGroup",
        "namespace": "default",
        "name": "a",
        "status": "Success",
        "message": "",
        "domain": {"key": "topology.example/rack", "value": "r1"},
        "conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}],
    }


def test_group_without_a_domain_says_so():
    (decision,) = rendered(failed_gang())["decisions"]
    assert decision["groups"][0]["domain"] is None


def test_pods_of_decided_roots_are_among_the_pending():
    answer = rendered(failed_gang())
    assert [each["pod"] for each in answer["pending"]] == ["default/g-0", "default/g-1", "default/g-2"]


def test_pods_are_sorted_by_name():
    (decision,) = rendered(preempting())["decisions"]

    assert list(decision["nominations"]) == ["default/urgent-0", "default/urgent-1"]
    assert decision["victims"] == ["default/low-0", "default/low-1", "default/web"]


def test_seconds_are_reported_where_they_were_measured():
    assert rendered(placed_tree(), seconds=0.12345)["summary"]["seconds"] == 0.123


def test_one_line_has_no_line_end_inside():
    text = answer_json.line({"id": 1, **answer_json.as_json(Answer.from_decisions([failed_gang(message="a\nb")]))})

    assert text.endswith("}\n")
    assert text.count("\n") == 1


def test_the_quality_of_the_choice_is_reported_with_the_victims():
    (plain,) = rendered(preempting())["decisions"]
    (told,) = rendered(dataclasses.replace(preempting(), preemption=Eviction(3, 2, 1)))["decisions"]

    assert "preemption" not in plain
    assert told["preemption"] == {"units": 3, "lowerBound": 2, "gap": 1, "violating": 1, "proved": False}


def test_each_pod_has_its_own_causes_and_pods_with_the_same_causes_share_them():
    pending = rendered(failed_gang("no placement", "0/3 nodes"))["pending"]

    assert [("default/g-0", "no placement"), ("default/g-1", "0/3 nodes"), ("default/g-2", "0/3 nodes")] == [
        (each["pod"], each["reason"]) for each in pending
    ]
    assert all(each["causes"] == [{"reason": "PluginReason", "message": each["reason"]}] for each in pending)
