"""Number of instances, their batches, and the decision of a cycle on one; what several tests need of an instance is computed once."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.model.decision import Decision
from scheduler_core.model.snapshot import ClusterSnapshot
from tests.sampling import sampled
from tests.scheduler_core.cp_sat import corpus, model
from tests.scheduler_core.oracle.model import Objects

ASKED = "MUSTER_EXACT"
COUNT = int(os.environ.get(ASKED, "200"))
"""Number of instances; an environment variable sets more, or all."""
BATCH = 25
TRIED = COUNT if ASKED in os.environ else sampled(COUNT, share=10)
"""Number of instances that are tried, the same share of each batch."""
STARTS = range(0, max(BATCH, COUNT), BATCH)
SEEDS = tuple(seed for start in STARTS for seed in range(start, start + BATCH * TRIED // COUNT))
"""Seeds that are tried, in tests without batches and in all batches together."""

slowly = settings(deadline=None, max_examples=max(10, TRIED // 5), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""Settings for examples by hypothesis."""


def batches(share: int = 1) -> pytest.MarkDecorator:
    """Run a test for each range of seeds, its argument ``seeds``: one range in *share*."""
    starts = [start for start in STARTS if start < max(BATCH, COUNT // share)]
    seeds = [tuple(seed for seed in SEEDS if start <= seed < start + BATCH) for start in starts]
    return pytest.mark.parametrize("seeds", seeds, ids=[f"from {start}" for start in starts])


@dataclasses.dataclass(frozen=True)
class Case:
    """Instance of the corpus."""

    seed: int
    make: corpus.Make
    objects: Objects


def drawn(seeds: Iterable[int]) -> Iterator[Case]:
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


def of_any_kind(seed: int) -> Objects:
    """Return the instance of ``drawn``."""
    return corpus.instance(seed, corpus.drawn(seed))


@functools.cache
def complete(make: Callable[[int], Objects], seed: int) -> Decision:
    """Return the decision of strategy ``complete`` on the instance of *make* with this seed."""
    return decide(make(seed), "complete")


@functools.cache
def fewest_victims(make: Callable[[int], Objects], seed: int) -> model.Fewest | None:
    """Return the fewest victims of the instance of *make* with this seed; None if preemption does not help, or it is not tried."""
    return model.fewest_victims(make(seed)).get("t")


@functools.cache
def feasible(seed: int) -> bool:
    """Return true if the instance of ``drawn`` with this seed has a placement."""
    return model.feasible(of_any_kind(seed))["t"]


def decide_first(root: str, objects: Objects, strategy: str) -> Decision:
    """Return the decision on the group *root*, which is tried first."""
    decisions = run_cycle(_loaded(objects), CycleOptions(strategy=strategy, order=(root,))).decisions
    return next(decision for decision in decisions if decision.root.name == root)


def _loaded(objects: Objects) -> ClusterSnapshot:
    return load([json.dumps(each).encode() for each in objects])
