"""Protection finalizers on a real API server."""

from __future__ import annotations

import pytest

from tests.cluster.groups import composite, pod_group
from tests.cluster.kubelet import finish_pod, node, pod, remove_pod
from tests.cluster.sidecars import sidecar
from tests.sampling import sampled

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

INNER = "scheduling.k8s.io/compositepodgroup-protection"
LEAF = "scheduling.k8s.io/podgroup-protection"
MANY = sampled(1000)
MANY_SECONDS = 180.0
"""For a thousand writes."""


@pytest.fixture(scope="module")
def protecting(plane, tmp_path_factory):
    with sidecar(plane, tmp_path_factory.mktemp("protect"), "--mode", "protect", "--lease", "none", fork=True) as running:
        yield running


def finalizers(found):
    return (found or {}).get("metadata", {}).get("finalizers") or []


def deleted(api, kind, name, namespace):
    api.wait(kind, name, namespace, until=lambda result: result is None)


def test_a_composite_gets_its_finalizer(protecting, api, namespace):
    api.create(composite("top", namespace))

    api.wait("CompositePodGroup", "top", namespace, until=lambda result: INNER in finalizers(result))


def test_deletion_runs_from_the_leaf_to_the_root(protecting, api, namespace, nodes):
    nodes(node("n1"))
    api.create(composite("top", namespace))
    api.create(pod_group("leaf", namespace, parent="top"))
    api.create(pod("p", namespace, group="leaf"))
    api.wait("CompositePodGroup", "top", namespace, until=lambda result: INNER in finalizers(result))
    api.delete("CompositePodGroup", "top", namespace)
    api.delete("PodGroup", "leaf", namespace)
    api.create(composite("marker", namespace))
    api.wait("CompositePodGroup", "marker", namespace, until=lambda result: INNER in finalizers(result))

    assert [LEAF] == finalizers(api.get("PodGroup", "leaf", namespace))
    assert [INNER] == finalizers(api.get("CompositePodGroup", "top", namespace))
    remove_pod(api, "p", namespace)
    deleted(api, "PodGroup", "leaf", namespace)
    deleted(api, "CompositePodGroup", "top", namespace)


def test_a_pod_that_has_ended_protects_nothing(protecting, api, namespace, nodes):
    nodes(node("n1"))
    api.create(pod_group("leaf", namespace))
    api.create(pod("p", namespace, group="leaf"))
    api.bind("p", namespace, "n1")
    api.delete("PodGroup", "leaf", namespace)
    finish_pod(api, "p", namespace)

    deleted(api, "PodGroup", "leaf", namespace)


def test_finalizers_of_others_stay(protecting, api, namespace):
    api.create(pod_group("leaf", namespace))
    api.patch("PodGroup", "leaf", namespace, body={"metadata": {"finalizers": ["example.com/other", LEAF]}}, how="merge")
    api.delete("PodGroup", "leaf", namespace)
    api.wait("PodGroup", "leaf", namespace, until=lambda result: finalizers(result) == ["example.com/other"])
    api.patch("PodGroup", "leaf", namespace, body={"metadata": {"finalizers": None}}, how="merge")
    deleted(api, "PodGroup", "leaf", namespace)


def test_many_groups_deleted_at_once_are_all_let_go(protecting, api, namespace):
    api.create(composite("top", namespace))
    api.create_all([pod_group(f"g{number}", namespace, parent="top") for number in range(MANY)])
    api.delete("CompositePodGroup", "top", namespace)
    api.delete_all("PodGroup", namespace)

    api.wait_all("PodGroup", namespace, until=lambda result: not result, seconds=MANY_SECONDS)
    deleted(api, "CompositePodGroup", "top", namespace)
