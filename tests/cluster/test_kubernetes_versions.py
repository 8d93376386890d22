"""Each version of Kubernetes that can be built makes a cluster: it schedules a pod, and its controllers run."""

from __future__ import annotations

import pytest

from kubeapi.versions.api_versions import SCHEDULING
from kubeapi.versions.served_versions import current
from tests.cluster import programs
from tests.cluster.kubelet import node, pod

pytestmark = pytest.mark.kubernetes(*(each.removeprefix("v") for each in programs.versions()))


def test_kube_scheduler_binds_a_pod(plane, api, namespace, nodes):
    nodes(node("n1", cpu=8))
    api.create(pod("p", namespace, cpu=1))
    plane.start_scheduler({"profiles": [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": 100}]})
    try:
        bound = api.wait("Pod", "p", namespace, until=lambda result: bool(result and result["spec"].get("nodeName")))
    finally:
        plane.scheduler.stop()

    assert "n1" == bound["spec"]["nodeName"]


def test_kube_controller_manager_creates_a_service_account(plane, api, namespace):
    plane.start_controllers(("serviceaccount-controller",))
    try:
        assert api.wait("ServiceAccount", "default", namespace, until=bool)
    finally:
        plane.controllers.stop()


def test_the_kinds_of_groups_are_served_from_their_version_on(plane, api):
    want = {f"{SCHEDULING}/v1", *(each.name for each in current("Workload", SCHEDULING, plane.programs.minor()))}

    assert want == {each["groupVersion"] for each in api.send("GET", f"/apis/{SCHEDULING}").content["versions"]}
