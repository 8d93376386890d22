"""Mode build: objects of real controllers get groups, their pods join them, and are placed whole, with nothing but the label of the namespace."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import yaml

from tests.cluster import controllers, go_tools
from tests.cluster.conftest import available, new_namespace
from tests.cluster.installed import installed
from tests.cluster.kubelet import Kubelet, node
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30")
CASES = Path(__file__).parents[1] / "cases" / "controllers"
BUILD = {"muster.dev/groups": "build"}
RACK = "example.com/rack"
MODES = ("--mode", "build,validate,ungate,protect", "--lease", "none", "--settle", "1")
NAMES = ("job", "jobset", "raycluster", "mpijob")


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
    metadata = manifest["metadata"]
    metadata |= {"namespace": namespace, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
    return api.create(manifest)


def running_pods(api, namespace):
    return [each for each in api.objects("Pod", namespace) if (each.get("status") or {}).get("phase") == "Running"]


@pytest.mark.parametrize("name", NAMES)
def test_an_object_is_placed_with_nothing_but_the_label(api, built, labelled, name):
    create(api, labelled, name, **{"muster.dev/topology": RACK})

    until(
        lambda: (pods := api.objects("Pod", labelled)) and all(each["spec"].get("nodeName") for each in pods),
        told=lambda: str(
            [
                (each["metadata"]["name"], each["metadata"].get("labels"), each["spec"].get("schedulingGates"))
                for each in api.objects("Pod", labelled)
            ]
        ),
    )

    groups = api.objects("PodGroup", labelled)
    assert groups
    names = {each["metadata"]["name"] for each in groups}
    pods = running_pods(api, labelled)
    assert {each["metadata"]["labels"].get("scheduling.muster.dev/pod-group") for each in pods} <= names
    assert 1 == len({each["spec"]["nodeName"][0] for each in pods}), "all are in one rack"
