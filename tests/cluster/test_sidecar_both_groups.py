"""A cluster in migration: it serves the built-in kinds and the custom resources at once."""

from __future__ import annotations

from collections import Counter

import pytest

from apiserver.watch import UNSERVED_WAIT
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import CustomApi, install
from tests.cluster.groups import LABEL, SCHEDULED, composite, condition_of, pod_group
from tests.cluster.kubelet import Kubelet, pod, remove_pod
from tests.cluster.options import Options
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_place import bound, events_of, in_step, ours, racks, scheduled
from tests.cluster.test_sidecar_protect import LEAF, deleted, finalizers
from tests.cluster.waiting import WAIT_SECONDS, until


@pytest.fixture(scope="module")
def plane(programs):
    """A control plane with the built-in kinds, on which the definitions of the custom resources are installed later."""
    with ControlPlane(Options(), programs) as started:
        yield started


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory):
    """A sidecar that runs before the definitions are installed."""
    with sidecar(plane, tmp_path_factory.mktemp("both"), "--mode", "place,validate,protect", "--lease", "none", fork=True) as running:
        install(plane.api)
        yield running


@pytest.fixture(scope="module")
def custom_api(plane, started):
    client = CustomApi(plane.kubeconfig)
    yield client
    client.close()


def test_an_api_group_that_comes_later_is_found(started, custom_api, api, namespace, nodes):
    in_step(api, namespace, nodes)
    nodes(*racks(1))
    custom_api.create(pod_group("train", namespace, minimum=2, key=LABEL))
    custom_api.create_all([ours(f"p{number}", namespace, "train") for number in range(2)])
    custom_api.wait(
        "PodGroup",
        "train",
        namespace,
        until=lambda result: condition_of(result, SCHEDULED["PodGroup"]).get("status") == "True",
        seconds=UNSERVED_WAIT + WAIT_SECONDS,
    )
    until(lambda: [LEAF] == finalizers(custom_api.get("PodGroup", "train", namespace)))


def test_trees_are_placed_in_either_api_group_and_in_both(started, custom_api, api, namespace, nodes):
    in_step(api, namespace, nodes)
    nodes(*racks(2))
    api.create(pod_group("built-in", namespace, minimum=2, key=LABEL))
    custom_api.create(composite("top", namespace, minimum=2))
    for client, name in ((api, "left"), (custom_api, "right")):
        client.create(pod_group(name, namespace, minimum=2, parent="top"))
    # A pod names its group by field or by label, in whichever API group that is.
    pods = [(client, name) for name in ("built-in", "left", "right") for client in (api, custom_api)]
    for number, (client, name) in enumerate(pods):
        client.create(ours(f"p{number}", namespace, name))
    assert 6 == len(bound(api, namespace, 6))
    for client, kind, name in (
        (api, "PodGroup", "built-in"),
        (api, "PodGroup", "left"),
        (custom_api, "PodGroup", "right"),
        (custom_api, "CompositePodGroup", "top"),
    ):
        scheduled(client, kind, name, namespace)


def test_of_two_groups_of_one_name_the_built_in_one_counts(started, custom_api, api, namespace, nodes):
    """As in a migration: pods of a custom group run, the group is created anew as a built-in one, and then deleted in the old API group."""
    in_step(api, namespace, nodes)
    nodes(*racks(1))
    custom_api.create(pod_group("train", namespace, minimum=1))
    custom_api.create(ours("p0", namespace, "train"))
    before = bound(api, namespace, 1)
    scheduled(custom_api, "PodGroup", "train", namespace)
    api.create(pod_group("train", namespace, minimum=2))
    custom_api.wait_all("Event", namespace, until=lambda _: "Ignored" in events_of(api, namespace, "train"))
    api.create(ours("p1", namespace, "train"))
    after = bound(api, namespace, 2)
    assert before.items() <= after.items()
    scheduled(api, "PodGroup", "train", namespace)

    custom_api.delete("PodGroup", "train", namespace)
    deleted(custom_api, "PodGroup", "train", namespace)
    assert after == bound(api, namespace, 2)
    api.delete("PodGroup", "train", namespace)
    assert [LEAF] == finalizers(api.get("PodGroup", "train", namespace))
    for name in after:
        remove_pod(api, name, namespace)
    deleted(api, "PodGroup", "train", namespace)


def forest(namespace, client, root, spec):
    """Create two trees of two gangs of two; return their pods by name, each with its client."""
    pods = {}
    for number in range(2):
        top = f"{root}-{number}"
        client.create(composite(top, namespace, minimum=2))
        for leaf in (f"{top}-a", f"{top}-b"):
            client.create(pod_group(leaf, namespace, minimum=2, parent=top))
            names = [f"{leaf}-{each}" for each in range(2)]
            pods |= {name: (client, pod(name, namespace, group=leaf, spec=spec, cpu="500m")) for name in names}
    return pods


def all_run(api, namespace, pods, created):
    """Create each of *pods* that does not exist or was rejected, as a controller does, and count that; return whether all run."""
    found = {each["metadata"]["name"]: each for each in api.objects("Pod", namespace)}
    for name, (client, manifest) in pods.items():
        if found.get(name, {}).get("status", {}).get("phase") == "Failed":
            api.delete("Pod", name, namespace, gracePeriodSeconds=0)
            del found[name]
        if name not in found:
            client.create(manifest)
            created[name] += 1
    running = [each for each in found.values() if each["status"]["phase"] == "Running" and not each["metadata"].get("deletionTimestamp")]
    return len(running) == len(pods)


def schedulers(api, namespace, pods):
    """Return the components whose events tell that one of *pods* was scheduled."""
    events = [each for each in api.objects("Event", namespace) if each["reason"] == "Scheduled" and each["involvedObject"]["name"] in pods]
    return {each["reportingComponent"] for each in events}


def test_kube_scheduler_and_sidecar_share_nodes(plane, started, custom_api, api, namespace, nodes):
    """Trees of both API groups for the sidecar, built-in ones for kube-scheduler, and room for all if nothing is wasted."""
    in_step(api, namespace, nodes)
    names = [each["metadata"]["name"] for each in nodes(*racks(3, cpu=2))]
    binds = 'muster_writes_total{kind="Bind",outcome="done"}'
    before = started.metric(binds)
    created = Counter()
    plane.start_scheduler()
    try:
        with Kubelet(api, dict.fromkeys(names, 2000)):
            theirs = forest(namespace, api, "theirs", {})
            mine = {"schedulerName": "muster"}
            ours = forest(namespace, api, "built-in", mine) | forest(namespace, custom_api, "custom", mine)
            until(lambda: all_run(api, namespace, theirs | ours, created), told=lambda: str(api.objects("Pod", namespace))[:4000])
            for client, name in ((api, "theirs"), (api, "built-in"), (custom_api, "custom")):
                for number in range(2):
                    for leaf in "ab":
                        scheduled(client, "PodGroup", f"{name}-{number}-{leaf}", namespace)
                    # kube-scheduler writes no condition of composites.
                    if name != "theirs":
                        scheduled(client, "CompositePodGroup", f"{name}-{number}", namespace)
    finally:
        plane.scheduler.stop()

    running = api.objects("Pod", namespace)
    assert dict.fromkeys(names, 4) == Counter(each["spec"]["nodeName"] for each in running)
    assert {"default-scheduler"} == schedulers(api, namespace, theirs)
    assert "default-scheduler" not in schedulers(api, namespace, ours)
    until(lambda: started.metric(binds) - before == sum(created[name] for name in ours), told=lambda: f"{started.metric(binds)} {created}")
