"""Nodes taken away and nodes added, in the objects."""

from __future__ import annotations

import json

import pytest

from kubeapi.gathered import GatheredObjects
from muster.commands.described_nodes.description_syntax import MOST_NODES
from muster.commands.simulate.node_addition import Addition, paired_additions, parse_additions
from muster.commands.simulate.what_if import WhatIfError, suppose
from scheduler_core.cluster.load import load
from scheduler_core.model.names import HOSTNAME
from tests.muster.simulated import node, pod
from tests.scheduler_core.worded_problems import worded


def supposed(objects, drain=(), *additions):
    found, problems = suppose(objects, drain, paired_additions(parse_additions(additions), ()))
    assert problems == []
    return {f"{each['kind']} {each['metadata']['name']}": each for each in parsed(found)}


def as_text(objects):
    return [json.dumps(each).encode() for each in objects]


@pytest.mark.parametrize("form", [pytest.param(list, id="parsed"), pytest.param(as_text, id="JSON text")])
def test_drained_node_is_gone_and_its_pods_wait(form):
    objects = [node("n1"), node("n2"), pod("p", on="n1"), pod("q", on="n2"), pod("waiting")]
    found = supposed(form(objects), ["n1"])

    assert set(found) == {"Node n2", "Pod p", "Pod q", "Pod waiting"}
    assert "nodeName" not in found["Pod p"]["spec"]
    assert found["Pod p"]["spec"]["containers"] == objects[2]["spec"]["containers"]
    assert found["Pod q"] == objects[3]


