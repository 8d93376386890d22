"""Messages about claims and volumes: in both strategies, and in the conditions that the sidecar writes."""

from __future__ import annotations

import pytest

from scheduler_core.model.status import Status
from scheduler_core.sidecar.writes import SetCondition
from tests.scheduler_core.builders import Json, composite, decided, leaf, message_of, node, pod
from tests.scheduler_core.plugins import test_delayed_claims as delayed
from tests.scheduler_core.plugins.test_volumes import claim, on, storage_class, using, volume
from tests.scheduler_core.sidecar.test_scheduler import Scene

STRATEGIES = pytest.mark.parametrize("strategy", ["greedy", "complete"])
ZONES = [node(f"{zone}-{number}", "2", zone=zone, pool=zone[1]) for zone in ("z1", "z2") for number in (1, 2)]
DATASETS = [claim("datasets", "pv-7"), volume("pv-7", on("zone", "z1"))]
TEMPLATE = {"name": "s", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "gone"}}}}


def gang(**spec: object) -> list[Json]:
    return [leaf("g", 1, "zone"), using("datasets", group="g", **spec)]


BOUND_IN_Z1 = "claim datasets is bound to volume pv-7 in zone z1"
CONFINED = {
    "a node selector": ([*gang(nodeSelector={"pool": "2"})], f"{BOUND_IN_Z1}; the group is confined to z2"),
    "running members": (
        [leaf("g", 2, "zone"), pod("r", "g", on="z2-1"), using("datasets", group="g")],
        f"{BOUND_IN_Z1}; the group is confined to z2",
    ),
    "no group": ([using("datasets", nodeSelector={"pool": "2"})], f"{BOUND_IN_Z1}; the pod is confined to z2"),
    "a parent in the zone of another volume": (
        [
            *(composite("t", 2, "zone"), leaf("g", 1, parent="t"), leaf("h", 1, parent="t")),
            *(using("datasets", group="g"), using("other", group="h", name="q"), claim("other", "pv-8"), volume("pv-8", on("zone", "z2"))),
        ],
        "claim other is bound to volume pv-8 in zone z2; the group is confined to z1",
    ),
}


@STRATEGIES
@pytest.mark.parametrize(("objects", "want"), CONFINED.values(), ids=CONFINED)
def test_volume_outside_the_domain_of_its_group(objects, want, strategy):
    assert want in message_of(decided([*ZONES, *DATASETS, *objects], strategy=strategy))


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(gang(nodeSelector={"pool": "1"}), id="the domain of the volume"),
        pytest.param(gang(), id="all domains"),
        pytest.param(gang(nodeSelector={"pool": "none"}), id="no node"),
    ],
)
def test_group_that_is_confined_to_no_other_domain(objects):
    full = [pod(f"r{number}", on=f"z1-{number}", cpu="2") for number in (1, 2)]
    decision = decided([*ZONES, *DATASETS, *full, *objects], strategy="greedy")
    assert (Status.UNSCHEDULABLE, False) == (decision.status, "confined to" in message_of(decision))


CAPACITY = [delayed.storage_class("x", "csi.example"), delayed.driver(), delayed.claim(size="100Gi", storage_class="x")]


def capacity(name: str, size: str, *zones: str, **topology: Json) -> Json:
    labels = topology or {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(zones)}]}
    return {**delayed.capacity(name, None, capacity=size), "storageClassName": "x", "nodeTopology": labels}


OFFERED = {
    "one zone": (
        [capacity("a", "40Gi", "z1"), capacity("b", "0", "z2")],
        "storage class x offers 40Gi in zone z1, 100Gi needed for claim c",
    ),
    "no zone": ([], "storage class x has no storage capacity for both nodes, 100Gi needed for claim c"),
    "an object without a figure": (
        [{**capacity("a", "1Gi", "z1"), "capacity": None}],
        "storage class x has no storage capacity for both nodes, 100Gi needed for claim c",
    ),
    "several zones": ([capacity("a", "40Gi", "z1", "z2")], "storage class x offers 40Gi in zone z1 or z2, 100Gi needed for claim c"),
    "other selectors": (
        [capacity("a", "40Gi", matchLabels={"zone": "z1", "pool": "1"})],
        "storage class x offers 40Gi for a volume on both nodes, 100Gi needed for claim c",
    ),
}


@STRATEGIES
@pytest.mark.parametrize(("objects", "want"), OFFERED.values(), ids=OFFERED)
def test_storage_that_a_class_offers(objects, want, strategy):
    decision = decided([*ZONES, *CAPACITY, leaf("g", 1, "zone"), using("c", group="g"), *objects], strategy=strategy)
    assert f"can hold none ({want})" in message_of(decision)


