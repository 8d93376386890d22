"""Pods that name their group by a label, as where the API server drops ``spec.schedulingGroup``: they count as its others do."""

from __future__ import annotations

import pytest

from tests.cluster.groups import LABEL, pod_group
from tests.cluster.kubelet import remove_pod
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_place import bound, in_step, ours, racks, scheduled
from tests.cluster.test_sidecar_protect import LEAF, deleted, finalizers

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")

EITHER_LABEL = pytest.mark.parametrize("label", ["scheduling.muster.dev/pod-group", "scheduling.x-k8s.io/pod-group"])


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory, strategy):
    options = ("--mode", "place,protect", "--lease", "none", "--strategy", strategy)
    with sidecar(plane, tmp_path_factory.mktemp("labels"), *options, fork=True) as running:
        yield running


def labelled(name, namespace, label, group, **requests):
    created = ours(name, namespace, **requests)
    created["metadata"]["labels"][label] = group
    return created


@EITHER_LABEL
def test_a_gang_of_labelled_pods_waits_and_is_bound_in_one_rack(started, api, namespace, nodes, label):
    in_step(api, namespace, nodes)
    nodes(*racks(2))
    api.create(pod_group("train", namespace, minimum=4, key=LABEL))
    pods = [labelled(f"p{number}", namespace, label, "train", cpu=2) for number in range(4)]
    assert not any("schedulingGroup" in each["spec"] for each in api.create_all(pods[:3]))
    api.create(ours("alone", namespace, cpu="100m"))
    result = bound(api, namespace, 1)
    assert result["alone"]
    api.delete("Pod", "alone", namespace, gracePeriodSeconds=0)

    api.create(pods[3])
    result = bound(api, namespace, 4)
    assert 1 == len({each.partition("-")[0] for each in result.values()})
    scheduled(api, "PodGroup", "train", namespace)


@EITHER_LABEL
def test_the_last_labelled_pod_lets_the_group_go(started, api, namespace, label):
    for group in ("train", "other"):
        api.create(pod_group(group, namespace))
    names = {"p0": "train", "p1": "train", "marker": "other"}
    api.create_all([labelled(name, namespace, label, group) for name, group in names.items()])
    for group in ("train", "other"):
        # The API server adds the finalizer only to built-in groups.
        api.wait("PodGroup", group, namespace, until=lambda result: bool(finalizers(result)))
        api.delete("PodGroup", group, namespace)
    # Pods come by one watch and groups by another, each in order: the other group goes when all before is heard.
    for name in ("p0", "marker"):
        remove_pod(api, name, namespace)
    deleted(api, "PodGroup", "other", namespace)
    assert [LEAF] == finalizers(api.get("PodGroup", "train", namespace))

    remove_pod(api, "p1", namespace)
    deleted(api, "PodGroup", "train", namespace)
