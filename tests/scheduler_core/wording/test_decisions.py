"""Decisions have the causes beside their texts."""

from __future__ import annotations

import pytest

from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.loading.load import load
from scheduler_core.model.decision import Status
from scheduler_core.wording.greedy_words import greedy_words
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.kube_scheduler import pod_words
from tests.scheduler_core.wording.refused_clusters import refused_cluster

SEEDS = range(60)
TRIED = {Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE, Status.ERROR}


def decisions(strategy):
    found = [each for seed in SEEDS for each in run_cycle(load(refused_cluster(seed)), CycleOptions(strategy=strategy)).decisions]
    return [each for each in found if each.status in TRIED]


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_texts_of_a_decision_are_its_causes_in_words(strategy):
    found = decisions(strategy)
    for decision in found:
        uncertain = greedy_words(decision.limits)
        assert decision.causes.keys() == decision.pending.keys()
        for pod, cause in decision.causes.items():
            assert decision.pending[pod] == (f"{pod_words(cause).rstrip('.')}. {uncertain}" if uncertain else pod_words(cause))
        for group in decision.groups:
            assert group.cause is None or group.message == group_words(group.cause)
        if decision.status is not Status.SUCCESS:
            assert decision.message.startswith(group_words(decision.cause))
            assert uncertain in decision.message or decision.search.outcome == "budget"

    assert min(sum(map(len, (each.causes for each in found))), sum(group.cause is not None for each in found for group in each.groups)) > 20
    assert any(each.limits for each in found) or strategy == "complete"
