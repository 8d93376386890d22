"""Labels that no node has: the similar label that nodes have is named."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from tests.muster.simulated import gang, node, pod
from tests.scheduler_core.worded_problems import worded

NODES = [
    node("n1", **{"example.com/rack": "r1", "topology.kubernetes.io/zone": "us-east-1a"}),
    node("n2", **{"example.com/rack": "r2", "example.com/row": "r-12", "topology.kubernetes.io/zone": "us-east-1b"}),
]


def group(key):
    made = gang("g", 1)
    return {**made, "spec": {**made["spec"], "schedulingConstraints": {"topology": [{"key": key}]}}}


def spreading(key, when="DoNotSchedule"):
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": {"matchLabels": {"app": "x"}}}
    return pod("p", topologySpreadConstraints=[constraint])


def near(side, key):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}
    return pod("p", affinity={side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def expecting(key, operator, *values):
    expression = {"key": key, "operator": operator, **({"values": [*values]} if values else {})}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return pod("p", affinity={"nodeAffinity": required})


def selecting(key, value, **more):
    return pod("p", nodeSelector={key: value}, **more)


@pytest.mark.parametrize(
    ("object_", "want"),
    [
        pytest.param(
            group("example.com/rck"), 'no node has the topology key "example.com/rck"; did you mean "example.com/rack"?', id="key"
        ),
        pytest.param(group("rack"), 'no node has the topology key "rack"; did you mean "example.com/rack"?', id="without its prefix"),
        pytest.param(
            group("topology.kubernetes.io/zoen"),
            'no node has the topology key "topology.kubernetes.io/zoen"; did you mean "topology.kubernetes.io/zone"?',
            id="two letters exchanged",
        ),
        pytest.param(
            group("topology.kubernetes.io/zome"),
            'no node has the topology key "topology.kubernetes.io/zome"; did you mean "topology.kubernetes.io/zone"?',
            id="another letter",
        ),
        pytest.param(group("example.com/zoem"), None, id="two other letters"),
        pytest.param(selecting("example.com/rack", "x1"), None, id="another letter in a short value"),
        pytest.param(selecting("example.com/row", "r-21"), None, id="digits exchanged"),
        pytest.param(group("example.com/rack"), None, id="a key that nodes have"),
        pytest.param(group("example.com/block"), None, id="a key that is not similar"),
        pytest.param(
            selecting("topology.kubernetes.io/zne", "us-east-1a"),
            'no node has the label "topology.kubernetes.io/zne" of its node selector; did you mean "topology.kubernetes.io/zone"?',
            id="selected key",
        ),
        pytest.param(
            selecting("topology.kubernetes.io/zone", "us-est-1b"),
            'no node has the label topology.kubernetes.io/zone=us-est-1b of its node selector; did you mean "us-east-1b"?',
            id="selected value",
        ),
        pytest.param(selecting("topology.kubernetes.io/zone", "us-east-1b"), None, id="a value that a node has"),
        pytest.param(selecting("topology.kubernetes.io/zone", "mars"), None, id="a value that is not similar"),
        pytest.param(selecting("topology.kubernetes.io/zone", "us-est-1b", on="n1"), None, id="a running pod"),
        pytest.param(
            spreading("topology.kubernetes.io/zne"),
            'no node has the label "topology.kubernetes.io/zne" of its topology spread; did you mean "topology.kubernetes.io/zone"?',
            id="spread",
        ),
        pytest.param(spreading("topology.kubernetes.io/zne", "ScheduleAnyway"), None, id="a preference"),
        pytest.param(
            near("podAffinity", "rack"),
            'no node has the label "rack" of its pod affinity; did you mean "example.com/rack"?',
            id="pod affinity",
        ),
        pytest.param(
            near("podAntiAffinity", "example.com/rck"),
            'no node has the label "example.com/rck" of its pod anti-affinity; did you mean "example.com/rack"?',
            id="pod anti-affinity",
        ),
        pytest.param(
            expecting("topology.kubernetes.io/zne", "Exists"),
            'no node has the label "topology.kubernetes.io/zne" of its node affinity; did you mean "topology.kubernetes.io/zone"?',
            id="key of node affinity",
        ),
        pytest.param(
            expecting("topology.kubernetes.io/zone", "In", "mars", "us-est-1b"),
            "no node has the label topology.kubernetes.io/zone with one of the values mars, us-est-1b of its node affinity; "
            'did you mean "us-east-1b"?',
            id="values of node affinity",
        ),
        pytest.param(expecting("topology.kubernetes.io/zone", "In", "us-est-1b", "us-east-1a"), None, id="one value that a node has"),
        pytest.param(expecting("topology.kubernetes.io/zne", "NotIn", "us-east-1a"), None, id="excluded"),
    ],
)
def test_similar_labels_are_named(object_, want):
    assert [want] * bool(want) == [each.message for each in worded(load([*NODES, object_]).problems) if "did you mean" in each.message]


def test_without_nodes_nothing_is_similar():
    assert [] == [each for each in worded(load([group("rack")]).problems) if "did you mean" in each.message]


def test_the_group_and_the_pod_are_named():
    named = {each.object for each in worded(load([*NODES, group("rack"), selecting("topology.kubernetes.io/zne", "x")]).problems)}
    assert {"PodGroup default/g", "Pod default/p"} <= named


OTHER_THINGS = [
    ("nvidia.com/gpu.product", "h100", "a100"),
    ("cloud.google.com/gke-tpu-accelerator", "tpu-v5p-slice", "tpu-v6e-slice"),
    ("cloud.google.com/gke-tpu-topology", "2x2x4", "2x2x1"),
    ("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB"),
    ("kubernetes.io/arch", "amd64", "arm64"),
    ("node.kubernetes.io/instance-type", "m5.large", "m5.xlarge"),
    ("node.kubernetes.io/instance-type", "p4d.24xlarge", "p5d.24xlarge"),
    ("topology.kubernetes.io/zone", "us-east-1a", "us-east-1b"),
    ("topology.kubernetes.io/region", "us-east", "us-west"),
]


@pytest.mark.parametrize(("key", "wanted", "present"), OTHER_THINGS)
def test_other_hardware_and_other_places_are_never_meant(key, wanted, present):
    for one, other in ((wanted, present), (present, wanted)):
        assert not [
            each for each in worded(load([node("n1", **{key: other}), selecting(key, one)]).problems) if "did you mean" in each.message
        ]


@pytest.mark.parametrize(
    ("wanted", "present"),
    [("A100", "a100"), ("nvidia-testla-v100", "nvidia-tesla-v100"), ("2X2X4", "2x2x4"), ("rack1", "rack-1"), ("m5.xlrage", "m5.xlarge")],
)
def test_a_misspelling_of_hardware_is_meant(wanted, present):
    (problem,) = worded(load([node("n1", kind=present), selecting("kind", wanted)]).problems)
    assert problem.message.endswith(f'did you mean "{present}"?')