def test_most_storage_of_several_zones():
    message = message_of(
        decided([*ZONES, *CAPACITY, using("c"), capacity("a", "40Gi", "z1"), capacity("b", "60Gi", "z2")], strategy="greedy")
    )
    assert "storage class x offers at most 60Gi, in zone z2, 100Gi needed for claim c" in message


UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
NOT_READY = {
    "no class": ([claim()], f"{UNBOUND}: there is no StorageClass late"),
    "no class of an ephemeral volume": ([], f"{UNBOUND}: there is no StorageClass gone"),
    "no class name": (
        [{**claim(), "spec": {}}],
        f"{UNBOUND}: the claim of spec.volumes[0] has no StorageClass, and no volume is bound to it",
    ),
    "immediate": (
        [claim(), storage_class("Immediate")],
        f"{UNBOUND}: the claim of spec.volumes[0] has no volume, and StorageClass late does not wait for a pod",
    ),
    "not complete": (
        [claim(volume="pv", bound=False), storage_class("WaitForFirstConsumer")],
        f"{UNBOUND}: the claim of spec.volumes[0] names a volume, but its binding is not complete",
    ),
    "no claim": ([claim("d")], 'persistentvolumeclaim "c" not found (there is no PersistentVolumeClaim default/c)'),
    "no volume": ([claim(volume="gone")], 'persistentvolume "gone" not found (there is no PersistentVolume gone)'),
    "being deleted": ([claim(deletionTimestamp="2026-08-01T00:00:00Z")], 'persistentvolumeclaim "c" is being deleted'),
    "lost": ([claim(volume="gone", phase="Lost")], 'persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"'),
}


@STRATEGIES
@pytest.mark.parametrize(("objects", "want"), NOT_READY.values(), ids=NOT_READY)
def test_claim_that_no_pod_can_use_yet(objects, want, strategy):
    waiting = using("c") if objects else pod("p", volumes=[TEMPLATE])
    message = message_of(decided([*ZONES, waiting, *objects], strategy=strategy))
    assert message.partition("in the cluster: ")[2].removesuffix(". No placement exists (proved by complete search)") == want


def test_equal_pods_with_different_unbound_claims_share_a_shape():
    objects = [*ZONES, leaf("g", 2), *(using(name, name=name, group="g") for name in "cd"), claim("c"), claim("d")]
    assert "2 pods with 1 cpu each" in message_of(decided(objects, strategy="greedy"))


@STRATEGIES
@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([*DATASETS, *gang(nodeSelector={"pool": "2"})], f"{BOUND_IN_Z1}; the group is confined to z2", id="bound"),
        pytest.param(
            [*CAPACITY, leaf("g", 1, "zone"), using("c", group="g"), capacity("a", "40Gi", "z1")],
            "storage class x offers 40Gi in zone z1, 100Gi needed for claim c",
            id="capacity",
        ),
        pytest.param([claim(), leaf("g", 1, "zone"), using("c", group="g")], "there is no StorageClass late", id="no class"),
    ],
)
def test_condition_of_the_sidecar(objects, want, strategy):
    scheduled = [{**each, "spec": {**each["spec"], "schedulerName": "muster"}} if each["kind"] == "Pod" else each for each in objects]
    conditions = [
        each for each in Scene(*ZONES, *scheduled, strategy=strategy, scheduler_name="muster").writes() if isinstance(each, SetCondition)
    ]
    assert [want in each.condition.message for each in conditions if each.target.kind == "PodGroup"] == [True]


EVEN = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
]


@STRATEGIES
@pytest.mark.parametrize(
    ("labels", "dropped"),
    [
        pytest.param([], True, id="volumes that requests count"),
        # The sets of volumes overlap, so the pods compete for them one by one, and a count would leave that out.
        pytest.param(["a", "b"], False, id="other volumes"),
    ],
)
def test_spread_of_pods_with_claims(labels, dropped, strategy):
    sizes = [("6Gi", "a"), ("8Gi", "ab"), ("10Gi", "b")]
    volumes = [delayed.volume(f"pv-{size}", "n1", size, labels={each: "1" for each in on if labels}) for size, on in sizes]
    wanted = [{"selector": {"matchLabels": {each: "1"}}} for each in labels] or [{}]
    claims = [delayed.claim(f"c{number}", **wanted[number % len(wanted)]) for number in range(3)]
    pods = [using(f"c{number}", name=f"p{number}", group="g", topologySpreadConstraints=EVEN) for number in range(3)]
    for each in pods:
        each["metadata"]["labels"] = {"app": "a"}
    message = message_of(decided([node("n1"), node("n2"), delayed.LOCAL, leaf("g", 3), *volumes, *claims, *pods], strategy=strategy))
    assert "excluded by its topology spread: maxSkew 1 by node, pods with app=a: n1 1, n2 0" in message
    assert dropped == ("or all 3 if its topology spread constraints were dropped" in message)
    assert dropped or "were dropped" not in message
