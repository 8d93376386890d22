"""``kubectl muster why`` on a real API server, by the real kubectl: with a running sidecar, and for a person without its permissions."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from apiserver.api import Api, ReplyError
from apiserver.connect import configuration
from scheduler_core.sidecar.settings import EXPLAIN_TOKEN_HEADER
from tests.cluster.installed import pod_group
from tests.cluster.kubelet import node, pod
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plugins(tmp_path_factory) -> Path:
    """A folder with the plugin and its completion, as the project's entry points install them."""
    folder = tmp_path_factory.mktemp("plugins")
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    for name in ("kubectl-muster", "kubectl_complete-muster"):
        module, _, function = scripts[name].partition(":")
        file = folder / name
        file.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom {module} import {function}\n{function}()\n"
        )
        file.chmod(0o755)
    return folder


@pytest.fixture
def kubectl(plane, plugins):
    def run(*arguments: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
        program = plane.programs.path("kubectl")
        environ = {**os.environ, "KUBECONFIG": str(kubeconfig or plane.kubeconfig), "PATH": f"{plugins}:{os.environ['PATH']}"}
        return subprocess.run([program, *arguments], capture_output=True, text=True, env=environ, timeout=120, check=False)

    return run


@pytest.fixture
def gang(api, nodes, namespace):
    """Two pods of 3 CPUs as a gang, and one node with 4."""
    nodes(node("only", cpu=4))
    api.create(pod_group("train", namespace))
    for number in range(2):
        created = pod(f"train-{number}", namespace, group="train", spec={"schedulerName": "muster"})
        created["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
        api.create(created)
    return namespace


def test_kubectl_finds_the_plugin_under_its_name(kubectl) -> None:
    answer = kubectl("muster", "why", "--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("Usage: kubectl muster why [OPTIONS] [KIND/]NAME\n")
    assert kubectl("muster", "--help").stdout.startswith("Usage: kubectl muster [OPTIONS] COMMAND")
    answer = kubectl("muster", "why")
    assert (answer.returncode, answer.stderr.startswith("kubectl muster why: Missing argument")) == (2, True)
    assert "kubectl-muster" in kubectl("plugin", "list").stdout


def test_kubectl_completes_the_plugin(kubectl) -> None:
    assert kubectl("__complete", "muster", "wh").stdout.splitlines()[0] == "why"
    assert {"text", "json"} <= set(kubectl("__complete", "muster", "why", "--format", "").stdout.splitlines())


def test_condition_decision_and_remedy_of_a_gang(plane, kubectl, gang, tmp_path) -> None:
    with sidecar(plane, tmp_path, "--mode=place", "--lease=none", fork=True) as running:
        until(lambda: "status" in running.explain(gang, "train"))
        until(lambda: "PodGroupInitiallyScheduled=False" in kubectl("muster", "why", "train", "-n", gang, "--explain=off").stdout)
        url = f"http://{running.probes}"
        answer = kubectl("muster", "why", "podgroup/train", "-n", gang, f"--explain={url}", "--format=json")
    found = json.loads(answer.stdout)
    assert (answer.returncode, answer.stderr, found["problems"]) == (1, "", [])
    assert [(each["type"], each["reason"]) for each in found["conditions"]] == [("PodGroupInitiallyScheduled", "Unschedulable")]
    assert found["explain"]["status"] == found["simulation"]["decisions"][0]["status"] == "UnschedulableAndUnresolvable"
    assert {each["then"] for each in found["simulation"]["decisions"][0]["remedies"]} == {"Success"}


def test_a_person_without_rights_gets_a_simulation(plane, kubectl, gang) -> None:
    kinds = ["nodes", "pods", "podgroups", "compositepodgroups"]
    person = plane.user("developer", [{"apiGroups": ["", "scheduling.k8s.io"], "resources": kinds, "verbs": ["get", "list"]}])
    try:
        answer = kubectl("muster", "why", "pod/train-0", "-n", gang, kubeconfig=person)
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            plane.api.delete(kind, "developer")
    assert (answer.returncode, answer.stderr) == (1, "")
    assert answer.stdout.startswith(f"Pod {gang}/train-0 is not placed\n")
    assert (
        'No decision of the sidecar: the sidecar cannot be asked: HTTP 403: leases.coordination.k8s.io "muster-sidecar" is' in answer.stdout
    )
    assert "Simulation on the cluster as it is now:" in answer.stdout


def test_explain_demands_a_token_of_other_machines(plane, api, gang, tmp_path) -> None:
    """Requests through the API server come from its address, without the credentials of the person."""
    address = _own_address()
    token = tmp_path / "token"
    client = Api(configuration(str(plane.kubeconfig)))
    folder = tmp_path / "logs"
    folder.mkdir()
    with sidecar(
        plane, folder, "--mode=place", "--lease=none", "--probe-bind=0.0.0.0:0", f"--explain-token-file={token}", fork=True
    ) as running:
        port = running.probes.rpartition(":")[2]
        running.probes = f"127.0.0.1:{port}"
        until(lambda: "status" in running.explain(gang, "train"))
        api.create(pod("sidecar", gang))
        api.set_status("Pod", "sidecar", gang, status={"podIP": address, "podIPs": [{"ip": address}]})
        path = f"/api/v1/namespaces/{gang}/pods/sidecar:{port}/proxy"
        with pytest.raises(ReplyError, match="HTTP 403: clients on other machines need a token"):
            client.read(f"{path}/explain/{gang}/train")
        token.write_text("secret", encoding="utf-8")
        with pytest.raises(ReplyError, match="HTTP 401: the token is missing or wrong"):
            client.read(f"{path}/explain/{gang}/train")
        with pytest.raises(ReplyError, match="HTTP 401"):
            client.read(f"{path}/explain/{gang}/train", headers={EXPLAIN_TOKEN_HEADER: "wrong"})
        assert b'"status"' in client.read(f"{path}/explain/{gang}/train", headers={EXPLAIN_TOKEN_HEADER: "secret"})
        assert client.read(f"{path}/healthz") == b"ok\n"


def _own_address() -> str:
    """Return an address of this machine that the API server forwards to; skip the test without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: this selects a route.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but the loopback")
        address: str = probe.getsockname()[0]
    if address.startswith(("127.", "169.254.")):
        pytest.skip("this machine has no address but the loopback")
    return address