@pytest.mark.parametrize(
    ("resident", "want"),
    [
        pytest.param(pod("p", on="n1", owner="DaemonSet"), False, id="a DaemonSet's"),
        pytest.param(pod("p", on="n1", owner="Node"), False, id="a static one"),
        pytest.param(pod("p", on="n1", owner="ReplicaSet"), True, id="a ReplicaSet's"),
        pytest.param(pod("p", on="n1"), True, id="nobody's"),
        pytest.param(
            {**pod("p", on="n1"), "metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, False, id="leaving anyway"
        ),
    ],
)
def test_pods_of_the_node_itself_leave_with_it(resident, want):
    assert want == ("Pod p" in supposed([node("n1"), resident], ["n1"]))


def test_nomination_to_a_drained_node_is_dropped():
    nominated = {**pod("p"), "status": {"nominatedNodeName": "n1", "phase": "Pending"}}
    found = supposed([node("n1"), nominated], ["n1"])
    assert found["Pod p"]["status"] == {"phase": "Pending"}


def test_pod_that_only_speaks_of_a_drained_node_stays_as_it_is():
    speaking = pod("p", on="n2", nodeSelector={HOSTNAME: "n1"})
    assert supposed([node("n1"), node("n2"), speaking], ["n1"])["Pod p"] == speaking


def test_several_nodes_are_drained_at_once():
    assert set(supposed([node("n1"), node("n2"), node("n3")], ["n1", "n3"])) == {"Node n2"}


def test_added_nodes_are_like_the_one_they_are_named_for():
    found = supposed([node("n1", cpu="8", rack="r1")], (), "2 like n1")

    assert set(found) == {"Node n1", "Node n1-added-1", "Node n1-added-2"}
    added = found["Node n1-added-2"]
    assert added["metadata"]["labels"] == {HOSTNAME: "n1-added-2", "rack": "r1"}
    assert added["status"]["allocatable"]["cpu"] == "8"


def test_added_node_has_the_drivers_of_the_one_it_is_named_for():
    drivers = {"drivers": [{"name": "csi.example", "nodeID": "n1", "allocatable": {"count": 5}}]}
    attached = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n1", "uid": "x"}, "spec": drivers}
    found = supposed([node("n1"), node("n2"), attached], (), "1 like n1", "1 like n2")

    assert set(found) == {"Node n1", "Node n2", "Node n1-added-1", "Node n2-added-1", "CSINode n1", "CSINode n1-added-1"}
    assert found["CSINode n1-added-1"] == {**attached, "metadata": {"name": "n1-added-1"}}


def test_added_nodes_may_have_other_labels():
    added = supposed([node("n1", rack="r1")], (), "1 like n1,rack=r2, zone=z")["Node n1-added-1"]
    assert added["metadata"]["labels"] == {HOSTNAME: "n1-added-1", "rack": "r2", "zone": "z"}


def test_added_node_takes_no_name_that_is_there():
    found = supposed([node("n1"), node("n1-added-1")], (), "1 like n1", "1 like n1")
    assert set(found) == {"Node n1", "Node n1-added-1", "Node n1-added-2", "Node n1-added-3"}


def test_added_node_is_fresh():
    worn = node("n1")
    worn["metadata"] |= {"uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"a": "b"}}
    worn["spec"] = {
        "unschedulable": True,
        "providerID": "x",
        "taints": [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
        ],
    }
    added = supposed([worn], (), "1 like n1")["Node n1-added-1"]

    assert added["spec"] == {"providerID": "x", "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
    assert set(added["metadata"]) == {"name", "labels", "annotations"}


@pytest.mark.parametrize("status", [{}, {"images": [{"names": ["x:1"]}]}], ids=["none", "some"])
def test_added_node_has_no_images(status):
    like = node("n1")
    like["status"] |= status
    found = supposed([like], (), "1 like n1")["Node n1-added-1"]

    assert node("n1")["status"] == found["status"]


def test_added_node_runs_what_every_node_runs():
    found = supposed([node("n1"), pod("agent", on="n1", owner="DaemonSet"), pod("web", on="n1")], (), "1 like n1")

    assert set(found) == {"Node n1", "Node n1-added-1", "Pod agent", "Pod web", "Pod agent-n1-added-1"}
    assert found["Pod agent-n1-added-1"]["spec"]["nodeName"] == "n1-added-1"


def test_added_node_does_not_run_what_is_being_deleted():
    old = pod("old", on="n1", owner="DaemonSet")
    old["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:00Z"

    assert set(supposed([node("n1"), old], (), "1 like n1")) == {"Node n1", "Node n1-added-1", "Pod old"}


def test_node_may_be_drained_and_replaced_at_once():
    found = supposed([node("n1"), pod("p", on="n1")], ["n1"], "1 like n1")

    assert set(found) == {"Node n1-added-1", "Pod p"}
    assert "nodeName" not in found["Pod p"]["spec"]


def test_items_of_a_list_get_the_kind_of_the_list():
    plain = {key: value for key, value in pod("p", on="n1", owner="ReplicaSet").items() if key not in {"kind", "apiVersion"}}
    listed = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [plain]}).encode()

    found = supposed([node("n1"), node("n2"), listed], ["n2"])
    assert found["Pod p"]["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize("field", ["nodeName", "schedulerName"])
def test_pods_that_loading_leaves_out_stay_as_they_are(field):
    odd = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "n2", field: ["n2"]}}).encode()
    found, problems = suppose([node("n1"), node("n2"), odd], ["n2"], [])

    assert (problems, len(found)) == ([], 2)
    assert 1 == len(load(found).problems)


def test_a_node_that_loading_leaves_out_cannot_be_copied():
    odd = {**node("n2"), "spec": {"taints": ["x"]}}
    with pytest.raises(WhatIfError, match="'n2' cannot be copied: it is left out"):
        suppose([node("n1"), odd], [], [Addition(1, "n2")])


@pytest.mark.parametrize(
    ("drain", "want"),
    [
        pytest.param(["rack=r1"], {"n3"}, id="a label"),
        pytest.param(["topology.kubernetes.io/zone=z1"], {"n2"}, id="a whole key"),
        pytest.param(["zone=z1"], {"n2"}, id="what stands behind the prefix"),
        pytest.param(["zone=z1", "n2"], set(), id="a label and a name"),
        pytest.param(["tier="], {"n2", "n3"}, id="an empty value"),
        pytest.param([" rack = r1 "], {"n3"}, id="spaces"),
    ],
)
def test_all_nodes_with_a_label_are_drained(drain, want):
    zone = "topology.kubernetes.io/zone"
    nodes = [node("n1", rack="r1", tier="", **{zone: "z1"}), node("n2", rack="r1"), node("n3", rack="r2", **{zone: "z1"})]
    assert want == {each["metadata"]["name"] for each in supposed(nodes, drain).values()}


