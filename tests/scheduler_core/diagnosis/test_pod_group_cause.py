"""Cause of a PodGroup that is not placed, and reasons of its pods."""

from __future__ import annotations

import pytest

from scheduler_core import diagnosis
from scheduler_core.diagnosis import domain_causes
from scheduler_core.model.ledger import PodLoad
from scheduler_core.model.names import Domain
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.wording import phrases
from tests.scheduler_core.diagnosis.diagnosing import (
    ANTI,
    GPU,
    HOST,
    RACK,
    SPREAD,
    composite,
    diagnosed,
    group,
    labelled,
    named,
    node,
    outcomes,
    pod,
    pods,
    pods_words,
    worded,
)

CLAIM = [{"name": "v", "azureFile": {}}]


def selecting(*expressions):
    """Return required node affinity with one term; each expression is a key, an operator and values."""
    listed = [{"key": key, "operator": operator, "values": [*values]} for key, operator, *values in expressions]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": listed}]}}}


@pytest.mark.parametrize(
    ("nodes", "gang", "want"),
    [
        pytest.param(
            [node(f"n{number}", rack="r1", **{GPU: "3"}) for number in range(4)],
            [group("g", 5, key=RACK), *pods("g", 5, requests={GPU: "2"})],
            "group g does not fit in any rack (5 pods with 1 cpu, 2 nvidia.com/gpu each): "
            "rack r1 can hold 4 (fragmented: 4 nvidia.com/gpu more are free, but no node has 2 (at most 1))",
            id="enough in sum, in pieces",
        ),
        pytest.param(
            [
                *(node(f"n{number}", "2", **{GPU: "8"}) for number in range(2)),
                *(node(f"m{number}", "64", **{GPU: "1"}) for number in range(4)),
            ],
            [group("g", 2), *pods("g", 2, "4", requests={GPU: "2"})],
            "group g does not fit in the cluster (2 pods with 4 cpu, 2 nvidia.com/gpu each): "
            "fragmented: no node has 2 nvidia.com/gpu and 4 cpu free together",
            id="two resources that no node has together",
        ),
        pytest.param(
            [node(f"n{number}", **{GPU: "8"}) for number in range(2)],
            [group("g", 2), *pods("g", 2, requests={GPU: "16"})],
            "group g does not fit in the cluster (2 pods with 1 cpu, 16 nvidia.com/gpu each): "
            "a pod requests 16 nvidia.com/gpu, more than any node has (8)",
            id="larger than any node",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 4), *pods("g", 4, "500m", requests={"memory": "9Gi"})],
            "group g does not fit in the cluster (4 pods with 0.5 cpu, 9Gi memory each): "
            "the cluster can hold 2 (short of 4Gi memory: 32Gi free, 36Gi needed)",
            id="memory and fractions of a core",
        ),
        pytest.param(
            [node("n1", pods="2")],
            [group("g", 4), *pods("g", 4, "10m")],
            "group g does not fit in the cluster (4 pods with 0.01 cpu each): "
            "the cluster can hold 2 (short of 2 pod slots: 2 free, 4 needed)",
            id="too many pods",
        ),
        pytest.param(
            [node(f"n{number}", "1", rack="r3", taints=("dedicated=inference:NoSchedule",) * (number < 4)) for number in range(8)],
            [group("g", 6, key=RACK), *pods("g", 6)],
            "group g does not fit in any rack (6 pods with 1 cpu each): rack r3 can hold 4 (short of 2 cpu: 4 free, 6 needed), "
            "or all 6 if the taint dedicated=inference:NoSchedule on 4 of 8 nodes were tolerated",
            id="a taint",
        ),
        pytest.param(
            [node(f"n{number}", taints=("a:NoSchedule", "b:NoExecute")) for number in range(3)],
            [group("g", 1), *pods("g", 1)],
            "group g does not fit in the cluster (1 pod with 1 cpu): "
            "all 3 nodes have the untolerated taint a:NoSchedule and also b:NoExecute",
            id="a taint behind which stands another",
        ),
        pytest.param(
            [node("n1", taints=("a=b:NoSchedule",)), *(node(name, taints=("a=b:NoExecute",)) for name in ("n2", "n3"))],
            [group("g", 3), *pods("g", 3, "4")],
            "group g does not fit in the cluster (3 pods with 4 cpu each): 1 of 3 nodes has the untolerated taint a=b:NoSchedule; "
            "only 2 of 3 pods would fit if the taint a=b:NoExecute on 2 of 3 nodes were tolerated",
            id="a taint with two effects",
        ),
        pytest.param(
            [node(f"n{number}", taints=("a=b:NoSchedule", "a=b:NoExecute")) for number in range(3)],
            [group("g"), pod("g-0", "g")],
            "group g does not fit in the cluster (1 pod with 1 cpu): "
            "all 3 nodes have the untolerated taint a=b:NoSchedule and also a=b:NoExecute",
            id="a taint behind which stands its other effect",
        ),
        pytest.param(
            [node(f"n{number}", rack="r1", taints=(f"t{number}:NoSchedule",)) for number in range(6)],
            [group("g", 7, key=RACK), *pods("g", 7, "4")],
            "group g does not fit in any rack (7 pods with 4 cpu each): rack r1 can hold none (all 6 nodes have untolerated taints: "
            "t0:NoSchedule, t1:NoSchedule, t2:NoSchedule and 3 more), or 1 if the taint t0:NoSchedule on 1 of 6 nodes were tolerated",
            id="many taints",
        ),
        pytest.param(
            [labelled(node(f"n{number}", "1"), gpu="h100" if number < 4 else "a100") for number in range(8)],
            [group("g", 6), *pods("g", 6, nodeSelector={"gpu": "h100"})],
            "group g does not fit in the cluster (6 pods with 1 cpu each): the cluster can hold 4 (short of 2 cpu: 4 free, 6 needed), "
            "or all 6 if its node selector gpu=h100, which 4 of 8 nodes do not match, were dropped",
            id="a node selector",
        ),
        pytest.param(
            [labelled(node(f"n{number}", "1"), block="b1" if number < 4 else "b3") for number in range(8)],
            [group("g", 6), *pods("g", 6, affinity=selecting(("block", "In", "b1", "b2")))],
            "group g does not fit in the cluster (6 pods with 1 cpu each): the cluster can hold 4 (short of 2 cpu: 4 free, 6 needed), "
            "or all 6 if its node affinity block in (b1, b2), which 4 of 8 nodes do not match, were dropped",
            id="node affinity",
        ),
        pytest.param(
            [labelled(node(f"n{number}"), block="b3", disk="ssd") for number in range(2)],
            [group("g", 2), *pods("g", 2, affinity=selecting(("disk", "In", "ssd"), ("block", "In", "b1", "b2")))],
            "group g does not fit in the cluster (2 pods with 1 cpu each): both pods would fit if its node affinity, which neither "
            "node matches (no node has label block in (b1, b2)), were dropped",
            id="node affinity to a label that no node has",
        ),
        pytest.param(
            [labelled(node("n1", cordoned=True), disk="ssd"), labelled(node("n2", "0"), disk="ssd"), labelled(node("n3"), block="b3")],
            [group("g", 2), *pods("g", 2, "4", nodeSelector={"disk": "ssd"}, affinity=selecting(("block", "Exists")))],
            "group g does not fit in the cluster (2 pods with 4 cpu each): 1 of 3 nodes is cordoned; only 1 of 2 pods would fit if its "
            "node selector disk=ssd and node affinity block, which 2 of 3 nodes do not match, were dropped",
            id="a selector and affinity that no node matches together",
        ),
        pytest.param(
            [node("n1", taints=("node.kubernetes.io/not-ready:NoSchedule",)), node("n2", "1")],
            [group("g", 2), *pods("g", 2)],
            "group g does not fit in the cluster (2 pods with 1 cpu each): the cluster can hold 1 (short of 1 cpu: 1 free, 2 needed), "
            "or both if 1 of 2 nodes were without the taint node.kubernetes.io/not-ready:NoSchedule",
            id="a node that is not ready",
        ),
        pytest.param(
            [node(f"n{number}", rack="r1", cordoned=True) for number in range(2)],
            [group("g", 2, key=RACK), *pods("g", 2)],
            "group g does not fit in any rack (2 pods with 1 cpu each): rack r1 can hold none, or both if both nodes were uncordoned",
            id="cordoned nodes",
        ),
        pytest.param(
            [
                node("n1", cordoned=True, taints=("a:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule")),
                node("n2", cordoned=True, taints=("a:NoSchedule",)),
                node("n3", "0", cordoned=True, taints=("node.kubernetes.io/unschedulable:NoSchedule",)),
                node("n4", taints=("a:NoSchedule", "b:NoExecute", "c:PreferNoSchedule")),
            ],
            [group("g", 1), *pods("g", 1)],
            "group g does not fit in the cluster (1 pod with 1 cpu): 3 of 4 nodes are cordoned and some of them also have the untolerated "
            "taint a:NoSchedule; 1 of 4 nodes has the untolerated taint a:NoSchedule and also b:NoExecute",
            id="taints of cordoned nodes",
        ),
        pytest.param(
            [node("n1", cordoned=True, taints=("a:NoSchedule", "b:NoExecute"))],
            [group("g", 1), *pods("g", 1)],
            "group g does not fit in the cluster (1 pod with 1 cpu): "
            "its only node is cordoned and also has the untolerated taints a:NoSchedule and b:NoExecute",
            id="taints of one cordoned node",
        ),
        pytest.param(
            [*(node(f"n{number}", cordoned=True) for number in range(2)), node("n3", taints=("a:NoSchedule",)), node("n4", "0")],
            [group("g", 2, key=HOST), *pods("g", 2)],
            "group g does not fit on any node (2 pods with 1 cpu each): "
            "nodes n0 and n1 can hold none, or both if each node were uncordoned; "
            "node n3 can hold none, or both if the taint a:NoSchedule on the node were tolerated; "
            "node n4 can hold none (a pod requests 1 cpu, more than any node has (0))",
            id="nodes that are named",
        ),
        pytest.param(
            [node("n1", cordoned=True, taints=("a:NoSchedule",)), node("n2", cordoned=True, taints=("a:NoSchedule",))],
            [group("g", 2, key=HOST), *pods("g", 2)],
            "group g does not fit on any node (2 pods with 1 cpu each): "
            "nodes n1 and n2 can hold none (each node is cordoned and also has the untolerated taint a:NoSchedule)",
            id="several nodes that are named",
        ),
        pytest.param(
            [node("n1", cordoned=True), *(node(name, taints=("a:NoSchedule",)) for name in ("n2", "n3"))],
            [group("g", 2), *pods("g", 2, "3")],
            "group g does not fit in the cluster (2 pods with 3 cpu each): 1 of 3 nodes is cordoned; "
            "both pods would fit if the taint a:NoSchedule on 2 of 3 nodes were tolerated",
            id="a cordoned node, and a taint",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 3), *pods("g", 3, ports=[{"hostPort": 8080}])],
            "group g does not fit in the cluster (3 pods with 1 cpu each): "
            "the cluster can hold 2 (both nodes have host port 8080/TCP in use)",
            id="ports of the host",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 3), *pods("g", 3, affinity=ANTI)],
            "group g does not fit in the cluster (3 pods with 1 cpu each): "
            "the cluster can hold 2 (both nodes are excluded by its pod anti-affinity: nodes n1 and n2 have a pod with app=g), "
            "or all 3 if its pod anti-affinity were dropped",
            id="anti-affinity",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 3), *pods("g", 3, affinity=ANTI, topologySpreadConstraints=SPREAD)],
            "group g does not fit in the cluster (3 pods with 1 cpu each): "
            "the cluster can hold 2 (both nodes are excluded by its pod anti-affinity: nodes n1 and n2 have a pod with app=g), "
            "or all 3 if all rules between pods were dropped",
            id="two rules between pods",
        ),
        pytest.param(
            [node("n1"), node("n2", "1")],
            [group("g", 4), *pods("g", 4, topologySpreadConstraints=SPREAD)],
            "group g does not fit in the cluster (4 pods with 1 cpu each): the cluster can hold 3 (1 of 2 nodes has less than 1 cpu free; "
            "1 of 2 nodes is excluded by its topology spread: maxSkew 1 by node, pods with app=g: n1 2, n2 1), or all 4 if its topology spread constraints were dropped",
            id="spread, and a full node",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            [group("g", 1, key=RACK), *pods("g", 1)],
            "group g has no candidate rack: no node of the cluster has the label topology.example/rack",
            id="no such label",
        ),
        pytest.param(
            [node("n1", "2", rack="r1"), node("n2", "9", rack="r2")],
            [group("g", 4, key=RACK), pod("g-x", "g", on="n1"), *pods("g", 3)],
            "group g does not fit in any rack (3 pending pods with 1 cpu each; 1 running): "
            "rack r1 can hold 1 (short of 2 cpu: 1 free, 3 needed)",
            id="a rack chosen by a pod that runs",
        ),
        pytest.param(
            [node("n1", **{GPU: "8"}), node("n2", taints=("x:NoExecute",), **{GPU: "16"})],
            [pod("lonely", requests={GPU: "12"})],
            "pod lonely (1 cpu, 12 nvidia.com/gpu) does not fit on any node in the cluster: "
            "a pod requests 12 nvidia.com/gpu, more than any node that "
            "it can use has (8); it would fit if the taint x:NoExecute on 1 of 2 nodes were tolerated",
            id="a pod by itself",
        ),
    ],
)
def test_a_leaf_says_what_it_is_short_of(nodes, gang, want):
    assert want == diagnosed([*nodes, *gang]).message


