"""Properties of each diagnosis of a random small cluster."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core import diagnosis
from scheduler_core.causes.attempts import AttemptResult
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.diagnosis import DomainCauses, domain_causes
from scheduler_core.model.options import STRATEGIES
from scheduler_core.model.status import Status
from scheduler_core.placement.outcome import assigned
from tests.sampling import sampled
from tests.scheduler_core.diagnosis.diagnosing import outcomes
from tests.scheduler_core.oracle import brute
from tests.scheduler_core.oracle.strategies import Size, clusters

at_random = settings(deadline=None, max_examples=sampled(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@at_random
@given(clusters())
def test_a_diagnosis_covers_every_pod_and_group_and_leaves_the_site_as_it_was(objects):
    for greedy, request, outcome in outcomes(objects):
        ledger, known = greedy.state.ledger, greedy.state.topology.count
        before = ledger.used.copy(), ledger.versions[:known].copy(), greedy.state.stateful.mark()

        result = diagnosis.explain(greedy, request, outcome)

        waiting = {each.key for leaf in request.entity.leaves() for each in leaf.waiting}
        nodes = {each.key for each, _ in assigned(request, outcome)} if outcome.success else set()
        assert waiting - nodes == set(result.pods)
        if not outcome.success and outcome.status is not Status.ERROR and outcome.reason is not AttemptResult.NOTHING_NEW:
            assert {each.name for each in request.entity.walk()} == set(result.groups)
        assert np.array_equal(before[0], ledger.used)
        assert np.array_equal(before[1], ledger.versions[:known])
        assert before[2] == greedy.state.stateful.mark()


@at_random
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_changes_nothing(objects, random):
    want = [diagnosis.explain(*each) for each in outcomes(objects)]
    random.shuffle(objects)

    assert want == [diagnosis.explain(*each) for each in outcomes(objects)]


def with_copies(objects):
    """Return the objects with a copy of each group and of each pod that waits: equal roots follow each other."""
    copied = [each for each in objects if each["kind"].endswith("PodGroup") or (each["kind"] == "Pod" and not each["spec"].get("nodeName"))]
    names = {each["metadata"]["name"] for each in copied}

    def renamed(value):
        match value:
            case dict():
                return {key: renamed(inner) for key, inner in value.items()}
            case list():
                return [renamed(inner) for inner in value]
        return f"{value}-copy" if isinstance(value, str) and value in names else value

    return [*objects, *map(renamed, copied)]


@at_random
@given(clusters())
def test_causes_that_are_kept_are_those_that_are_found_anew(objects):
    snapshot = load(with_copies(objects))
    for strategy in STRATEGIES:
        kept = run_cycle(snapshot, CycleOptions(strategy=strategy))
        with mock.patch.object(DomainCauses, "find", lambda causes, *given: domain_causes._cause_in_domain(causes.greedy, *given)):
            assert run_cycle(snapshot, CycleOptions(strategy=strategy)) == kept


@at_random
@given(clusters())
def test_what_is_left_over_is_the_same_before_and_after_it_is_assumed(objects):
    for greedy, request, outcome in outcomes(objects):
        if outcome.success:
            want = diagnosis.explain(greedy, request, outcome).pods
            mark = greedy.state.ledger.mark()
            greedy.assume(request, outcome)

            assert want == diagnosis.leftovers(greedy, request, outcome)
            greedy.state.ledger.rewind(mark)


@at_random
@given(clusters(Size(nodes=4, trees=1, depth=3, pending=3, running=1, lone=2)))
def test_a_failure_without_doubt_has_no_placement_whatever_is_tried(objects):
    for greedy, request, outcome in outcomes(objects):
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        if outcome.status is Status.UNSCHEDULABLE and outcome.reason is not AttemptResult.NOTHING_NEW and waiting <= 6:
            if not diagnosis.explain(greedy, request, outcome).limits:
                name = request.entity.name

                assert brute.placement(objects, name.kind, name.name, name.namespace) is None
