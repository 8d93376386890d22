"""Mode build beside Kueue: what it suspends has no groups and blocks nothing; admitted, it is placed as a whole."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import yaml

from kubeapi.pods import group_in
from tests.cluster import controllers, go_tools
from tests.cluster.conftest import available, new_namespace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import installed
from tests.cluster.kubelet import Kubelet, node
from tests.cluster.options import ALL_GATES, Options
from tests.cluster.resources import PATCHES
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

CASES = Path(__file__).parents[1] / "cases" / "controllers"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUE = {"kueue.x-k8s.io/queue-name": "queue"}
RACK = "example.com/rack"
MODES = ("--mode", "build,validate,ungate,protect", "--lease", "none", "--settle", "1")
NAMES = ("job", "jobset")


@pytest.fixture(scope="module")
def plane(programs):
    # The Job controller creates no groups itself.
    with ControlPlane(Options(gates={**ALL_GATES, "WorkloadWithJob": False}), programs) as started:
        yield started


@pytest.fixture(scope="module")
def built(plane, tmp_path_factory):
    """A control plane with nodes in two racks, JobSet, Kueue, the webhooks and the sidecar."""
    for name in ("jobset", "kueue_manager"):
        available(functools.partial(go_tools.find, name))
    available(go_tools.find_crds)
    plane.api.create_all([node(f"{rack}-{number}", {RACK: rack}, cpu=16) for rack in "ab" for number in range(2)])
    with (
        controllers.running(plane, "jobset", "kueue_manager"),
        Kubelet(plane.api),
        installed(plane, tmp_path_factory.mktemp("installed"), overlay="join"),
        sidecar(plane, tmp_path_factory.mktemp("sidecar"), *MODES) as running,
    ):
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "default"}}
        plane.api.send("POST", f"{KUEUE}/resourceflavors", flavor)
        yield running


@pytest.fixture
def queue(plane, built):
    """A namespace that asks for groups, and a function that starts or stops its queue; it is stopped."""
    with new_namespace(plane.api, {"muster.dev/groups": "build"}) as name:
        quotas = [{"name": each, "nominalQuota": amount} for each, amount in (("cpu", "32"), ("memory", "64Gi"))]
        groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": quotas}]}]
        head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {"name": name}}
        spec = {"resourceGroups": groups, "namespaceSelector": {}, "stopPolicy": "Hold"}
        plane.api.send("POST", f"{KUEUE}/clusterqueues", {**head, "kind": "ClusterQueue", "spec": spec})
        local = {**head, "kind": "LocalQueue", "metadata": {"name": "queue", "namespace": name}, "spec": {"clusterQueue": name}}
        plane.api.send("POST", f"{KUEUE}/namespaces/{name}/localqueues", local)

        def set_policy(policy):
            plane.api.send("PATCH", f"{KUEUE}/clusterqueues/{name}", {"spec": {"stopPolicy": policy}}, content_type=PATCHES["merge"])

        yield name, set_policy


def create(api, namespace, case, name, **labels):
    *_, manifest = yaml.safe_load_all((CASES / f"{case}.yaml").read_text(encoding="utf-8"))
    if case == "jobset":
        # JobSet's exclusive placement would give each Job a rack of its own.
        del manifest["spec"]["replicatedJobs"][1]["template"]["metadata"]
    metadata = manifest["metadata"]
    metadata |= {"name": name, "namespace": namespace, "labels": {**(metadata.get("labels") or {}), **labels}}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), "muster.dev/topology": RACK}
    return api.create(manifest)


def selected(pod):
    """Return the node that is selected for a pod; empty while it has a gate."""
    return "" if pod["spec"].get("schedulingGates") else (pod["spec"].get("nodeSelector") or {}).get("kubernetes.io/hostname", "")


def is_placed(api, namespace, name):
    pods = [each for each in api.objects("Pod", namespace) if each["metadata"]["name"].startswith(f"{name}-")]
    return bool(pods) and all(map(selected, pods)) and len({selected(each)[0] for each in pods}) == 1


def workloads(api, namespace):
    return [each["metadata"]["ownerReferences"][0]["name"] for each in api.objects("Workload", namespace)]


@pytest.mark.parametrize("case", NAMES)
def test_an_object_is_built_when_kueue_admits_it(plane, built, queue, case):
    api, (namespace, set_policy) = plane.api, queue
    kind = create(api, namespace, case, "queued", **QUEUE)["kind"]
    create(api, namespace, case, "free")

    until(lambda: is_placed(api, namespace, "free"), told=lambda: str(api.objects("Pod", namespace))[:2000])
    assert api.get(kind, "queued", namespace)["spec"]["suspend"] is True
    until(lambda: built.metric(f'muster_build_objects{{kind="{kind}",result="suspended"}}') == 1)
    assert workloads(api, namespace) == ["free"]
    assert not [each for each in api.objects("Pod", namespace) if each["metadata"]["name"].startswith("queued-")]

    set_policy("None")
    until(lambda: is_placed(api, namespace, "queued"), told=lambda: str(api.get(kind, "queued", namespace))[:2000])
    assert sorted(workloads(api, namespace)) == ["free", "queued"]
    groups = {each["metadata"]["name"] for each in api.objects("PodGroup", namespace)}
    assert {group_in(each) for each in api.objects("Pod", namespace)} == groups