def test_a_field_that_is_not_modelled_is_a_reason_like_any_other():
    result = diagnosed([node("n1", rack="r1"), group("g", 2, key=RACK), *pods("g", 2, volumes=CLAIM)])

    assert "rack r1 can hold none (spec.volumes[0].azureFile can exclude nodes" in result.message
    assert result.message.endswith(", or both if it were ignored")
    assert result.pods["default/g-0"].startswith("0/1 nodes are available: 1 spec.volumes[0].azureFile")


def test_reasons_of_a_pod_are_counted_most_first_and_ties_go_by_text():
    nodes = [
        *(node(f"full-{number}", "0") for number in range(3)),
        node("tainted", taints=("b=c:NoExecute",)),
        node("cordoned", cordoned=True),
        *(labelled(node(f"other-{number}"), disk="hdd") for number in range(2)),
    ]
    for each in nodes:
        each["metadata"]["labels"].setdefault("disk", "ssd")

    result = diagnosed([*nodes, pod("p", nodeSelector={"disk": "ssd"})])

    assert result.pods == {
        "default/p": "0/7 nodes are available: 3 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint {b: c}, 1 node(s) were unschedulable."
    }


def test_a_running_gang_with_no_node_for_more_pods_says_so():
    running = [pod(f"g-r{number}", "g", on="n1") for number in range(2)]

    result = diagnosed([node("n1", "2", rack="r1"), node("n2", rack="r2"), group("g", 2, key=RACK), *running, *pods("g", 3)])

    assert result.message == (
        "group g has its minimum, but no node for 3 more pods (1 cpu each) in rack r1: short of 3 cpu: 0 free, 3 needed"
    )
    assert set(result.pods.values()) == {"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod group's topology."}


