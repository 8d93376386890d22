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
    "dfa554f4254887bfcddeb94d",
    "ba7fda4fb2d3fa061da5d4db",
    "af2226a869b20c72b69b0cf8",
    "397a0cba22bfd91376e584ac",
    "cf02f036e6f10f5407f13a10",
    "78f6f52c26eba7efbb4c87d6",
    "d03321f7ee9e40adf7ceee33",
    "709a91574cd04451ee62a940",
)
DECISIONS = (
    "204a4771bbe95f2cd43473cc",
    "f352ed8c0ba7f6f26df1166a",
    "d24002fb6c04c0c108b9dc25",
    "b29e773c376bdad40406e02e",
    "74427c10a0ae772ab9fe97ed",
    "f4679396dff235aa2563ae21",
    "1364e1b3e5e4cb4b32284369",
    "ec19fbb9ab584582bb316c9a",
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
