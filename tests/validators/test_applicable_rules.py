"""Applicable rules: rules that are skipped would have reported nothing."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import workloads
from kubeapi.versions.conversion import HUB
from tests.oracle.test_rules_against_oracle import Maker
from tests.sampling import sampled
from validators import applicable_rules, pipeline, rules
from validators.gates import Gates
from validators.lint import yaml_text
from validators.model import objects
from validators.model.objects import KINDS, Object
from validators.object_lookup import KnownObjects, Lookup
from validators.rules.base import About, Context, Example, Operation, Settings

EMPTY = KnownObjects((), complete=True)
NAMES = ["n", "n", "n", "a.b", "", "Bad", "x" * 64, "x" * 254]
KEYS = ["app", "example.com/app", "", "the app", "/x"]


def manifest(maker: Maker, kind: str) -> dict[str, Any]:
    choose = maker.random.choice
    metadata: dict[str, Any] = {"name": choose(NAMES), "namespace": choose(NAMES)}
    if maker.chance(0.2):
        metadata["generateName"] = choose(["n-", "Bad-"])
    for name in ("labels", "annotations"):
        if maker.chance(0.3):
            metadata[name] = {choose(KEYS): "x", choose(KEYS): "y"}
    return {"kind": kind, "metadata": metadata, "spec": maker.spec(kind)}


def passed_over(kind: str, new: dict[str, Any], old: dict[str, Any] | None, settings: Settings) -> dict[str, int]:
    """Return the number of errors that skipped rules would have reported."""
    return passed_over_of(objects.decode_kind(kind, new), None if old is None else objects.decode_kind(kind, old), settings, EMPTY)


def passed_over_of(new: Object, old: Object | None, settings: Settings, lookup: Lookup) -> dict[str, int]:
    operation = Operation.CREATE if old is None else Operation.UPDATE

    def context() -> Context:
        return Context(new, old, operation, settings=settings, lookup=lookup)

    requested = applicable_rules.rules_for_object(new.kind, HUB, operation, "", settings, context().traits)
    every = applicable_rules.rules_for_request(new.kind, HUB, operation, "", settings)
    messages = {rule.id: len([*rule.check(context())]) for rule in every if rule not in requested}
    return {name: count for name, count in messages.items() if count}


@pytest.mark.parametrize("linting", [False, True], ids=["at admission", "in files"])
@pytest.mark.parametrize("kind", ["Workload", "PodGroup", "CompositePodGroup", "Job"])
def test_nothing_is_passed_over(kind: str, linting: bool) -> None:
    settings = Settings(linting=linting)
    for seed in range(sampled(1200)):
        maker = Maker(seed)
        old, other = manifest(maker, kind), manifest(maker, kind)
        new = maker.changed(old, other)

        assert passed_over(kind, old, None, settings) == {}, (seed, old)
        assert passed_over(kind, new, old, settings) == {}, (seed, new, old)


def test_nothing_is_passed_over_where_gates_are_off() -> None:
    settings = Settings(gates=Gates(frozenset({"TopologyAwareWorkloadScheduling", "CompositePodGroup"})))
    for seed in range(sampled(600)):
        maker = Maker(seed)
        old = manifest(maker, "Workload")

        assert passed_over("Workload", maker.changed(old, None), old, settings) == {}, (seed, old)


def test_few_rules_are_evaluated_for_a_valid_workload() -> None:
    """Only rules that depend on other objects, such as that its priority class exists."""
    settings = Settings()
    context = Context(objects.decode_kind("Workload", workloads.usual()), None, Operation.CREATE, settings=settings, lookup=EMPTY)

    requests = applicable_rules.rules_for_object("Workload", HUB, Operation.CREATE, "", settings, context.traits)
    assert [rule.id for rule in requests] == ["priority-class-exists"]


@pytest.mark.parametrize(
    "example", [each for rule in rules.discover().values() if rule.about is not About.FILE for each in (*rule.good, *rule.bad)]
)
def test_nothing_of_an_example_is_passed_over(example: Example) -> None:
    documents = [each for each in yaml_text.values(example.yaml) if isinstance(each, dict)]
    objects = [item for each in documents if (item := pipeline.decode_for_lookup(each)) is not None]
    known = KnownObjects(objects, complete=True)
    for each in objects:
        if each.kind in KINDS:
            assert passed_over_of(each, None, Settings(linting=True), known) == {}


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "main", "resources": {"claims": [{"name": "fabric"}]}}]},
        {"containers": [], "initContainers": [{"name": "main", "resources": {"claims": [{"name": ""}]}}]},
        {"containers": [], "resourceClaims": [{"name": ""}]},
        {"containers": [], "priorityClassName": "system-node-critical", "priority": 0},
        {"containers": [], "preemptionPolicy": ""},
    ],
)
def test_nothing_of_a_pod_is_passed_over(spec: dict[str, Any]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    assert passed_over("Pod", pod, None, Settings()) == {}
    assert passed_over("Pod", pod, None, Settings(linting=True)) == {}