def test_pods_that_a_success_leaves_over_have_their_reasons():
    [(greedy, request, outcome)] = outcomes(
        [node("n1", "3", rack="r1"), node("n2", "2", rack="r2"), group("g", 2, key=RACK), *pods("g", 5)]
    )
    greedy.assume(request, outcome)

    reason = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod group's topology."
    assert {"default/g-3": reason, "default/g-4": reason} == pods_words(diagnosis.leftovers(greedy, request, outcome))


def test_a_child_that_a_success_leaves_out_has_its_cause():
    created = [node("n1", "3"), composite("w", 1), group("a", 2, parent="w", age=1), group("b", 2, parent="w", age=2)]
    [(greedy, request, outcome)] = outcomes([*created, *pods("a", 2), *pods("b", 2)])

    result = worded(diagnosis.explain(greedy, request, outcome))

    assert outcome.status is Status.SUCCESS
    assert {
        "b": "group b of w does not fit in the cluster (2 pods with 1 cpu each): the cluster can hold 1 (short of 1 cpu: 1 free, 2 needed)"
    } == named(result.groups)
    assert result.pods == {
        "default/b-0": "pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
        "default/b-1": "0/1 nodes are available: 1 Insufficient cpu.",
    }


def test_where_every_pod_must_be_placed_all_of_them_are_needed():
    result = diagnosed([node("n1", "3"), group("g", 2), *pods("g", 5)], options=PlacingOptions(every_pod=True))

    assert result.message == (
        "group g does not fit in the cluster (5 pods with 1 cpu each): the cluster can hold 3 (short of 2 cpu: 3 free, 5 needed)"
    )


