"""Certificates of infeasibility are accepted by an independent checker."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.causes.searches import ProofObstacle
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import run_cycle
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import GPU, composite, leaf, node, pod
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.exact.certificate import checker, counted_devices, counted_volumes
from tests.scheduler_core.exact.certificate.checker import accepts
from tests.scheduler_core.exact.certificate.infeasible import COMPLETE, HOPELESS, proved, running_pod, slowly, spread, tree
from tests.scheduler_core.exact.devices.small_clusters import clusters as device_clusters
from tests.scheduler_core.exact.devices.small_clusters import manifests
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    device,
    device_class,
    device_slice,
    only_on,
    request,
    resource_claim,
    template,
    wanting,
)
from tests.scheduler_core.plugins.test_delayed_claims import claim, storage_class, using, volume
from tests.scheduler_core.plugins.test_volumes import csi_node
from tests.scheduler_core.test_attach_limits_agreement import with_limits
from tests.scheduler_core.test_delayed_claims_agreement import clusters as delayed_clusters


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_proof_is_accepted(objects):
    (certificate,) = proved(objects)

    assert accepts(objects, certificate)
    assert "rule" in certificate["proof"]


ON_SSD = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}
}


@pytest.mark.parametrize("spec", [{"nodeSelector": {"disk": "ssd"}}, {"affinity": {"nodeAffinity": ON_SSD}}], ids=["selector", "affinity"])
def test_a_node_is_counted_if_all_filters_admit_it(spec):
    """Two nodes have the label, and one of them has a taint."""
    tainted = node("n0", "4", disk="ssd") | {"spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}}
    pods = [pod(f"g-{number}", "g", cpu="1", **spec) for number in range(2)]
    objects = [tainted, node("n1", "1", disk="ssd"), node("n2", "4"), leaf("g", 2), *pods]
    (certificate,) = proved(objects)

    assert accepts(objects, certificate)
    assert (2, 1) == (certificate["proof"]["needed"], certificate["proof"]["free"])


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


OF_MODEL = [{"cel": {"expression": "device.attributes['gpu.example'].model == 'x'"}}]
IN_RACK = [node(f"n{number}", "64", rack=f"r{number // 2}") for number in range(4)]
GPUS = [device_slice(f"n{at}", *(device(f"d{number}", {"model": "xxyy"[number]}) for number in range(4))) for at in range(4)]


def nested_sets(count: int) -> list[dict[str, Any]]:
    """Return a node with 2 of 4 devices of model x, a pod that takes one of them although others suffice, and *count* pods that need x."""
    classes = [device_class(), device_class("x", selectors=OF_MODEL), template(), template("x", request("r", "x"))]
    pods = [wanting("a", priority=9), leaf("g", count), *(wanting(f"g-{at}", "c:x", group="g") for at in range(count))]
    return [*IN_RACK[:1], *GPUS[:1], *classes, *pods]


DEVICES = {
    "more than a rack has": [
        *IN_RACK,
        *GPUS,
        device_class(),
        template(),
        leaf("g", 9, key="rack"),
        *(wanting(f"g-{at}", group="g") for at in range(9)),
    ],
    "of one model": [
        *IN_RACK,
        *GPUS,
        device_class(selectors=OF_MODEL),
        template("two", request(count=2)),
        leaf("g", 5),
        *(wanting(f"g-{at}", "c:two", group="g") for at in range(5)),
    ],
    "that claims have": [
        *IN_RACK[:2],
        *GPUS[:2],
        device_class(),
        template(),
        *(resource_claim(f"held-{at}", devices=[f"gpu=n{at}/d0"]) for at in range(2)),
        leaf("g", 7),
        *(wanting(f"g-{at}", group="g") for at in range(7)),
    ],
    "that earlier pods take": [
        *IN_RACK[:1],
        *GPUS[:1],
        device_class(),
        template(),
        wanting("x", priority=9),
        leaf("g", 4),
        *(wanting(f"g-{at}", group="g") for at in range(4)),
    ],
    "of nested sets that earlier pods take": nested_sets(3),
    "that no node has": [*IN_RACK, device_class(), template(), leaf("g", 1), wanting("g-0", group="g")],
    "as an extended resource": [
        *IN_RACK,
        *GPUS,
        device_class(extendedResourceName=GPU),
        leaf("g", 17),
        *(pod(f"g-{at}", "g", gpu="1") for at in range(17)),
    ],
}


@pytest.mark.parametrize("cluster", DEVICES.values(), ids=DEVICES.keys())
def test_devices_are_counted(cluster):
    certificate = next(each for each in proved(cluster) if each["root"]["name"] == "g")

    assert accepts(cluster, certificate)
    counted = certificate["counted"]
    assert all(name.startswith(("device of class gpu", "device of class x")) for name in counted)
    assert not accepts(cluster, {**certificate, "counted": {}})
    others = {name: {"devices": each["devices"][1:] or ["gpu.example/n0/d0"]} for name, each in counted.items()}
    assert not accepts(cluster, {**certificate, "counted": others})
    assert not accepts([*cluster, device_slice("n0", device("more", {"model": "x"}), pool="more")], certificate)


def test_a_refutation_by_the_devices_that_earlier_pods_chose_is_reported():
    (certificate,) = proved(nested_sets(2))

    assert certificate["reason"] == ProofObstacle.DEVICES


@pytest.mark.parametrize(
    ("later", "lacks"),
    [
        pytest.param(wanting("g-0", group="g"), "device of class gpu", id="its device"),
        pytest.param(pod("g-0", "g", cpu="3"), "cpu", id="its cpu"),
    ],
)
def test_a_pod_that_waits_for_its_device_holds_it_in_the_proof_for_a_later_root(later, lacks):
    conditions = {"bindingConditions": ["attached"]}
    waiting = [leaf("f", 1), wanting("f-0", group="f", cpu="2")]
    cluster = [
        node("n0", cpu="4"),
        device_class(),
        template(),
        device_slice("n0", device("d", **conditions)),
        *waiting,
        leaf("g", 1),
        later,
    ]
    (certificate,) = proved(cluster)

    assert ({"default/f-0": "n0"}, False) == (certificate["beside"], certificate["empty"])
    assert lacks in certificate["proof"]["measure"]
    assert accepts(cluster, certificate)
    assert not accepts(cluster, {**certificate, "beside": {}})


def test_domains_of_attributes_are_proved():
    partitions = [device_slice(f"n{at}", *(device(f"d{number}", {"part": f"p{at}"}) for number in range(3))) for at in range(2)]
    groups = [composite("t", 3), *(leaf(f"g{at}", 2, key=f"{DRIVER}/part", parent="t") for at in range(3))]
    pods = [wanting(f"g{at}-{number}", group=f"g{at}") for at in range(3) for number in range(2)]
    cluster = [*IN_RACK[:2], *partitions, device_class(), template(), *groups, *pods]
    (certificate,) = proved(cluster, levels=[f"{DRIVER}/part"])
    (proof,) = certificate["proof"]["each"].values()

    assert [f"{DRIVER}/part"] == certificate["attributes"]
    assert (f"{DRIVER}/part", 6, 4) == tuple(proof[key] for key in ("key", "needed", "free"))
    assert accepts(cluster, certificate)
    assert not accepts(cluster, {**certificate, "attributes": []})


@slowly
@given(device_clusters(counted=True, running=3, priority=0))
def test_every_proof_that_counts_devices_is_accepted(cluster):
    objects = manifests(cluster)
    kinds = {(each.cpu, tuple(each.own)) for each in cluster.pods if not each.node}
    # Devices that are free only when several pods are gone are not counted.
    expressible = len(kinds) == 1 and all(len(users) <= 1 for _, users in cluster.held)
    for certificate in proved(objects):
        assert accepts(objects, certificate) if "proof" in certificate else not expressible, certificate


@slowly
@given(device_clusters())
def test_every_proof_about_pods_with_any_devices_is_accepted(cluster):
    objects = manifests(cluster)
    for certificate in proved(objects):
        assert "proof" not in certificate or accepts(objects, certificate), certificate
        assert "proof" in certificate or certificate["reason"] == ProofObstacle.DEVICES


@pytest.mark.parametrize("allocated", [False, True])
def test_a_claim_of_several_pods_is_no_fact_of_a_certificate(allocated):
    devices = ["gpu=n1/a"] if allocated else []
    gpu = resource_claim("c", devices=devices, nodes=only_on("n1") if allocated else None)
    few = [device_class(), device_slice("n1", "a"), gpu, leaf("g", 2), *(wanting(name, "x=c", group="g", cpu="3") for name in "pq")]
    (certificate,) = proved([node("n1"), node("n2"), *few])
    assert certificate["reason"] == ProofObstacle.DEVICES
    (certificate,) = proved([node("n1"), *few])
    assert "proof" in certificate
    assert accepts([node("n1"), *few], certificate)


def test_the_checker_is_short_and_independent():
    sources = [Path(each.__file__).read_text(encoding="utf-8") for each in (checker, counted_devices, counted_volumes)]
    imported = {
        each.module if isinstance(each, ast.ImportFrom) else each.names[0].name
        for source in sources
        for each in ast.walk(ast.parse(source))
        if isinstance(each, (ast.Import, ast.ImportFrom))
    }

    assert all(len(source.splitlines()) <= 155 for source in sources)
    own = {counted_devices.__name__, counted_volumes.__name__}
    assert {"__future__", "itertools", "math", "re", "collections", "collections.abc", "fractions", "typing", *own} == imported
