"""Claims that wait for their first consumer: which nodes they admit, and which volumes they get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeapi.base_structs import replaced
from muster.commands.snapshot.snapshot_document import keep_simulated_fields
from muster.render import answer_json
from muster.render.answer import Answer
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.status import Status
from scheduler_core.plugins.volume_binding import VolumeBinding
from tests import builders
from tests.scheduler_core.builders import Json, composite, decided, leaf, message_of, node, placed, pod, reasons_of

CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
SELECTED = "volume.kubernetes.io/selected-node"
NODES = [node("n1", zone="a"), node("n2", zone="b"), node("n3")]


def claim(name: str = "c", size: str = "5Gi", storage_class: str = "local", annotations: Json | None = None, **spec: Any) -> Json:
    return builders.volume_claim(name, size, storage_class, metadata={"annotations": annotations or {}}, **spec)


def volume(name: str, where: str = "", size: str = "10Gi", labels: Json | None = None, phase: str = "", **spec: Any) -> Json:
    metadata = {"labels": labels or {}, **({"deletionTimestamp": "2026-08-01T00:00:00Z"} if phase == "deleting" else {})}
    made = builders.persistent_volume(name, size, "local", nodes=[where] if where else [], metadata=metadata, **spec)
    return made | {"status": {"phase": phase} if phase not in ("", "deleting") else {}}


def storage_class(name: str = "local", provisioner: str = "kubernetes.io/no-provisioner", *zones: str) -> Json:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": list(zones)}]}] if zones else []
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": terms}


def driver(name: str = "csi.example", *, measured: bool = True) -> Json:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": {"storageCapacity": measured}}


def capacity(name: str, zone: str | None, **fields: str) -> Json:
    topology = {} if zone is None else {"nodeTopology": {"matchLabels": {"zone": zone}}}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "storageClassName": "dyn", **topology, **fields}


def using(*claims: str, name: str = "p", **more: Any) -> Json:
    return pod(name, volumes=[{"name": f"v{each}", "persistentVolumeClaim": {"claimName": each}} for each in claims], **more)


def scratch(name: str = "p", storage: str = "local", **more: Any) -> Json:
    template = {"spec": {"storageClassName": storage, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}}
    return pod(name, volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}], **more)


LOCAL, DYNAMIC = storage_class(), storage_class("dyn", "csi.example")


def outcome(*objects: Json, strategy: str = "greedy") -> tuple[dict[str, str], dict[str, str]]:
    """Return the node of each placed pod, and the volume of each claim; a volume to be provisioned is ``@NODE``."""
    decision = decided([*NODES, *objects], strategy=strategy)
    volumes = {claim.removeprefix("default/"): each.volume or f"@{each.node}" for claim, each in decision.volumes.items()}
    return placed(decision), volumes


@pytest.mark.parametrize(
    "volumes",
    [
        pytest.param([volume("small", "n2", "4Gi"), volume("right", "n2", "6Gi"), volume("wide", "n2")], id="the smallest that fits"),
        pytest.param([volume("bound", "n2", "5Gi", phase="Bound"), volume("right", "n2", "6Gi", phase="Available")], id="a free one"),
        pytest.param([volume("leaving", "n2", "5Gi", phase="deleting"), volume("right", "n2")], id="not one that is being deleted"),
        pytest.param([volume("raw", "n2", "5Gi", volumeMode="Block"), volume("right", "n2")], id="with its mode"),
        pytest.param([volume("fast", "n2", "5Gi", volumeAttributesClassName="x"), volume("right", "n2")], id="with its attributes"),
        pytest.param([volume("once", "n2", "5Gi", accessModes=[]), volume("right", "n2")], id="with its access modes"),
        pytest.param([volume("other", "n2", "5Gi", storageClassName="x"), volume("right", "n2")], id="of its class"),
        pytest.param(
            [volume("theirs", "n2", "5Gi", claimRef={"namespace": "default", "name": "d"}), volume("right", "n2")], id="not another's"
        ),
        pytest.param(
            [volume("small", "n1", "5Gi"), volume("right", "n2", claimRef={"namespace": "default", "name": "c"})], id="its reserved one"
        ),
        pytest.param([volume("right", "n2", "5Gi"), volume("same", "n2", "5Gi")], id="the first of equals"),
    ],
)
def test_claim_takes_a_volume_of_the_node(volumes):
    want = {"p": "n2"}, {"c": "right"}
    assert want == outcome(using("c"), claim(), LOCAL, *volumes)
    assert want == outcome(using("c"), claim(), LOCAL, *volumes, strategy="complete")


def test_selector_of_a_claim():
    volumes = [volume("plain", "n1", "5Gi"), volume("gold", "n2", labels={"tier": "gold"})]
    wanted = claim(selector={"matchLabels": {"tier": "gold"}})
    assert ({"p": "n2"}, {"c": "gold"}) == outcome(using("c"), wanted, LOCAL, *volumes)
    nothing = claim(selector={"matchExpressions": [{"key": "tier", "operator": "In", "values": []}]})
    assert ({}, {}) == outcome(using("c"), nothing, LOCAL, *volumes)


def test_claims_of_one_pod_take_different_volumes_by_size_without_going_back():
    volumes = [volume("five", "n1", "5Gi"), volume("ten", "n1")]
    assert ({"p": "n1"}, {"c": "ten", "d": "five"}) == outcome(using("c", "d"), claim("c", "6Gi"), claim("d", "1Gi"), LOCAL, *volumes)
    gold = claim("c", "6Gi", selector={"matchLabels": {"tier": "gold"}})
    volumes = [volume("five", "n1", "5Gi", {"tier": "gold"}), volume("ten", "n1", labels={"tier": "gold"}), volume("twenty", "n1", "20Gi")]
    assert ({"p": "n1"}, {"c": "ten", "d": "five"}) == outcome(using("c", "d"), gold, claim("d", "1Gi"), LOCAL, *volumes)
    assert ({}, {}) == outcome(using("c", "d"), gold, claim("d", "5.5Gi"), LOCAL, *volumes)


def test_members_of_a_gang_compete_for_volumes():
    gang = [leaf("g", 2), using("c0", name="p0", group="g"), using("c1", name="p1", group="g"), claim("c0"), claim("c1"), LOCAL]
    two = outcome(*gang, volume("pv1", "n1"), volume("pv2", "n2"))
    assert ({"p0": "n1", "p1": "n2"}, {"c0": "pv1", "c1": "pv2"}) == two
    for strategy in ("greedy", "complete"):
        assert ({}, {}) == outcome(*gang, volume("pv1", "n1"), strategy=strategy)


def test_later_roots_do_not_get_the_volumes_of_earlier_ones():
    objects = [*NODES, LOCAL, claim("c0"), claim("c1"), claim("c2"), volume("pv1", "n1"), volume("pv2", "n1", "20Gi")]
    objects += [using(f"c{number}", name=f"p{number}") for number in range(3)]
    result = run_cycle(load(objects), CycleOptions())
    chosen = {claim: each.volume for decision in result.decisions for claim, each in decision.volumes.items()}
    assert {"pv1", "pv2"} == {*chosen.values()}
    assert 2 == len(chosen)
    assert 1 == sum(decision.status is not Status.SUCCESS for decision in result.decisions)


def test_shared_claim_keeps_its_volume_or_its_node():
    gang = [leaf("g", 2), using("c", name="p0", group="g"), using("c", name="p1", group="g")]
    shared = claim(accessModes=["ReadWriteMany"])
    everywhere = volume("pv", accessModes=["ReadWriteMany"])
    nodes, volumes = outcome(*gang, shared, LOCAL, everywhere)
    assert ({"p0", "p1"}, {"c": "pv"}) == ({*nodes}, volumes)
    nodes, volumes = outcome(*gang, claim(storage_class="dyn"), DYNAMIC)
    assert (1, {"c": "@n1"}) == (len(set(nodes.values())), volumes)
    big = [each if each["kind"] != "Pod" else using("c", name=each["metadata"]["name"], group="g", cpu="3") for each in gang]
    assert ({}, {}) == outcome(*big, claim(storage_class="dyn"), DYNAMIC)


@pytest.mark.parametrize(
    ("objects", "nodes", "reason"),
    [
        pytest.param([DYNAMIC], "n1 n2 n3", "", id="anywhere"),
        pytest.param([storage_class("dyn", "csi.example", "b", "c")], "n2", CONFLICT, id="allowed topologies"),
        pytest.param([storage_class("dyn", "")], "", CONFLICT, id="no provisioner"),
        pytest.param([storage_class("dyn")], "", CONFLICT, id="provisioned by nobody"),
        pytest.param([DYNAMIC, driver()], "", NO_SPACE, id="no capacity is known"),
        pytest.param([DYNAMIC, driver(measured=False)], "n1 n2 n3", "", id="capacity is not compared"),
        pytest.param([DYNAMIC, driver("csi.other")], "n1 n2 n3", "", id="another driver"),
        pytest.param([DYNAMIC, driver(), capacity("a", "b", capacity="5Gi")], "n2", NO_SPACE, id="capacity"),
        pytest.param([DYNAMIC, driver(), capacity("a", "b", capacity="4Gi")], "", NO_SPACE, id="too little"),
        pytest.param([DYNAMIC, driver(), capacity("a", "b", capacity="9Gi", maximumVolumeSize="4Gi")], "", NO_SPACE, id="largest volume"),
        pytest.param([DYNAMIC, driver(), capacity("a", "b", maximumVolumeSize="9Gi")], "n2", NO_SPACE, id="capacity without a figure"),
        pytest.param([DYNAMIC, driver(), capacity("a", None, capacity="9Gi")], "", NO_SPACE, id="no topology"),
    ],
)
def test_nodes_for_which_a_volume_can_be_provisioned(objects, nodes, reason):
    for name in ("n1", "n2", "n3"):
        result = decided([*NODES, using("c", nodeSelector={"kubernetes.io/hostname": name}), claim(storage_class="dyn"), *objects])
        assert (name in nodes.split()) == bool(result.assignments)
        assert result.assignments == ({"default/p": name} if name in nodes.split() else {})
    if not nodes:
        message = reasons_of(decided([*NODES, using("c"), claim(storage_class="dyn"), *objects], strategy="greedy"))["default/p"]
        assert f"0/3 nodes are available: 3 {reason}." == message


@pytest.mark.parametrize(("selected", "want"), [("n2", {"p": "n2"}), ("gone", {})])
def test_selected_node(selected, want):
    result = outcome(using("c"), claim(storage_class="dyn", annotations={SELECTED: selected}), DYNAMIC)
    assert (want, {"c": "@n2"} if want else {}) == result


def test_free_storage_is_preferred_also_without_a_figure():
    objects = [using("c"), claim(storage_class="dyn"), DYNAMIC, driver(), capacity("a", "a", capacity="10Gi")]
    assert {"p": "n2"} == outcome(*objects, capacity("b", "b", capacity="100Gi"))[0]
    assert {"p": "n1"} == outcome(*objects, capacity("b", "b", maximumVolumeSize="100Gi"))[0]


def test_more_wasteful_volume_is_preferred_as_in_kube_scheduler():
    assert {"c": "wide"} == outcome(using("c"), claim(), LOCAL, volume("close", "n1", "5Gi"), volume("wide", "n2", "50Gi"))[1]


@pytest.mark.parametrize(
    ("owner", "reason"),
    [
        ({"kind": "Pod", "name": "p", "controller": True}, ""),
        ({"kind": "Pod", "name": "q", "controller": True}, "PVC default/p-scratch was not created for pod default/p (pod is not owner)"),
        ({"kind": "Pod", "name": "p"}, "PVC default/p-scratch was not created for pod default/p (pod is not owner)"),
    ],
)
def test_claim_of_an_ephemeral_volume_belongs_to_its_pod(owner, reason):
    owned = claim("p-scratch")
    owned["metadata"]["ownerReferences"] = [owner]
    decision = decided([*NODES, scratch(), owned, LOCAL, volume("pv", "n2")], strategy="greedy")
    assert ({} if reason else {"p": "n2"}) == placed(decision)
    assert reasons_of(decision) == ({"default/p": f"0/3 nodes are available: {reason}."} if reason else {})


def test_missing_claim_of_an_ephemeral_volume_is_made_from_its_template():
    assert ({"p": "n2"}, {"p-scratch": "pv"}) == outcome(scratch(), LOCAL, volume("pv", "n2"))
    assert ({"p": "n1"}, {"p-scratch": "@n1"}) == outcome(scratch(storage="dyn"), DYNAMIC)
    assert ({}, {}) == outcome(scratch(storage="none"), DYNAMIC)


def test_redacted_snapshot_keeps_the_claims_of_ephemeral_volumes():
    owned = claim("p-scratch")
    owned["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "p", "controller": True}]
    reserved = volume("pv2", "n2", claimRef={"namespace": "default", "name": "p-scratch"})
    objects = [*NODES, scratch(), owned, LOCAL, volume("pv", "n1"), reserved]
    document = keep_simulated_fields(objects).redacted("salt").document()
    assert b"scratch" not in document
    result = run_cycle(load([json.loads(document)]), CycleOptions())
    (choice,) = result.decisions[0].volumes.values()
    assert choice.volume
    (assigned,) = result.decisions[0].assignments.values()
    assert sorted(load([json.loads(document)]).nodes.names).index(assigned) == 1


@pytest.mark.parametrize("ignore", ["spec.volumes.persistentVolumeClaim", "spec.volumes[0].persistentVolumeClaim"])
@pytest.mark.parametrize("objects", [[LOCAL], [LOCAL, volume("pv", "n9")]], ids=["no volume", "a volume elsewhere"])
def test_ignored_claim_takes_no_volume(objects, ignore):
    given = load([*NODES, using("c"), claim(), *objects])
    assert not run_cycle(given, CycleOptions()).decisions[0].assignments
    (decision,) = run_cycle(given, CycleOptions(ignore=frozenset({ignore}))).decisions
    assert (1, {}) == (len(decision.assignments), dict(decision.volumes))


def test_volumes_taken_before_an_eviction_stay_taken():
    low = pod("low", cpu="4", on="n1", priority=0)
    objects = [*NODES, low, LOCAL, claim("c0"), claim("c1"), volume("pv0", "n2"), volume("pv1", "n1", "20Gi")]
    objects += [using("c0", name="a", priority=9, cpu="3"), using("c1", name="b", priority=8, cpu="3")]
    result = run_cycle(load(objects), CycleOptions(evict=True))
    chosen = {claim: each.volume for decision in result.decisions for claim, each in decision.volumes.items()}
    assert {"default/c0": "pv0", "default/c1": "pv1"} == chosen


def test_answer_lists_the_volumes():
    result = run_cycle(load([*NODES, using("c", "d"), claim(), claim("d", storage_class="dyn"), LOCAL, DYNAMIC, volume("pv", "n2")]))
    (decision,) = json.loads(answer_json.render(Answer.from_decisions(result.decisions)))["decisions"]
    assert {"default/c": {"volume": "pv"}, "default/d": {"selectedNode": "n2"}} == decision["volumes"]


def test_equal_pods_with_different_claims_share_a_shape():
    claims = [claim(f"c{number}", storage_class="dyn") for number in range(3)]
    shapes = [each.shape for each in load([*NODES, *claims, DYNAMIC, *(using(f"c{n}", name=f"p{n}") for n in range(3))]).pods]
    assert shapes[0] is shapes[1] is shapes[2]
    shared = [each.shape for each in load([*NODES, *claims, DYNAMIC, using("c0", name="p0"), using("c0", name="p1")]).pods]
    assert (shared[0] is shared[1], shared[0].picks_volumes) == (True, True)
    assert not shapes[0].picks_volumes


RACKS = [node(f"{rack}-n{number}", rack=rack, zone=zone) for rack, zone in (("r1", "a"), ("r2", "b")) for number in (1, 2)]


def gang(count: int, size: str = "500Gi", storage: str = "local", **claims: Any) -> list[Json]:
    pods = [using(f"c{number}", name=f"p{number}", group="g") for number in range(count)]
    return [leaf("g", count, "rack"), *pods, *(claim(f"c{number}", size, storage, **claims) for number in range(count))]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [LOCAL, *gang(4), *(volume(f"pv{number}", f"r1-n{1 + number % 2}", "600Gi") for number in range(3))],
            "rack r1 can hold 3 (short of 1 volume of class local with 500Gi: 3 free, 4 needed); "
            "rack r2 can hold none (both nodes have no free volume of class local with 500Gi for claim c0)",
            id="volumes",
        ),
        pytest.param(
            [LOCAL, *gang(4), volume("pv", "r1-n1", "600Gi"), volume("pv2", "r1-n2", "600Gi")],
            "rack r1 can hold 2 (short of 2 volumes of class local with 500Gi: 2 free, 4 needed); ",
            id="several volumes",
        ),
        pytest.param(
            [LOCAL, *gang(3), volume("pv", "r1-n1", "600Gi"), volume("wide", "r1-n1", "900Gi"), volume("other", "r1-n1", "7Gi")],
            "rack r2 can hold none (no volume of class local with 500Gi is free)",
            id="volumes that differ",
        ),
        pytest.param(
            [storage_class("dyn", "csi.example", "c"), *gang(2, storage="dyn")],
            "racks r1 and r2 can hold none (both nodes are outside the allowed topologies of class dyn, which claim c0 uses)",
            id="allowed topologies",
        ),
        pytest.param(
            [DYNAMIC, driver(), capacity("cap", "a", capacity="40Gi"), *gang(2, "100Gi", "dyn")],
            "rack r1 can hold none (storage class dyn offers 40Gi in zone a, 100Gi needed for claim c0)",
            id="storage capacity",
        ),
        pytest.param(
            [DYNAMIC, *gang(1, storage="dyn", annotations={SELECTED: "gone"})],
            "both nodes cannot be used: node gone is selected for claim c0",
            id="selected node",
        ),
        pytest.param(
            [LOCAL, *gang(1), volume("pv", "r9", "500Gi", claimRef={"namespace": "default", "name": "c0"})],
            "both nodes cannot use volume pv, which is reserved for claim c0",
            id="reserved volume",
        ),
    ],
)
def test_diagnosis_names_claim_class_and_size(objects, want):
    assert want in message_of(decided([*RACKS, *objects], strategy="greedy")).replace("\n", " ")


def test_shared_claim_is_named_as_the_reason():
    objects = [*NODES, DYNAMIC, leaf("g", 2), claim(storage_class="dyn")]
    objects += [using("c", name=f"p{number}", group="g", cpu="3") for number in range(2)]
    message = message_of(decided(objects, strategy="greedy"))
    assert "2 of 3 nodes cannot use the volume of a claim that several pods share: the first pod selects its node" in message
    assert "the pods of group g depend on other pods through the volumes that they take" in message


def test_node_that_lacks_several_volumes_is_counted_once():
    objects = [*NODES, LOCAL, using("c", "d"), claim(), claim("d", "8Gi"), volume("a", "n1", "5Gi"), volume("b", "n2")]
    assert {"default/p": f"0/3 nodes are available: 3 {CONFLICT}."} == reasons_of(decided(objects, strategy="greedy"))


def tree(*volumes: Json) -> list[Json]:
    """Return a tree of two leaves with one pod each, whose claims need the same kind of volume."""
    objects = [*NODES, LOCAL, composite("root", 2), claim("ca"), claim("cb"), *volumes]
    return [*objects, *(each for x in "ab" for each in (leaf(f"g{x}", 1, parent="root"), using(f"c{x}", name=f"p{x}", group=f"g{x}")))]


@pytest.mark.parametrize("volumes", [[volume("pv", "n1")], [volume("pv")]], ids=["counted", "of all nodes"])
def test_greedy_gives_a_volume_to_two_groups_of_a_tree_and_reports_it(volumes):
    decision = decided(tree(*volumes), strategy="greedy")
    assert (Status.SUCCESS, {"pa", "pb"}) == (decision.status, {*placed(decision)})
    assert {"default/ca": "pv", "default/cb": "pv"} == {claim: each.volume for claim, each in decision.volumes.items()}
    assert message_of(decision).startswith("volume pv is given to claims ca and cb, of which only one is bound: kube-scheduler does not")
    complete = decided(tree(*volumes), strategy="complete")
    assert ({}, {}) == (placed(complete), dict(complete.volumes))
    assert complete.status is not Status.SUCCESS


def test_greedy_reports_a_pod_that_cannot_reach_the_volume_of_a_siblings_claim():
    objects = [*NODES, LOCAL, composite("root", 2), claim("c"), volume("pv1", "n1"), volume("pv2", "n2")]
    objects += [each for x in "ab" for each in (leaf(f"g{x}", 1, parent="root"), using("c", name=f"p{x}", group=f"g{x}", cpu="3"))]
    decision = decided(objects, strategy="greedy")
    assert {"pa": "n1", "pb": "n2"} == placed(decision)
    assert message_of(decision).startswith("pod pb cannot use the volume of its claim on its node: kube-scheduler does not hold volumes")
    assert {} == placed(decided(objects, strategy="complete"))


def test_tree_with_two_volumes_is_placed_without_a_warning():
    for strategy in ("greedy", "complete"):
        decision = decided(tree(volume("pv1", "n1"), volume("pv2", "n1")), strategy=strategy)
        assert (2, "") == (len({each.volume for each in decision.volumes.values()}), message_of(decision))


def sharing(*nodes: Json, cpu: str = "2", count: int = 2, **more: Any) -> list[Json]:
    """Return a gang whose pods share a claim for which a volume must be provisioned."""
    pods = [using("c", name=f"p{number}", group="g", cpu=cpu) for number in range(count)]
    return [*nodes, DYNAMIC, leaf("g", count), claim(storage_class="dyn", **more), *pods]


def test_complete_search_finds_the_node_of_a_shared_claim():
    objects = sharing(node("a", cpu="100"), node("b", cpu="11"), pod("full", on="a", cpu="97"), pod("half", on="b", cpu="6"))
    assert {} == placed(decided(sharing(node("a", cpu="3"), node("b", cpu="3")), strategy="complete"))
    assert {"p0": "b", "p1": "b"} == placed(decided(objects, strategy="complete"))
    tight = sharing(node("a", "3900m", memory="64Gi"), node("b", "4", memory="1Gi"))
    assert {} == placed(decided(tight, strategy="greedy"))
    decision = decided(tight, strategy="complete")
    assert ({"p0": "b", "p1": "b"}, {"default/c": "b"}) == (
        placed(decision),
        {claim: each.node for claim, each in decision.volumes.items()},
    )


@pytest.mark.parametrize(
    ("objects", "outcome"),
    [
        pytest.param(sharing(node("a", "3"), node("b", "3")), "infeasible", id="no node is large enough"),
        pytest.param(sharing(), "infeasible", id="no nodes"),
        pytest.param([*sharing(node("a", "4"), cpu="1"), pod("full", on="a", cpu="3")], "infeasible", id="the only node is full"),
        pytest.param(sharing(node("a", "9"), annotations={SELECTED: "b"}), "infeasible", id="another node is selected"),
        pytest.param([*sharing(node("a", "3")), volume("v", storageClassName="dyn")], "infeasible", id="a volume exists"),
    ],
)
def test_complete_search_refutes_a_shared_claim_if_no_node_can_have_it(objects, outcome):
    decision = decided(objects, strategy="complete")
    assert (outcome, {}) == (decision.search.outcome, placed(decision))


def test_later_root_needs_the_node_that_an_earlier_root_selects_for_their_claim():
    objects = [node("a", "4"), node("b", "4"), DYNAMIC, claim(storage_class="dyn")]
    objects += [using("c", name="p1", cpu="3", priority=9), using("c", name="p2", cpu="3")]
    for strategy in ("greedy", "complete"):
        decisions = run_cycle(load(objects), CycleOptions(strategy=strategy)).decisions
        assert [1, 0] == [len(each.assignments) for each in decisions]


@pytest.mark.parametrize("sizes", [("10Gi", "10Gi"), ("10Gi", "20Gi")], ids=["volumes that are counted", "volumes that differ"])
def test_volumes_do_not_matter_if_volume_binding_is_disabled(sizes):
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}}],
    }
    volumes = [volume(f"pv{number}", "n1", size) for number, size in enumerate(sizes)]
    objects = [*NODES, LOCAL, *volumes, leaf("g", 3), *(using(f"c{n}", name=f"p{n}", group="g") for n in range(3))]
    objects += [claim(f"c{number}") for number in range(3)]
    for strategy in ("greedy", "complete"):
        assert {} == placed(decided(objects, strategy=strategy))
        decision = decided([*objects, configuration], strategy=strategy)
        assert (3, {}) == (len(placed(decision)), dict(decision.volumes))


def test_claim_whose_reserved_volume_is_gone_has_the_options_of_any_other_claim():
    nodes = load([*NODES, LOCAL, using("c"), claim(), volume("a", "n1")]).nodes
    assert nodes.storage is not None
    request = ClaimRequest("local", 5 * 2**30, access_modes=("ReadWriteOnce",))
    options = nodes.storage.options(replaced(request, reserved="gone"))
    assert {0: (0,)} == options.on_node
    assert options.on_node == nodes.storage.options(request).on_node


def test_the_score_is_the_mean_of_the_free_percentages_of_the_classes():
    """plugins/volumebinding/scorer.go: the shares by class are truncated, and their mean is rounded."""
    other = storage_class("other", "csi.example")
    sizes = (("dyn", "a", "10Gi"), ("other", "a", "20Gi"), ("dyn", "b", "40Gi"), ("other", "b", "40Gi"))
    figures = [capacity(f"{name}-{zone}", zone, storageClassName=name, capacity=size) for name, zone, size in sizes]
    claims = [claim(), claim("d", storage_class="dyn"), claim("o", storage_class="other")]

    def scores(*names: str) -> list[int]:
        snapshot = load([*NODES, LOCAL, DYNAMIC, other, driver(), *figures, *claims, using(*names)])
        return VolumeBinding(snapshot.nodes).score(snapshot.pods[0].shape).raw.tolist()

    assert [50, 88, 0] == scores("d")
    assert [63, 88, 0] == scores("d", "o")