@pytest.mark.parametrize(
    ("resource", "value", "want"),
    [
        pytest.param("cpu", 1500, "1.5 cpu", id="cores"),
        pytest.param("cpu", 8000, "8 cpu", id="whole cores"),
        pytest.param("cpu", 1, "0.001 cpu", id="a millicore"),
        pytest.param("memory", 16 * 2**30, "16Gi memory", id="Gi"),
        pytest.param("memory", 16 * 2**30 - 1, "15.99Gi memory", id="cut off, not rounded"),
        pytest.param("memory", 3 * 2**19, "1.5Mi memory", id="Mi"),
        pytest.param("memory", 512, "512 memory", id="bytes"),
        pytest.param("hugepages-2Mi", 2**21, "2Mi hugepages-2Mi", id="huge pages"),
        pytest.param(GPU, 3, "3 nvidia.com/gpu", id="devices"),
        pytest.param("pods", 1, "1 pod slot", id="one pod"),
        pytest.param("pods", 2, "2 pod slots", id="pods"),
    ],
)
def test_amounts_are_written_for_people(resource, value, want):
    assert want == phrases.amount(resource, value)


@pytest.mark.parametrize(
    ("values", "want"),
    [
        pytest.param(["r1"], "rack r1", id="one"),
        pytest.param(["r1", "r2"], "racks r1 and r2", id="several"),
        pytest.param(["rack-1", "rack-2"], "rack-1 and rack-2", id="values that say what they are"),
        pytest.param(["a", "b", "c", "d", "e", "f"], "racks a, b, c, d and 2 more", id="more than are shown"),
        pytest.param([""], "the rack without a name", id="an empty value"),
    ],
)
def test_domains_are_named(values, want):
    assert want == phrases.domain_names([Domain(RACK, value) for value in values])


