"""The control plane is a real one, it does what the tests want of it, and it ends with them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cluster.api import REQUEST_SECONDS, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import eventually, pod_group
from tests.cluster.kubelet import Kubelet, node, pod
from tests.cluster.options import Options
from tests.cluster.process import NotReadyError, Process

ANY_VERSION = pytest.mark.kubernetes(since="1.30")


def served(api, version):
    return {each["name"] for each in api.send("GET", f"/apis/{version}").content["resources"] if "/" not in each["name"]}


def test_the_three_kinds_are_served_and_kubectl_is_of_the_same_version(plane, api):
    trees_in_beta = plane.programs.minor() > 37
    want = {
        "scheduling.k8s.io/v1beta1": {"workloads", "podgroups", *(["compositepodgroups"] if trees_in_beta else ())},
        "scheduling.k8s.io/v1alpha3": {"workloads", "podgroups", "compositepodgroups"},
    }
    assert want == {version: served(api, version) for version in want}
    versions = dict(line.split(": ") for line in plane.kubectl("version", check=True).stdout.splitlines())
    assert versions["Client Version"] == versions["Server Version"]


@ANY_VERSION
def test_a_user_may_do_what_the_role_says_and_no_more(plane, api, namespace):
    reader = plane.user("reader", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}], namespace=namespace)

    allowed = plane.kubectl("get", "pods", "-n", namespace, kubeconfig=reader)
    elsewhere = plane.kubectl("get", "pods", "-n", "default", kubeconfig=reader)

    assert (0, "No resources found") == (allowed.returncode, allowed.stderr.partition(" in ")[0])
    assert 'User "reader" cannot list resource "pods" in API group "" in the namespace "default"' in elsewhere.stderr


@ANY_VERSION
def test_a_service_account_speaks_with_its_own_token(plane, api, namespace):
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": namespace}}
    api.create(account)

    identity = plane.kubectl(
        "auth", "whoami", "-o=jsonpath={.status.userInfo.username}", kubeconfig=plane.service_account("robot", namespace)
    )

    assert f"system:serviceaccount:{namespace}:robot" == identity.stdout


def test_objects_stay_over_a_restart(plane, api, namespace):
    api.create(pod_group("stays", namespace))
    plane.restart_apiserver()

    assert api.exists("PodGroup", "stays", namespace)


@ANY_VERSION
def test_a_paused_api_server_answers_when_it_continues(plane, api):
    answers = []
    asking = threading.Thread(target=lambda: answers.append(api.send("GET", "/version").code))
    plane.apiserver.pause()
    try:
        asking.start()
        asking.join(0.3)
        before = list(answers)
    finally:
        plane.apiserver.resume()
    asking.join(REQUEST_SECONDS)

    assert ([], [200]) == (before, answers)


@ANY_VERSION
def test_an_old_watch_is_gone_when_the_history_is(plane, api, namespace):
    old = api.listed("Pod")[1]
    api.create(pod("p", namespace))
    event, seen = next(api.watch("Pod", since=old))
    assert ("ADDED", "p") == (event, seen["metadata"]["name"])

    plane.expire_history()

    with pytest.raises(ApiError, match="too old resource version"):
        next(api.watch("Pod", since=old))


def test_kube_scheduler_binds_a_gang_and_the_kubelet_runs_it(plane, api, namespace, nodes):
    nodes(node("n1", cpu=8), node("n2", cpu=8))
    api.create(pod_group("gang", namespace))
    api.create_all(pod(name, namespace, group="gang", cpu=6) for name in ("a", "b"))
    with Kubelet(api) as kubelet:
        plane.start_scheduler()
        try:
            running = api.wait_all(
                "Pod", namespace, until=lambda pods: {"Running"} == {each["status"].get("phase") for each in pods.values()}
            )
        finally:
            plane.scheduler.stop()
        assert {"n1", "n2"} == {each["spec"]["nodeName"] for each in running.values()}

        kubelet.linger()
        api.delete("Pod", "a", namespace)
        assert "deletionTimestamp" in api.get("Pod", "a", namespace)["metadata"]
        kubelet.finish()
        assert api.wait("Pod", "a", namespace, until=lambda result: result is None) is None
        assert [] == kubelet.troubles


def test_controllers_take_the_finalizer_of_a_group_without_pods(plane, api, namespace):
    plane.start_controllers(("podgroup-protection-controller",))
    try:
        api.create(pod_group("gone", namespace))
        api.delete("PodGroup", "gone", namespace)
        assert api.wait("PodGroup", "gone", namespace, until=lambda result: result is None) is None
    finally:
        plane.controllers.stop()


@ANY_VERSION
def test_a_flag_that_is_wrong_is_reported_with_the_log(programs):
    with pytest.raises(NotReadyError, match=r"(?s)kube-apiserver has ended with 1:.*unknown flag: --no-such-flag"):
        ControlPlane(Options(apiserver_flags=("--no-such-flag",)), programs).__enter__()


def test_a_program_ends_with_the_tests_that_are_killed(tmp_path):
    script = f"""
import os, signal, sys
from pathlib import Path
from tests.cluster.process import Process
child = Process("sleep", Path({str(tmp_path / "log")!r}))
child.start(["sleep", "600"])
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    pid = int(done.stdout)

    assert eventually(lambda: not _alive(pid))


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_lives_on_when_the_thread_that_requested_it_ends(tmp_path):
    child = Process("sleep", tmp_path / "log")
    asking = threading.Thread(target=lambda: child.start(["sleep", "600"]))
    asking.start()
    asking.join()

    try:
        assert child.running
        assert os.getpgid(child.pid) != os.getpgrp()
    finally:
        child.kill()
    assert not child.running
