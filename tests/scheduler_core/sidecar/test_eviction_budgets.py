"""Preemption that disruption budgets forbid: which budget and victims the conditions, events and remedies name, and when it is retried."""

from __future__ import annotations

import dataclasses
from typing import Any

import jsonschema
import pytest

from kubeapi.selectors import LabelSelector
from muster.commands.schema.cause_schemas import definitions
from muster.render.answer_json import decision_json
from scheduler_core.causes.attempts import PluginReason
from scheduler_core.causes.live import EvictionRefused, EvictionsBlocked, ExceededBudget
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.sidecar.scheduling.eviction_budgets import BlockedPreemption, blocked_preemption
from scheduler_core.sidecar.writes import Evict, EvictionMethod, RecordEvent, SetCondition, WriteOutcome
from scheduler_core.wording.changes import remedy_text
from scheduler_core.wording.decision_words import causes_words
from tests import builders
from tests.scheduler_core.builders import Json, conditions_of, message_of, pod, reasons_of
from tests.scheduler_core.sidecar.test_scheduler import Crowded, G, of

RETRY = "retried when a PodDisruptionBudget changes, at the latest after 300 s"


def budget(allowed: int, name: str = "keep", app: str = "low", **status: Any) -> Json:
    return builders.disruption_budget(name, app, allowed, **status)


def low(count: int = 4, **labels: str) -> list[Json]:
    return [pod(f"low-{number}", on="n1", priority=0, labels={"app": "low", **labels}) for number in range(count)]


def crowded(*more: Json, **options: Any) -> Crowded:
    return Crowded(*low(), *more, **options)


def conditions(writes: list[Any]) -> dict[str, str]:
    return {write.target.name: write.condition.message for write in of(SetCondition, writes)}


def events(writes: list[Any]) -> list[str]:
    return [write.message for write in of(RecordEvent, writes)]


def decision(scene: Crowded) -> Decision:
    result = scene.scheduler.explain("default", "g")
    assert result is not None
    return result.decision


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_budget_that_allows_too_few_disruptions_is_named_with_its_victims(strategy):
    scene = crowded(budget(1), strategy=strategy)
    writes = scene.writes()
    victims = ", ".join(decision(scene).victims)
    note = f"preemption is blocked: PodDisruptionBudget default/keep allows 1 disruption and matches 2 victims ({victims}); {RETRY}"

    assert [] == of(Evict, writes)
    message = conditions(writes)["g"]
    assert message.startswith("pod group is unschedulable")
    assert message.endswith(note)
    assert {"g", "g-0", "g-1"} == {name for name, text in conditions(writes).items() if note in text}
    assert any(text.startswith(note) for text in events(writes))
    assert message_of(decision(scene)).startswith(note)
    (remedy,) = decision(scene).remedies
    assert "PodDisruptionBudget default/keep deleted, or changed to allow 2 disruptions; the victims are then evicted" == remedy_text(
        remedy
    )
    assert decision(scene).status is remedy.then, "the victims are evicted first"


def test_a_live_decision_has_causes_in_the_published_form():
    scene = crowded(budget(1))
    scene.writes()
    causes = decision_json(decision(scene))["causes"]

    jsonschema.validate(causes, {"type": "array", "items": {"$ref": "#/$defs/cause"}, "$defs": definitions()})
    assert ["EvictionsBlocked", "PodsDoNotFit", "NoPlacementExists"] == [each["reason"] for each in causes]
    exceeded = {"reason": "ExceededBudget", "budget": "PodDisruptionBudget default/keep", "disruptionsAllowed": 1}
    assert [{**exceeded, "victims": decision(scene).victims}] == [{**each, "victims": (*each["victims"],)} for each in causes[0]["causes"]]


@pytest.mark.parametrize(
    ("budgets", "deleted"),
    [
        pytest.param([budget(1)], ["keep"], id="one that allows too few"),
        pytest.param([budget(4), budget(4, "also")], ["keep"], id="all but one that overlap"),
        pytest.param([budget(0), budget(4, "also")], ["keep"], id="the one that allows none, of two"),
        pytest.param([budget(0), budget(1, "also")], ["also", "keep"], id="both"),
    ],
)
def test_the_victims_are_evicted_once_the_steps_of_the_remedy_are_done(budgets, deleted):
    scene = crowded(*budgets)
    scene.end(scene.writes())
    (remedy,) = decision(scene).remedies
    assert deleted == [step.delete["name"] for step in remedy.steps]
    for step in remedy.steps:
        scene.delete(step.delete["kind"], step.delete["name"])
    scene.now += 100
    assert 2 == len(scene.plan())


def test_a_pod_with_two_budgets_is_named_because_no_eviction_of_it_succeeds():
    scene = crowded(budget(4), budget(4, "also"))
    writes = scene.writes()

    assert [] == of(Evict, writes)
    for victim in decision(scene).victims:
        overlap = f"pod {victim} matches PodDisruptionBudgets also and keep, and the eviction API refuses a pod with more than one"
        assert overlap in conditions(writes)["g"]


@pytest.mark.parametrize(
    ("budgets", "method", "planned"),
    [
        pytest.param([budget(2)], EvictionMethod.EVICT, True, id="as many as are needed"),
        pytest.param([budget(0)], EvictionMethod.DELETE, True, id="deletion, which ignores budgets"),
        pytest.param([budget(0, app="other")], EvictionMethod.EVICT, True, id="a budget of other pods"),
        pytest.param([budget(0)], EvictionMethod.EVICT, False, id="none"),
    ],
)
def test_victims_are_evicted_where_the_budgets_allow_all_of_them(budgets, method, planned):
    scene = crowded(*budgets, eviction_method=method)
    assert planned == any(each.plan for each in scene.scheduler.attempt(scene.now))