def test_the_cause_of_equal_gangs_is_found_once_while_the_pods_of_a_domain_are_the_same(monkeypatch):
    found = []
    find = domain_causes._cause_in_domain
    monkeypatch.setattr(domain_causes, "_cause_in_domain", lambda *given: (found.append(given), find(*given))[1])
    nodes = [node(f"{rack}-{number}", rack=rack) for rack in "ab" for number in range(2)]
    objects = [*nodes, *(each for name in "xyz" for each in (group(name, 9, key=RACK), *pods(name, 9)))]
    apart = [diagnosis.explain(*each) for each in outcomes(objects)]
    found.clear()
    (greedy, *first), second, third = outcomes(objects)
    known = diagnosis.DomainCauses(greedy)

    together = [diagnosis.explain(greedy, *first, known), diagnosis.explain(*second, known)]
    assert 2 == len(found), "one of each rack"
    assert apart[:2] == together
    assert ["x", "y"] == [each.cause.path[-1].name for each in together]

    # A pod more in one of the racks.
    topology, ledger = greedy.state.topology, greedy.state.ledger
    taken = topology.divide(topology.root, RACK).domains[0].nodes[:1]
    ledger.assume((PodLoad(first[0].entity.waiting[0].shape, taken),), ledger.fresh())
    again = diagnosis.explain(greedy, third[1], greedy.place(third[1]), known)
    assert 3 == len(found)
    assert [8, 7] == [each.pods for each in again.cause.domains]
