"""Certificates of infeasibility are accepted by an independent checker."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.cycle.run_cycle import run_cycle
from scheduler_core.loading.load import load
from scheduler_core.model.decision import Status
from tests.scheduler_core.builders import leaf, node
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.exact.certificate import checker, counted_volumes
from tests.scheduler_core.exact.certificate.checker import accepts
from tests.scheduler_core.exact.certificate.infeasible import COMPLETE, HOPELESS, proved, running_pod, slowly, spread, tree
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, only_on, resource_claim, wanting
from tests.scheduler_core.plugins.test_delayed_claims import claim, storage_class, using, volume
from tests.scheduler_core.plugins.test_volumes import csi_node
from tests.scheduler_core.test_attach_limits_agreement import with_limits
from tests.scheduler_core.test_delayed_claims_agreement import clusters as delayed_clusters


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


def claiming(name: str, pod: str, group: str = "g", **spec: Any) -> list[dict[str, Any]]:
    """Return a claim, and a pod that uses it."""
    return [claim(name, storage_class="dyn"), using(name, name=pod, group=group, **spec)]


DYN = storage_class("dyn", "csi.example")
PODS = [pod for number in range(4) for pod in claiming(f"c{number}", f"g-{number}")]
VOLUMES = {
    "attach limits": [*(csi_node(f"n{number}", {"csi.example": number + 1}) for number in range(2)), DYN, *PODS],
    "attach limits with volumes that others use": [
        *(csi_node(f"n{number}", {"csi.example": 1}) for number in range(2)),
        DYN,
        *PODS,
        using("c0", name="x", priority=-1),
    ],
    "local volumes": [storage_class("dyn"), *(volume(f"pv{number}", f"n{number}", storageClassName="dyn") for number in range(2)), *PODS],
    "local volumes that earlier pods take": [
        storage_class("dyn"),
        *(volume(f"pv{number}", f"n{number % 2}", storageClassName="dyn") for number in range(4)),
        *PODS,
        *claiming("d", "x", group="", priority=9),
    ],
}


@pytest.mark.parametrize("objects", VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes_are_counted(objects):
    cluster = [node("n0", "8"), node("n1", "8"), leaf("g", 4), *objects]
    certificate = next(each for each in proved(cluster) if each["root"]["name"] == "g")

    assert accepts(cluster, certificate)
    assert certificate["counted"]
    assert not accepts(cluster, {**certificate, "counted": {}})
    (name,) = certificate["counted"]
    other = {"driver": "other"} if "driver" in certificate["counted"][name] else {"volumes": ["pv0"]}
    assert not accepts(cluster, {**certificate, "counted": {name: other}})


@slowly
@given(st.one_of(with_limits(clusters(TINY), shared=False), with_limits(clusters(TINY), shared=True), delayed_clusters(plain=True)))
def test_every_proof_that_counts_volumes_is_accepted(objects):
    for certificate in proved(objects):
        assert "proof" not in certificate or accepts(objects, certificate), certificate


@pytest.mark.parametrize("allocated", [False, True])
def test_devices_are_no_fact_of_a_certificate(allocated):
    devices = ["gpu=n1/a"] if allocated else []
    gpu = resource_claim("c", devices=devices, nodes=only_on("n1") if allocated else None)
    few = [device_class(), device_slice("n1", "a"), gpu, leaf("g", 2), *(wanting(name, "x=c", group="g", cpu="3") for name in "pq")]
    (certificate,) = proved([node("n1"), node("n2"), *few])
    assert certificate["reason"] == "the proof needs the devices of the pods, or other facts that a certificate cannot express"
    (certificate,) = proved([node("n1"), *few])
    assert "proof" in certificate
    assert accepts([node("n1"), *few], certificate)


def test_the_checker_is_short_and_independent():
    sources = [Path(each.__file__).read_text(encoding="utf-8") for each in (checker, counted_volumes)]
    imported = {
        each.module if isinstance(each, ast.ImportFrom) else each.names[0].name
        for source in sources
        for each in ast.walk(ast.parse(source))
        if isinstance(each, (ast.Import, ast.ImportFrom))
    }

    assert all(len(source.splitlines()) <= 155 for source in sources)
    own = counted_volumes.__name__
    assert {"__future__", "itertools", "math", "collections", "collections.abc", "fractions", "typing", own} == imported
