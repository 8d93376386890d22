"""Texts of diagnoses of random clusters are those that were recorded; ``python -m`` of this module prints their digests."""

from __future__ import annotations

import hashlib
import json

import pytest

from scheduler_core import diagnosis
from scheduler_core.wording.kube_scheduler import pods_words
from tests.scheduler_core.diagnosis.diagnosing import outcomes, worded
from tests.scheduler_core.wording.refused_clusters import OPTIONS, refused_cluster

STEP = 40
"""Number of clusters in one digest."""
RECORDED = (
    "61b0cc3f34dfb7a3245a4110",
    "6065ad7185dca9225eaee0ee",
    "932d41a4733b6d8df67d8d2e",
    "0bbb3227f566cf77a4db1a88",
    "a65070a5b8b9643da706fd5a",
    "1992f183a3699d98670f026d",
    "0355c936cca8ee42befee59c",
    "b88fbd7a62c868174b371ce7",
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


def digest(number: int) -> str:
    answers = [texts(seed) for seed in range(number * STEP, (number + 1) * STEP)]
    return hashlib.sha256(json.dumps(answers).encode()).hexdigest()[:24]


@pytest.mark.parametrize(("number", "want"), [*enumerate(RECORDED)])
def test_texts_are_those_that_were_recorded(number, want):
    assert want == digest(number)


if __name__ == "__main__":
    print("".join(f'    "{digest(number)}",\n' for number in range(8)), end="")
