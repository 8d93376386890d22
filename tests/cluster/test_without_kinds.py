"""A cluster that serves none of the kinds, as before an upgrade or before the gates are switched on; and the end of its control plane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster.control_plane import LIVE, ControlPlane
from tests.cluster.installed import Installed, muster
from tests.cluster.kubelet import node
from tests.cluster.options import NO_GATES, Options
from tests.cluster.waiting import until

pytestmark = pytest.mark.kubernetes("1.30", "1.34", "1.37")
OK = 200


@pytest.fixture(scope="module")
def plane(programs):
    """A control plane without gates."""
    with ControlPlane(Options(gates=NO_GATES, served=()), programs) as started:
        yield started


def test_without_gates_none_of_the_kinds_is_served(plane):
    assert ["v1"] == [each["version"] for each in plane.api.send("GET", "/apis/scheduling.k8s.io").content["versions"]]


def test_kinds_that_are_not_served_are_passed_over(plane, nodes):
    nodes(node("n1", cpu=8))

    done = muster("snapshot", "--kubeconfig", str(plane.kubeconfig))

    assert (0, "") == (done.returncode, done.stderr)
    # The API server creates the last two.
    assert {"Node", "PriorityClass", "Namespace", "Service"} == {each["kind"] for each in json.loads(done.stdout)["items"]}


def test_on_a_cluster_without_the_kinds_the_server_is_ready_and_waits_for_them(plane, tmp_path):
    created = Installed(plane, tmp_path)
    created.apply()
    created.start()

    def is_ready() -> bool:
        status, body = created.probe("/readyz")
        return (OK, "ready") == (status, json.loads(body)["status"])

    until(is_ready, told=lambda: created.probe("/readyz")[1])  # on a busy machine one of the workers starts only now
    assert [] == created.logged("watch")


def test_nothing_is_left_of_a_control_plane(plane):
    """It is the last test, and it ends the control plane."""
    assert plane in LIVE
    pids = [plane.etcd.pid, plane.apiserver.pid, *(each.pid for each in plane.companions)]

    plane.stop()

    assert [] == [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert not plane.folder.exists()
    assert plane not in LIVE