def test_pods_of_all_drained_nodes_wait():
    found = supposed([node("n1", rack="r1"), node("n2", rack="r1"), node("n3"), pod("p", on="n1"), pod("q", on="n2")], ["rack=r1"])
    assert (False, False) == ("nodeName" in found["Pod p"]["spec"], "nodeName" in found["Pod q"]["spec"])


def test_whole_key_precedes_the_name_after_a_prefix():
    nodes = [node("n1", rack="r1"), node("n2", **{"example.com/rack": "r1"})]
    assert {"Node n2"} == set(supposed(nodes, ["rack=r1"]))


@pytest.mark.parametrize(
    ("drain", "want"),
    [
        pytest.param("rak=r1", "there is no node with a label 'rak' among the inputs; did you mean rack", id="unknown key"),
        pytest.param("rack=r19", "there is no node with the label rack=r19 among the inputs; did you mean r1", id="unknown value"),
        pytest.param("rack=blue", "there is no node with the label rack=blue among the inputs; its values are r1, r2", id="nothing near"),
        pytest.param("zone=z1", "the label 'zone' is ambiguous: give a.example/zone or b.example/zone", id="several keys"),
        pytest.param("=r1", "there is no node with a label '' among the inputs", id="no key"),
    ],
)
def test_label_that_no_node_has_is_reported_with_similar_ones(drain, want):
    nodes = [node("n1", rack="r1", **{"a.example/zone": "z1"}), node("n2", rack="r2", **{"b.example/zone": "z1"})]
    with pytest.raises(WhatIfError, match=want):
        supposed(nodes, [drain])


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_objects_of_one_name_the_one_that_counts_is_copied_and_drained(order):
    objects = [node("n1", cpu="2", rack="r1"), node("n1", cpu="4", rack="r2"), pod("web", on="n1"), pod("web", on="n2"), node("n2")][
        ::order
    ]
    found, problems = suppose(objects, ["n2"], [Addition(1, "n1")])
    added = [each for each in found if isinstance(each, dict) and each["metadata"]["name"] == "n1-added-1"]

    assert {"Node n1", "Pod default/web"} == {each.object for each in worded(problems)}
    assert [("2", "r1")] == [(each["status"]["allocatable"]["cpu"], each["metadata"]["labels"]["rack"]) for each in added]
    assert ["n1"] == [each["spec"]["nodeName"] for each in map(dict, parsed(found)) if each["kind"] == "Pod"]


def parsed(found):
    return [each.content() if isinstance(each, GatheredObjects) else each for each in found]


def test_nodes_without_a_name_are_reported_elsewhere():
    nameless = {"apiVersion": "v1", "kind": "Node", "metadata": {}}
    found, problems = suppose([nameless, nameless, node("n1"), node("n2")], ["n1"], [])
    assert (3, []) == (len(found), problems)


@pytest.mark.parametrize(
    ("drain", "additions", "want"),
    [
        pytest.param(["gpu-l"], [], "there is no node 'gpu-l' among the inputs; did you mean gpu-2 or gpu-1", id="drained"),
        pytest.param([], ["1 like gpu-l"], "there is no node 'gpu-l' among the inputs; did you mean gpu-2 or gpu-1", id="copied"),
    ],
)
def test_unknown_node_is_reported_with_similar_ones(drain, additions, want):
    with pytest.raises(WhatIfError, match=want):
        supposed([node("gpu-1"), node("gpu-2")], drain, *additions)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("3 like n1", Addition(3, "n1"), id="plain"),
        pytest.param("  3  like  n1 ", Addition(3, "n1"), id="spaces"),
        pytest.param("1 like n1,a/b=c", Addition(1, "n1", (("a/b", "c"),)), id="a label"),
        pytest.param("1 like n1,a=,b=2", Addition(1, "n1", (("a", ""), ("b", "2"))), id="an empty value"),
        pytest.param(f"{MOST_NODES} like n1", Addition(MOST_NODES, "n1"), id="as many as may be"),
    ],
)
def test_addition_is_read(text, want):
    assert (want,) == parse_additions([text])


@pytest.mark.parametrize(
    "text", ["", "like n1", "n1", "0 like n1", f"{MOST_NODES + 1} like n1", "2 like n1,a", "2 like n1,=b", "-1 like n1", "2 like"]
)
def test_what_is_no_addition_is_reported(text):
    with pytest.raises(ValueError, match=r"must be"):
        parse_additions([text])
