"""Number of instances, their batches, and the decision of a cycle on one."""

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
"""Number of instances; an environment variable sets more, or all."""
BATCH = 25
TRIED = COUNT if ASKED in os.environ else sampled(COUNT)
"""Number of instances in tests without batches; tests with batches use the same share."""

slowly = settings(deadline=None, max_examples=max(10, TRIED // 5), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""Settings for examples by hypothesis."""


def batches(share: int = 1) -> pytest.MarkDecorator:
    """Run a test for each range of seeds, its argument ``seeds``: one range in *share*."""
    starts = range(0, max(BATCH, COUNT // share), BATCH)
    return pytest.mark.parametrize(
        "seeds", [range(start, start + BATCH * TRIED // COUNT) for start in starts], ids=[f"from {start}" for start in starts]
    )


@dataclasses.dataclass(frozen=True)
class Case:
    """Instance of the corpus."""

    seed: int
    make: corpus.Make
    objects: Objects


def drawn(seeds: range) -> Iterator[Case]:
    """Return instances of every kind."""
    for seed in seeds:
        make = corpus.drawn(seed)
        yield Case(seed, make, corpus.instance(seed, make))


def decide(objects: Objects, strategy: str, *, budget: int = DEFAULT) -> Decision:
    """Return the decision on the only pending root."""
    result = run_cycle(_loaded(objects), CycleOptions(strategy=strategy, budget=budget))
    assert not result.problems
    (decision,) = result.decisions
    return decision


def decide_first(root: str, objects: Objects, strategy: str) -> Decision:
    """Return the decision on the group *root*, which is tried first."""
    decisions = run_cycle(_loaded(objects), CycleOptions(strategy=strategy, order=(root,))).decisions
    return next(decision for decision in decisions if decision.root.name == root)


def _loaded(objects: Objects) -> ClusterSnapshot:
    return load([json.dumps(each).encode() for each in objects])
