"""Certificates of infeasibility are accepted by an independent checker."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given

from scheduler_core.cycle.run_cycle import run_cycle
from scheduler_core.loading.load import load
from scheduler_core.model.decision import Status
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.exact.certificate import checker
from tests.scheduler_core.exact.certificate.checker import accepts
from tests.scheduler_core.exact.certificate.infeasible import COMPLETE, HOPELESS, proved, running_pod, slowly, spread, tree
from tests.scheduler_core.oracle.strategies import TINY, clusters


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_proof_is_accepted(objects):
    (certificate,) = proved(objects)

    assert accepts(objects, certificate)
    assert "rule" in certificate["proof"]


NOT_EVEN_EMPTY = {
    "more than the nodes hold": [*spread(racks=1), running_pod("x", "n00", 1), *tree(4, 4)],
    "no rack is large enough": [*spread(racks=3, cpu=2), running_pod("x", "n00", 1), *tree(5)],
    "a node selector": [
        *spread(),
        running_pod("x", "n00", 1),
        *tree(1)[:2],
        *({**each, "spec": {**each["spec"], "nodeSelector": {"disk": "ssd"}}} for each in tree(1)[2:]),
    ],
    "members that run where there is too little": [
        *spread(racks=2, cpu=2),
        running_pod("x", "n10", 1),
        *tree(5)[:2],
        *({**each, "spec": {**each["spec"], **({"nodeName": "n00"} if number == 0 else {})}} for number, each in enumerate(tree(5)[2:])),
    ],
}


@pytest.mark.parametrize("objects", NOT_EVEN_EMPTY.values(), ids=NOT_EVEN_EMPTY.keys())
def test_that_no_eviction_helps_is_proved_of_the_empty_cluster(objects):
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    (decision,) = run_cycle(load(complete), COMPLETE).decisions
    (certificate,) = proved(objects)
    nothing_else = [each for each in objects if each["metadata"]["name"] != "x"]

    assert (Status.UNRESOLVABLE, True, {}) == (decision.status, certificate["empty"], certificate["beside"])
    assert accepts(objects, certificate)
    assert accepts(nothing_else, certificate)


def test_a_proof_that_needs_the_pods_that_run_is_none_of_the_empty_cluster():
    objects = HOPELESS["pods that run"]
    (certificate,) = proved(objects)

    assert accepts(objects, certificate)
    assert not certificate["empty"]
    assert not accepts(objects, {**certificate, "empty": True})


@slowly
@given(clusters(TINY))
def test_every_proof_of_a_tiny_cluster_is_accepted(objects):
    for certificate in proved(objects):
        assert "proof" not in certificate or accepts(objects, certificate), certificate


@pytest.mark.parametrize("seed", range(40))
def test_every_proof_of_a_hard_tree_is_accepted(seed):
    make = corpus.Make(
        depth=1 + seed % 4, shapes=1 + seed % 3, short=1 + seed % 2, moved=2 * (seed % 3), decoys=seed % 3, optional=seed % 5 == 0
    )
    objects = corpus.instance(seed, make)
    for certificate in proved(objects):
        assert "reason" not in certificate
        assert accepts(objects, certificate)


def test_the_checker_is_short_and_independent():
    source = Path(checker.__file__).read_text(encoding="utf-8")
    imported = {
        each.module if isinstance(each, ast.ImportFrom) else each.names[0].name
        for each in ast.walk(ast.parse(source))
        if isinstance(each, (ast.Import, ast.ImportFrom))
    }

    assert len(source.splitlines()) <= 150
    assert {"__future__", "itertools", "math", "collections", "fractions", "typing"} == imported
