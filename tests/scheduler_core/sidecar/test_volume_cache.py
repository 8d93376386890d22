"""Claims, volumes and storage classes of a live cluster, and the roots that a change of them helps."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.model.names import Name
from scheduler_core.sidecar.queue.states import Unschedulable
from scheduler_core.sidecar.writes import Bind
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, message_of, node, pod
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.plugins.test_volumes import claim, on, storage_class, using, volume
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import told
from tests.scheduler_core.sidecar.test_scheduler import Scene
from tests.scheduler_core.test_volumes_agreement import VOLUMES, with_claims
from tests.scheduler_core.worded_problems import worded

MUSTER = {"schedulerName": "muster"}
NODES = [node("n1", zone="a"), node("n2", zone="b")]
MANY = settings(max_examples=sampled(40), deadline=None, suppress_health_check=list(HealthCheck))
POD = Name("Pod", "default", "p")
POD_OF_D = using("d", name="other", **MUSTER)


@MANY
@given(st.data())
def test_cache_is_what_load_makes_of_the_same_objects(data):
    objects, _ = data.draw(with_claims(clusters(TINY)))
    kept = [each for each in objects if each not in VOLUMES or data.draw(st.integers(0, 3))]
    server = data.draw(histories.histories(kept, objects))
    store = histories.Cache()
    histories.Server().fill(store)
    for event in data.draw(histories.deliveries(server.events)):
        histories.feed(store, [event])
        if data.draw(st.integers(0, 15)) == 0:
            store.snapshot()
    want = load([histories.raw(each) for each in server.objects.values()])
    assert told(want) == told(store.snapshot())
    assert set() == {each.shape for each in store.snapshot().pods if each.node >= 0 and each.shape.volumes}


def scene(*objects: Json) -> Scene:
    return Scene(*NODES, using("c", **MUSTER), POD_OF_D, claim("d"), *objects, scheduler_name="muster")


def bound(writes: list[object]) -> dict[str, str]:
    return {each.target.name: each.node for each in writes if isinstance(each, Bind)}


BOUND = claim(volume="pv")
ZONE_A, ZONE_B, NOWHERE = (volume("pv", on("zone", value)) for value in ("a", "b", "x"))
LATER = {"deletionTimestamp": "2026-08-01T00:00:00Z"}
WAITING = [claim(volume="pv", bound=False)]


@pytest.mark.parametrize(
    ("before", "news", "want"),
    [
        pytest.param([ZONE_A], BOUND, "n1", id="claim added"),
        pytest.param([ZONE_B, claim()], BOUND, "n2", id="claim bound"),
        pytest.param([ZONE_B, *WAITING], BOUND, "n2", id="binding completed"),
        pytest.param([ZONE_B, claim(volume="pv", **LATER)], BOUND, "n2", id="claim replaced"),
        pytest.param([BOUND], ZONE_A, "n1", id="volume added"),
        pytest.param([BOUND, NOWHERE], ZONE_B, "n2", id="volume changed"),
    ],
)
def test_change_wakes_the_pods_that_it_helps(before, news, want):
    this = scene(*before)
    assert {} == bound(this.writes())
    assert 2 == this.scheduler.counts()[Unschedulable, "Pod"]
    this.put(news)
    assert {POD} == this.store.reporter.changes.roots, "the other pod has another claim"
    this.now += 100.0
    assert {"p": want} == bound(this.writes())


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(claim("e", "pv"), id="another claim"),
        pytest.param({**BOUND, "metadata": {**BOUND["metadata"], "labels": {"a": "b"}}}, id="labels of the claim"),
        pytest.param(volume("pv2", on("zone", "a")), id="another volume"),
        pytest.param({**NOWHERE, "spec": {**NOWHERE["spec"], "mountOptions": ["ro"]}}, id="mount options"),
        pytest.param(storage_class("WaitForFirstConsumer", "other"), id="another class"),
        pytest.param(storage_class("WaitForFirstConsumer"), id="class of a claim that is bound"),
    ],
)
def test_other_change_wakes_no_pod(news):
    this = Scene(*NODES, using("c", **MUSTER), BOUND, NOWHERE, scheduler_name="muster")
    this.writes()
    this.put(news)
    assert not this.store.reporter.changes


def test_claim_that_is_not_modelled_is_never_bound():
    this = scene(claim(), storage_class("Immediate"))
    this.writes()
    for news in (storage_class("WaitForFirstConsumer"), volume("pv", azureDisk={"kind": "Dedicated"}), claim(volume="pv")):
        this.put(news)
        this.now += 100.0
        assert {} == bound(this.writes())
    assert ("spec.volumes[0].persistentVolumeClaim",) == this.store.snapshot().pods[1].shape.unmodelled


def test_volume_that_is_only_reserved_for_the_claim_is_not_enough():
    this = scene(*WAITING, volume("pv", claimRef={"namespace": "default", "name": "c"}))
    assert {} == bound(this.writes())
    this.put(BOUND)
    this.now += 100.0
    assert ["p"] == [*bound(this.writes())]


def test_gang_waits_for_its_last_claim():
    group = leaf("g", 2)
    members = [using(f"c{number}", name=f"g-{number}", group="g", **MUSTER) for number in range(2)]
    this = Scene(*NODES, group, *members, claim("c0", "pv"), ZONE_A, scheduler_name="muster")
    assert {} == bound(this.writes())
    this.put(claim("c1", "pv1"), volume("pv1", on("zone", "b")))
    this.now += 100.0
    assert {"g-0": "n1", "g-1": "n2"} == bound(this.writes())


def test_deleted_objects_are_forgotten():
    this = scene(BOUND, ZONE_A, storage_class("Immediate"))
    for kind, name in (("PersistentVolumeClaim", "c"), ("PersistentVolumeClaim", "d")):
        this.delete(kind, name)
    this.server.delete(("PersistentVolume", "", "pv"))
    this.server.delete(("StorageClass", "", "late"))
    this.handle_changes()
    volumes = this.store.snapshot().volumes
    assert ({}, {}, {}) == (volumes.claims, volumes.volumes, volumes.classes)
    assert {} == bound(this.writes())


def test_unusable_claim_is_a_problem_and_does_not_exist():
    broken = {**BOUND, "spec": {"volumeName": 7}}
    this = scene(ZONE_A, broken)
    (problem,) = worded(this.store.problems())
    assert ("PersistentVolumeClaim default/c", True) == (problem.object, problem.message.endswith("the claim is left out"))
    assert {} == bound(this.writes())
    this.put(BOUND)
    this.now += 100.0
    assert ((), {"p": "n1"}) == (this.store.problems(), bound(this.writes()))


def test_a_pod_with_a_csi_volume_is_placed():
    this = scene(BOUND, volume("pv", csi={"driver": "csi.example", "volumeHandle": "x"}))
    assert {"p": "n1"} == bound(this.writes())


def message(this: Scene) -> str:
    explanation = this.scheduler.explain("default", "p")
    assert explanation is not None
    assert explanation.decision is not None
    return message_of(explanation.decision)


def test_ephemeral_volume_waits_until_its_claim_exists_and_is_bound():
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "late"}}}}]
    this = Scene(*NODES, pod("p", volumes=volumes, **MUSTER), ZONE_B, storage_class("WaitForFirstConsumer"), scheduler_name="muster")
    missing = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"'
    assert {} == bound(this.writes())
    assert missing in message(this)
    owner = {"ownerReferences": [{"kind": "Pod", "name": "p", "controller": True}]}
    this.put(claim("p-scratch", **owner))
    this.now += 100.0
    assert {} == bound(this.writes())
    assert "both nodes have no free volume of class late for claim p-scratch" in message(this)
    this.put(claim("p-scratch", "pv", **owner))
    this.now += 100.0
    assert {"p": "n2"} == bound(this.writes())
