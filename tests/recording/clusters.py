"""Answers of ``muster simulate`` to 500 seeded clusters and to the scenarios that kube-scheduler answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.recording.commands import answer
from tests.scheduler_core import test_agreement
from tests.scheduler_core.cp_sat import corpus

STEP = 25
"""Number of clusters in one recorded answer."""
SEEDS: tuple[tuple[str, int, Callable[[int], Any]], ...] = (
    ("instance", 300, lambda seed: corpus.instance(seed, corpus.drawn(seed))),
    ("crowded", 100, corpus.crowded),
    ("pressed", 100, corpus.pressed),
)
STRATEGIES = ("greedy", "complete")
OPTIONS: tuple[dict[str, Any], ...] = (
    {"remedies": 20},
    {"evict": True},
    {"fragmentation": True},
    {"budget": 50},
    {"gates": {"TopologyAwareWorkloadScheduling": False, "CompositePodGroup": False}},
    {"fourStatuses": True, "everyPod": True, "nominatedFirst": True, "preemptForLeftovers": True},
    {"gates": {"CompositePodGroup": False}},
    {"strategy": "greedy", "evict": True},
)
LINES = ("--format text --remedies", "--format html", "--format json --certificate certificate.json", "--format json --kubernetes 1.38")


def items(part: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each answer."""
    for name, count, make in SEEDS:
        for start in range(0, count, STEP):
            key = f"clusters/{name}/{start:03}"
            if key.startswith(part) or part.startswith(key):
                questions = [{"id": seed, "objects": make(seed)} for seed in range(start, start + STEP)]
                yield key, "".join(_batch(questions, {"strategy": strategy}) for strategy in STRATEGIES)
    for number, options in enumerate(OPTIONS):
        key = f"clusters/options/{number}"
        if key.startswith(part) or part.startswith(key):
            yield key, _batch([{"id": seed, "objects": corpus.crowded(seed)} for seed in range(40)], options)
    for seed in range(6):
        key = f"clusters/lines/{seed}"
        if key.startswith(part) or part.startswith(key):
            objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": corpus.pressed(seed)})
            yield key, "".join(answer(f"simulate - {line}", objects) for line in LINES)
    if not part or "clusters/scenarios".startswith(part):
        questions = [{"id": case["id"], "objects": test_agreement.objects_of(case)} for case in test_agreement.SCENARIOS]
        yield "clusters/scenarios", "".join(_batch(questions, {"strategy": strategy, "evict": True}) for strategy in STRATEGIES)


def _batch(questions: list[dict[str, Any]], options: dict[str, Any]) -> str:
    lines = "".join(json.dumps({**question, "options": options}) + "\n" for question in questions)
    return f"{json.dumps(options)}\n{answer('simulate - --batch', lines)}"
