"""Texts of diagnoses of random clusters, and of decisions, are those that were recorded; ``python -m`` of this module prints their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from scheduler_core import diagnosis
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.wording.conditions import conditions
from scheduler_core.wording.decision_words import group_message
from tests.scheduler_core.builders import message_of, reasons_of
from tests.scheduler_core.diagnosis.diagnosing import outcomes, pods_words, worded
from tests.scheduler_core.wording.refused_clusters import OPTIONS, refused_cluster

STEP = 40
"""Number of clusters in one digest."""
RECORDED = (
    "4e2b58439a01f934c845e48b",
    "371debc58709b66f18fa3af9",
    "1cbbf7b477caf5a69a5fd702",
    "33f03f372f8d2b749bcf67c3",
    "36e8460e91ca03880a9cb746",
    "d7318dee1476ebc459acb5a8",
    "4ef05106c81f7aea7f19c87e",
    "719fb17c34b954f53df21889",
)
DECISIONS = (
    "45dff99188e90a696b044a32",
    "5773223129d71102bd41694a",
    "869fc1ef0f90a046bdc5fb01",
    "d59f5a75f9fe799ce99a7a64",
    "8f8c4b7486bdcbba4b3488aa",
    "e105c60a3f2a36d5bcb126fb",
    "8eca23a5c5bad968ba08f118",
    "c5c84585d97c411b1b78baac",
)


def texts(seed: int) -> list[object]:
    """Return all texts about each root of a cluster."""
    found: list[object] = []
    for greedy, request, outcome in outcomes(refused_cluster(seed), options=OPTIONS[seed % len(OPTIONS)]):
        words = worded(diagnosis.explain(greedy, request, outcome))
        groups = sorted((name.name, text) for name, text in words.groups.items())
        found.append([words.message, groups, sorted(words.pods.items()), words.uncertain])
        if outcome.success:
            mark, counted = greedy.state.ledger.mark(), greedy.state.stateful.mark()
            greedy.assume(request, outcome)
            found.append(sorted(pods_words(diagnosis.leftovers(greedy, request, outcome)).items()))
            greedy.state.ledger.rewind(mark)
            greedy.state.stateful.rewind(counted)
    return found


def decided_texts(seed: int) -> list[object]:
    """Return all texts of each decision on a cluster."""
    found: list[object] = []
    for strategy in ("greedy", "complete"):
        options = CycleOptions(strategy=strategy, placing=OPTIONS[seed % len(OPTIONS)])
        for decision in run_cycle(load(refused_cluster(seed)), options).decisions:
            groups = [
                [each.group.name, group_message(each), [[shown.reason, shown.message] for shown in conditions(decision, each)]]
                for each in decision.groups
                if each.group.kind != "Pod"
            ]
            found.append([message_of(decision), sorted(reasons_of(decision).items()), groups])
    return found


def digest(number: int, answer: Callable[[int], list[object]]) -> str:
    answers = [answer(seed) for seed in range(number * STEP, (number + 1) * STEP)]
    return hashlib.sha256(json.dumps(answers).encode()).hexdigest()[:24]


@pytest.mark.parametrize(("number", "want"), [*enumerate(RECORDED)])
def test_texts_are_those_that_were_recorded(number, want):
    assert want == digest(number, texts)


@pytest.mark.parametrize(("number", "want"), [*enumerate(DECISIONS)])
def test_texts_of_decisions_are_those_that_were_recorded(number, want):
    assert want == digest(number, decided_texts)


if __name__ == "__main__":
    for each in (texts, decided_texts):
        print("".join(f'    "{digest(number, each)}",\n' for number in range(8)))
