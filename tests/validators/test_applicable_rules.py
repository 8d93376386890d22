"""Applicable rules: rules that are skipped would have reported nothing."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import workloads
from tests.oracle.test_rules_against_oracle import Maker
from tests.sampling import sampled
from validators import applicable_rules
from validators.gates import Gates
from validators.lookup import KnownObjects
from validators.model import decode
from validators.rules.base import Context, Operation, Settings
from validators.versions.form import HUB

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
    typed, before = decode.decode(kind, new), None if old is None else decode.decode(kind, old)
    operation = Operation.CREATE if old is None else Operation.UPDATE

    def context() -> Context:
        return Context(typed, before, operation, settings=settings, lookup=EMPTY)

    requested = applicable_rules.rules_for_object(kind, HUB, operation, "", settings, context().traits)
    every = applicable_rules.rules_for_request(kind, HUB, operation, "", settings)
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
    context = Context(decode.decode("Workload", workloads.usual()), None, Operation.CREATE, settings=settings, lookup=EMPTY)

    requests = applicable_rules.rules_for_object("Workload", HUB, Operation.CREATE, "", settings, context.traits)
    assert [rule.id for rule in requests] == ["priority-class-exists"]
