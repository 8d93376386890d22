"""How many instances are run, in which batches, and what a cycle decides on one."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.loading.load import load
from scheduler_core.model.decision import Decision
from scheduler_core.model.snapshot import ClusterSnapshot
from tests.sampling import sampled
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.oracle.model import Objects

ASKED = "MUSTER_EXACT"
COUNT = int(os.environ.get(ASKED, "200"))
"""Instances; the environment variable asks for more, and for all of them."""
BATCH = 25
TRIED = COUNT if ASKED in os.environ else sampled(COUNT)
"""Of these, where they are not in batches; of a batch the same share."""

slowly = settings(deadline=None, max_examples=max(10, TRIED // 5), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""For what hypothesis makes."""


def batches(share: int = 1) -> pytest.MarkDecorator:
    """Runs a test for one range of seeds after the other, as its argument ``seeds``: one in *share* of all there are."""
    starts = range(0, max(BATCH, COUNT // share), BATCH)
    return pytest.mark.parametrize(
        "seeds", [range(start, start + BATCH * TRIED // COUNT) for start in starts], ids=[f"from {start}" for start in starts]
    )


@dataclasses.dataclass(frozen=True)
class Case:
    """An instance of the corpus."""

    seed: int
    make: corpus.Make
    objects: Objects


def drawn(seeds: range) -> Iterator[Case]:
    """Instances of every kind."""
    for seed in seeds:
        make = corpus.drawn(seed)
        yield Case(seed, make, corpus.instance(seed, make))


def decide(objects: Objects, strategy: str, *, budget: int = DEFAULT) -> Decision:
    """The decision on the one root that waits."""
    result = run_cycle(_loaded(objects), CycleOptions(strategy=strategy, budget=budget))
    assert not result.problems
    (decision,) = result.decisions
    return decision


def decide_first(root: str, objects: Objects, strategy: str) -> Decision:
    """The decision on the group *root*, which is tried before all others."""
    decisions = run_cycle(_loaded(objects), CycleOptions(strategy=strategy, order=(root,))).decisions
    return next(decision for decision in decisions if decision.root.name == root)


def _loaded(objects: Objects) -> ClusterSnapshot:
    return load([json.dumps(each).encode() for each in objects])
