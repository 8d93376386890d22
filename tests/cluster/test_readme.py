"""The commands of the README: from a cluster without Muster to a JobSet of 16 pods that kube-scheduler has bound, with a label and no group."""

from __future__ import annotations

import contextlib
import functools

import pytest

from tests.cluster import controllers, go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.deployed import ROUTING, Deployed, reachable_address
from tests.cluster.kubelet import Kubelet, node
from tests.cluster.options import NO_GATES, Options
from tests.cluster.page_shell import Shell
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until
from tests.docs import pages

pytestmark = pytest.mark.kubernetes("1.30", "1.37")
NAMESPACE = "muster-system"
PODS = 16


@pytest.fixture
def plane(programs):
    """A control plane as clusters are: without gates, with kube-scheduler and the controller of JobSets."""
    available(functools.partial(go_tools.find, "jobset"))
    reachable_address()
    with ControlPlane(Options(gates=NO_GATES, served=(), apiserver_flags=(ROUTING,)), programs) as started:
        started.start_scheduler()
        yield started


def test_a_jobset_is_bound_whole_with_a_label_and_no_group(plane, tmp_path):
    install, label, apply = _commands()
    shell = Shell(plane, tmp_path)
    resources = {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8"}
    plane.api.create_all([node(f"n{number}", {"kubernetes.io/hostname": f"n{number}"}, **resources) for number in range(PODS - 1)])
    with contextlib.ExitStack() as stack:
        stack.enter_context(controllers.running(plane, "jobset"))
        stack.enter_context(Kubelet(plane.api))
        stack.enter_context(Deployed(plane, "muster-webhook", NAMESPACE, tmp_path))
        shell.run(install)
        shell.run(f"kubectl -n {NAMESPACE} rollout status deployment/muster-webhook --timeout=60s")
        (container,) = plane.api.get("Deployment", "muster-sidecar", NAMESPACE)["spec"]["template"]["spec"]["containers"]
        (modes,) = (each for each in container["args"] if each.startswith("--mode="))
        stack.enter_context(sidecar(plane, tmp_path, modes, "--settle=1", through=plane.service_account("muster-sidecar", NAMESPACE)))
        shell.run(label)
        shell.run(apply)

        def conditions():
            groups = plane.api.objects("PodGroup", "default", version="scheduling.muster.dev/v1beta1")
            return {each["reason"] for group in groups for each in group.get("status", {}).get("conditions", ())}

        until(lambda: "Unschedulable" in conditions(), told=lambda: str(conditions()))
        assert {""} == {each["spec"].get("nodeName", "") for each in plane.api.objects("Pod", "default")}

        plane.api.create(node("late", {"kubernetes.io/hostname": "late"}, **resources))
        until(lambda: PODS == len({each["spec"].get("nodeName") or "" for each in plane.api.objects("Pod", "default")} - {""}))


def _commands():
    """Return the three commands of the README's example."""
    (block,) = (each for each in pages.blocks(pages.README.read_text(encoding="utf-8")) if each.text.startswith("helm install"))
    return block.text.replace("\\\n", "").strip().splitlines()
