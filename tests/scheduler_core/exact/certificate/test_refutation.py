"""Refutation: no feasible root is refuted, nearly every infeasible one is, by short certificates."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from scheduler_core.causes.searches import ProofObstacle
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, queued, run_cycle
from scheduler_core.exact.certificate import refutation
from scheduler_core.exact.certificate.certificate import certificate
from scheduler_core.exact.certificate.facts import Facts
from scheduler_core.exact.certificate.refutation import Refutation, UnprovenError
from scheduler_core.exact.step_budget import StepBudget, StepsSpentError
from scheduler_core.model.status import Status
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.state import PlacementState
from tests import builders
from tests.sampling import every, sampled
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.exact.certificate.infeasible import COMPLETE, proved
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.oracle.test_brute import composite, leaf, members, node

MANY = settings(deadline=None, max_examples=sampled(150), suppress_health_check=list(HealthCheck))


def refuted(objects, name, *, empty=False, steps=20_000):
    """Return the proof for one root on the cluster as it is."""
    snapshot = load([json.dumps(each).encode() for each in objects])
    root = next(entity for entity in queued(snapshot, CycleOptions(strategy="complete")) if entity.name == name)
    state = PlacementState.from_snapshot(snapshot, COMPLETE.placing, COMPLETE.ignore)
    state.nominations.release_for(root)
    return certificate(state, Greedy(state).request(root), steps, empty=empty)["proof"]


@MANY
@given(clusters(TINY))
def test_what_is_placed_first_is_never_refuted(objects):
    decisions = run_cycle(load([json.dumps(each).encode() for each in objects]), COMPLETE).decisions
    for decision in decisions[:1]:
        if decision.status is Status.SUCCESS:
            for empty in (True, False):
                with pytest.raises(UnprovenError):
                    refuted(objects, decision.root, empty=empty)


@pytest.mark.parametrize("number", range(24))
def test_what_was_planted_without_slack_is_never_refuted(number):
    make = corpus.Make(depth=1 + number % 4, shapes=1 + number % 3, optional=number % 2 == 0, running=number % 5 == 0, spare=number % 3)
    objects = corpus.instance(number, make)
    (decision,) = run_cycle(load([json.dumps(each).encode() for each in objects]), COMPLETE).decisions
    with pytest.raises((UnprovenError, StepsSpentError)):
        refuted(objects, decision.root, steps=300)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(corpus.Make(depth=1, shapes=3, short=1), id="flat, three shapes"),
        pytest.param(corpus.Make(depth=2, moved=4), id="two levels"),
        pytest.param(corpus.Make(depth=2, moved=4, shapes=2, decoys=2, short=4), id="two levels, room scattered"),
        pytest.param(corpus.Make(depth=3, moved=4, shapes=3), id="three levels, three shapes"),
        pytest.param(corpus.Make(depth=4, moved=4), id="four levels"),
        pytest.param(corpus.Make(depth=2, optional=True, short=2), id="optional pods"),
        pytest.param(corpus.Make(depth=2, running=True, short=3), id="some run"),
    ],
)
def test_what_is_infeasible_has_a_proof_of_a_few_kilobytes(make):
    numbers = every(3, range(15))
    result = [each for number in numbers for each in proved(corpus.instance(number, make)) if each["root"]["name"] == "t"]
    sizes = sorted(len(json.dumps(each)) for each in result)

    assert len(result) >= len(numbers) / 3
    assert [] == [each["reason"] for each in result if "reason" in each]
    assert sizes[len(sizes) // 2] < 3_000


def steps_of(proof):
    return [proof, *(step for each in proof.get("each", {}).values() for step in steps_of(each))]


def test_only_the_steps_that_others_refer_to_have_a_number():
    makes = [corpus.Make(depth=2, optional=True, short=2), corpus.Make(depth=4, moved=4)]
    proofs = [each["proof"] for make in makes for number in range(6) for each in proved(corpus.instance(number, make)) if "proof" in each]

    assert proofs
    for steps in map(steps_of, proofs):
        own = [each["number"] for each in steps if each["rule"] != "known" and "number" in each]
        assert sorted({each["number"] for each in steps if each["rule"] == "known"}) == sorted(own)


def test_a_number_that_a_known_step_refers_to_is_kept():
    proof = {"rule": "ways", "number": 2, "each": {"a": {"rule": "room", "number": 1}, "b": {"rule": "known", "number": 1}}}
    refutation._delete_unused_numbers(proof, {1})

    assert {"rule": "ways", "each": {"a": {"rule": "room", "number": 1}, "b": {"rule": "known", "number": 1}}} == proof


@pytest.mark.parametrize(("deepest", "reason"), [(2, None), (1, ProofObstacle.TOO_LONG)])
def test_case_distinctions_side_by_side_are_not_nested(monkeypatch, deepest, reason):
    """This proof has three: one, and two below it."""
    monkeypatch.setattr(refutation, "_DEEPEST", deepest)
    (result,) = proved(corpus.instance(2, corpus.Make(depth=3, shapes=3, short=1, moved=4, decoys=2)))

    assert reason == result.get("reason")


def test_nine_of_ten_tiny_clusters_have_a_proof():
    met = []

    @seed(1)
    @settings(MANY, max_examples=sampled(200, least=66), database=None, phases=[Phase.generate])
    @given(clusters(TINY))
    def meet(objects):
        met.extend("proof" in each for each in proved(objects))

    meet()
    assert len(met) > sampled(30)
    assert sum(met) >= 0.9 * len(met)


def test_limits_of_a_certificate_are_reported():
    """CPU alone needs two nodes, memory alone too; only both together need a third."""
    machines = [{**node(f"n{number}", 4), "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9"}}} for number in range(2)]
    requests = [{"cpu": str(cpu), "memory": f"{memory}Gi"} for cpu, memory in ((3, 1), (1, 2), (2, 3), (2, 2))]
    pods = [
        {**pod, "spec": {**pod["spec"], "containers": [{"name": "c", "resources": {"requests": each}}]}}
        for pod, each in zip(members("a", 4), requests, strict=True)
    ]
    (result,) = proved([*machines, composite(1), leaf("a", 4, 0), *pods])

    assert result["reason"] == ProofObstacle.OTHER_FACTS


def request_of(objects, name):
    """Return the state of a cluster and the request of one root."""
    snapshot = load([json.dumps(each).encode() for each in objects])
    root = next(entity for entity in queued(snapshot, CycleOptions(strategy="complete")) if entity.name.name == name)
    state = PlacementState.from_snapshot(snapshot, COMPLETE.placing, COMPLETE.ignore)
    return state, Greedy(state).request(root)


def test_a_root_that_what_runs_of_it_satisfies_has_no_proof():
    """Another group of it is too large for the cluster."""
    groups = [composite(1), leaf("one", 1, 1), leaf("two", 1, 2)]
    objects = [node("a"), *groups, builders.pod("one-0", "one", 1, on="a"), builders.pod("two-0", "two", 2)]
    with pytest.raises(UnprovenError):
        Refutation(Facts(*request_of(objects, "root"), empty=False), StepBudget(1000)).proof()


def test_a_group_that_runs_where_no_domain_is_has_none():
    group = builders.pod_group("root", 2, "rack")
    objects = [node("a", rack="r1"), node("b", 2), group, builders.pod("root-0", "root", 1, on="b"), builders.pod("root-1", "root", 1)]
    facts = Facts(*request_of(objects, "root"), empty=False)

    assert {"r1"} == facts.node_sets.domains_of(0, "rack").keys()
    assert {} == facts.domains(0, 0)
