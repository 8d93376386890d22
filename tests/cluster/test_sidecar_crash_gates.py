"""The sidecar is killed at each of its writes to gates and finalizers, and started again: what it has begun is finished."""

from __future__ import annotations

import pytest

from tests.cluster.groups import LABEL, composite, pod_group
from tests.cluster.kubelet import pod
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_crash import doomed, moments
from tests.cluster.test_sidecar_place import GATE, racks
from tests.cluster.test_sidecar_protect import deleted, finalizers
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.37", sampled="custom")

UNGATE = ("--mode", "ungate", "--lease", "none")
PROTECT = ("--mode", "protect", "--lease", "none")
GATES = range(1, 7)
"""One write for each pod of the tree."""
FINALIZERS = range(1, 7)
"""Those that the API server does not add are added, then one after the other is taken off: custom resources have two more."""


def gated_tree(api, namespace):
    """A composite of two gangs of three, each in a rack, that the gate holds."""
    api.create(composite("top", namespace, minimum=2))
    for leaf in "ab":
        api.create(pod_group(leaf, namespace, minimum=3, key=LABEL, parent="top"))
        gate = {"schedulingGates": [{"name": GATE}]}
        api.create_all([pod(f"{leaf}{number}", namespace, group=leaf, spec=gate) for number in range(3)])


def opened(pods):
    """The nodes for which pods were opened, by the pods' names."""
    return {name: each["metadata"]["annotations"][GATE] for name, each in pods.items() if not each["spec"].get("schedulingGates")}


@moments(GATES)
def test_a_tree_is_opened_whole_whenever_the_sidecar_dies(plane, api, namespace, nodes, tmp_path, point, lose):
    nodes(*racks(4))
    with doomed(plane, tmp_path, UNGATE, point, lose=lose):
        gated_tree(api, namespace)
    before = opened({each["metadata"]["name"]: each for each in api.objects("Pod", namespace)})
    with sidecar(plane, tmp_path, *UNGATE, fork=True):
        after = opened(api.wait_all("Pod", namespace, until=lambda pods: 6 == len(opened(pods))))

    assert before.items() <= after.items()
    for leaf in "ab":
        assert 1 == len({after[f"{leaf}{number}"].partition("-")[0] for number in range(3)})


@moments(FINALIZERS)
def test_no_finalizer_is_left_whenever_the_sidecar_dies(plane, api, namespace, tmp_path, point, lose):
    groups = [("PodGroup", "a"), ("PodGroup", "b"), ("CompositePodGroup", "inner"), ("CompositePodGroup", "top")]
    with doomed(plane, tmp_path, PROTECT, point, lose=lose) as proxy:
        api.create(composite("top", namespace))
        api.create(composite("inner", namespace, parent="top"))
        api.create_all([pod_group(leaf, namespace, parent="inner") for leaf in "ab"])
        until(lambda: len(proxy.writes) >= point or all(finalizers(api.get(kind, name, namespace)) for kind, name in groups))
        for kind, name in reversed(groups):
            api.delete(kind, name, namespace)
    with sidecar(plane, tmp_path, *PROTECT, fork=True):
        for kind, name in groups:
            deleted(api, kind, name, namespace)
