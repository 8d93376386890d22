"""Mode build: objects of real controllers get groups, their pods join them, and are placed whole, with nothing but the label of the namespace."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import yaml

from kubeapi.pods import group_in
from tests.cluster import controllers, go_tools
from tests.cluster.conftest import available, new_namespace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.installed import installed
from tests.cluster.kubelet import Kubelet, node
from tests.cluster.options import Options
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30")
CASES = Path(__file__).parents[1] / "cases" / "controllers"
BUILD = {"muster.dev/groups": "build"}
RACK = "example.com/rack"
MODES = ("--mode", "build,validate,ungate,protect", "--lease", "none", "--settle", "1")
NAMES = ("jobset", "mpijob", "raycluster")


@pytest.fixture(scope="module")
def plane(programs, custom):
    """One of its own: the controllers and their kinds stay on it."""
    with custom_plane(programs) if custom else ControlPlane(Options(), programs) as started:
        yield started


@pytest.fixture(scope="module")
def built(plane, tmp_path_factory):
    """A control plane with nodes in two racks, the controllers, the webhooks and the sidecar."""
    for name in controllers.CONTROLLERS:
        available(functools.partial(go_tools.find, name))
    plane.api.create_all([node(f"{rack}-{number}", {RACK: rack}, cpu=16) for rack in "ab" for number in range(2)])
    with (
        controllers.running(plane, "jobset", "kuberay", "mpi"),
        Kubelet(plane.api),
        installed(plane, tmp_path_factory.mktemp("installed"), overlay="join"),
        sidecar(plane, tmp_path_factory.mktemp("sidecar"), *MODES) as running,
    ):
        yield running


@pytest.fixture
def labelled(plane, built):
    with new_namespace(plane.api, BUILD) as name:
        yield name


def create(api, namespace, name, **annotations):
    """Create the object of a case, with annotations of ours."""
    *_, manifest = yaml.safe_load_all((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    if name == "jobset":
        # JobSet's exclusive placement would give each Job a rack of its own.
        del manifest["spec"]["replicatedJobs"][1]["template"]["metadata"]
    metadata = manifest["metadata"]
    metadata |= {"namespace": namespace, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
    return api.create(manifest)


def selected(pod):
    """Return the node that is selected for a pod; empty while it has the gate."""
    gates = {each["name"] for each in pod["spec"].get("schedulingGates") or ()}
    return "" if gates else (pod["spec"].get("nodeSelector") or {}).get("kubernetes.io/hostname", "")


@pytest.mark.parametrize("name", NAMES)
def test_an_object_is_placed_whole_with_nothing_but_the_label(api, built, labelled, name):
    """Nodes are selected for all of its pods, in one rack; a scheduler, which does not run here, binds them there."""
    create(api, labelled, name, **{"muster.dev/topology": RACK})

    def placed():
        pods = api.objects("Pod", labelled)
        return pods and all(map(selected, pods))

    until(
        placed, told=lambda: str([(each["metadata"]["name"], each["spec"].get("schedulingGates")) for each in api.objects("Pod", labelled)])
    )

    pods, groups = api.objects("Pod", labelled), api.objects("PodGroup", labelled)
    assert {group_in(each) for each in pods} == {each["metadata"]["name"] for each in groups}
    assert 1 == len({selected(each)[0] for each in pods}), "all are in one rack"