STARTING = {"phase": "Pending"}
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
ENOUGH, TOO_FEW = {"currentHealthy": 3, "desiredHealthy": 3}, {"currentHealthy": 2, "desiredHealthy": 3}


def always(allowed: int, **status: Any) -> Json:
    result = budget(allowed, **status)
    result["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    return result


@pytest.mark.parametrize(
    ("status", "budgets", "planned"),
    [
        pytest.param(STARTING, [budget(0)], True, id="no budget protects a pod that has not started"),
        pytest.param(STARTING, [budget(0), budget(0, "also")], True, id="nor do two"),
        pytest.param(UNREADY, [budget(0, **ENOUGH)], True, id="an unready pod, and as many healthy pods as desired"),
        pytest.param(UNREADY, [budget(0, **TOO_FEW)], False, id="an unready pod, and too few healthy pods"),
        pytest.param(UNREADY, [budget(0)], False, id="an unready pod, and none desired"),
        pytest.param(UNREADY, [always(0, **TOO_FEW)], True, id="an unready pod, and the policy AlwaysAllow"),
        pytest.param(UNREADY, [always(4), always(4) | {"metadata": {"name": "also", "namespace": "default"}}], False, id="two budgets"),
        pytest.param(READY, [budget(0, **ENOUGH)], False, id="a ready pod"),
        pytest.param(READY, [always(0)], False, id="a ready pod, and the policy AlwaysAllow"),
    ],
)
def test_pods_are_protected_as_the_eviction_api_protects_them(status, budgets, planned):
    scene = Crowded(*({**each, "status": status} for each in low()), *budgets)
    assert planned == any(each.plan for each in scene.scheduler.attempt(scene.now))


def test_an_eviction_that_the_budget_has_counted_is_not_counted_again():
    disrupted = {f"low-{number}": "2026-08-01T00:00:00Z" for number in range(4)}
    assert 2 == len(crowded(budget(0, disruptedPods=disrupted)).plan())


def test_it_is_retried_once_the_budget_changes_and_nothing_is_written_until_then():
    scene = crowded(budget(1))
    scene.end(scene.writes())
    assert [] == scene.wait(100)
    scene.put(budget(2))
    assert 2 == len(scene.plan())


def test_a_refusal_of_the_api_server_is_reported_until_a_dry_run_passes():
    scene = crowded()
    plan = scene.plan()
    note = f"preemption is blocked: the eviction of pod {plan[0].pod.key} was refused: disruptions are too many"
    writes = list(scene.scheduler.eviction_refused(G, plan[0].pod, "disruptions are too many", scene.now))
    assert note in conditions(writes)["g"]
    assert any(text.startswith(note) for text in events(writes))
    scene.end(writes)
    scene.end(scene.wait(20))
    assert message_of(decision(scene)).startswith(note)

    scene.now += 300
    (attempt,) = scene.scheduler.attempt(scene.now)
    assert (2, ()) == (len(attempt.plan), attempt.writes), "the dry run may be refused again"
    after = scene.approve()
    assert 2 == len(of(Evict, after))
    assert "preempting 2 victims" in conditions(after)["g"]
    assert "blocked" not in conditions(after)["g"]


def test_a_refusal_after_the_dry_run_is_reported_with_the_next_attempt():
    scene = crowded()
    plan = scene.plan()
    scene.approve()
    scene.end(list(plan), WriteOutcome.REFUSED)
    writes = scene.wait(20)
    assert "was refused: so it is" in conditions(writes)["g"]


def test_a_long_message_is_cut_and_the_reason_is_not():
    scene = crowded()
    scene.writes()
    blocked = BlockedPreemption(EvictionRefused("default/low-0", "x" * 2000)).added_to(decision(scene), 300)
    note = causes_words(blocked.causes[:1])
    assert len(note) < 600
    messages = [each.message for each in conditions_of(blocked)]
    assert messages
    assert all(message.endswith(note) and len(message) <= 1024 for message in messages)
    long = dataclasses.replace(blocked, pending={pod: (PluginReason("y" * 2000), *causes) for pod, causes in blocked.pending.items()})
    assert all(text.endswith(f" more characters; {note}") and len(text) <= 1024 for text in reasons_of(long).values())


def test_many_victims_are_counted_and_three_are_named():
    budgets = [DisruptionBudget("default", "keep", LabelSelector(match_labels={"app": "low"}), 1, frozenset())]
    scene = crowded()
    scene.writes()
    victims = [record for record in scene.store.usage.records() if record.node >= 0]
    blocked = blocked_preemption(budgets, victims)
    assert blocked is not None
    keep = Name("PodDisruptionBudget", "default", "keep")
    assert (ExceededBudget(keep, 1, tuple(f"default/low-{number}" for number in range(4))),) == blocked.by
    text = "PodDisruptionBudget default/keep allows 1 disruption and matches 4 victims (default/low-0, default/low-1, default/low-2 and 1 more)"
    assert f"preemption is blocked: {text}; {RETRY}" == causes_words((EvictionsBlocked(blocked.by, 300.0),))
