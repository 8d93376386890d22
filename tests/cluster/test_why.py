"""``kubectl muster why`` on a real API server, by the real kubectl: with a running sidecar, and for a person without its permissions."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from apiserver.api import Api, ReplyError
from apiserver.connect import find_connection
from muster import cli
from muster.commands.why import sidecar_explanation
from scheduler_core.sidecar.settings import EXPLAIN_TOKEN_HEADER
from tests.cluster.deployed import reachable_address
from tests.cluster.forwarding import forwarding_node
from tests.cluster.installed import pod_group
from tests.cluster.kubelet import node, pod, remove_pod
from tests.cluster.sidecars import NAMESPACE, sidecar
from tests.cluster.waiting import until

ROOT = Path(__file__).parents[2]
DEPLOYMENT = ROOT / "deploy" / "sidecar" / "deployment.yaml"
LEADER = "muster-sidecar-a"
RBAC = "rbac.authorization.k8s.io"


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


def leading_pod(**spec: str):
    """Return a pod of the sidecar as it is shipped."""
    (shipped,) = (each for each in yaml.safe_load_all(DEPLOYMENT.read_text(encoding="utf-8")) if each["kind"] == "Deployment")
    return {**pod(LEADER, NAMESPACE), "spec": {**shipped["spec"]["template"]["spec"], **spec}}


@pytest.fixture
def leader(plane, nodes, gang, tmp_path):
    """A sidecar that leads, as a pod whose kubelet forwards its port."""
    with sidecar(plane, tmp_path, "--mode=place", environ={"MUSTER_IDENTITY": LEADER}) as running:
        until(lambda: "status" in running.explain(gang, "train"))
        with forwarding_node(plane, "forwarding", {8080: int(running.probes.rpartition(":")[2])}) as own:
            nodes({**own, "spec": {"unschedulable": True}})
            plane.api.create(leading_pod(nodeName="forwarding"))
            try:
                yield running
            finally:
                remove_pod(plane.api, LEADER, NAMESPACE)


def test_the_leader_is_asked_by_port_forwarding(plane, kubectl, gang, leader) -> None:
    """In the installation as shipped there is no token, and the NetworkPolicy closes the port."""
    answer = kubectl("muster", "why", "train", "-n", gang, "--format=json")
    assert (answer.returncode, json.loads(answer.stdout)["problems"]) == (1, [])
    assert json.loads(answer.stdout)["explain"]["status"] == "UnschedulableAndUnresolvable"


@pytest.fixture
def person(plane):
    """Return a function that writes the kubeconfig of a person, with rules of the whole cluster and of Muster's namespace."""

    def write(rules, own=()):
        plane.grant("developer", [*own], {"kind": "User", "apiGroup": RBAC, "name": "developer"}, namespace=NAMESPACE)
        return plane.user("developer", [*rules])

    yield write
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        plane.api.delete(kind, "developer")
    for kind in ("RoleBinding", "Role"):
        plane.api.delete(kind, "developer", NAMESPACE)


def roles():
    return [each["rules"] for each in yaml.safe_load_all((ROOT / "deploy" / "why" / "rbac.yaml").read_text(encoding="utf-8"))]


def explained(gang, kubeconfig):
    """Return the answer by default, without the times of the decisions."""
    ran = CliRunner().invoke(cli.main, ["why", "train", "-n", gang, f"--kubeconfig={kubeconfig}", "--format=json"])
    assert ran.stderr == ""
    return json.loads(ran.stdout)


def test_the_shipped_roles_are_enough_and_needed(plane, gang, leader, person) -> None:
    cluster, own = roles()
    for_all = explained(gang, plane.kubeconfig)
    assert (for_all["problems"], for_all["simulation"]["problems"]) == ([], [])
    assert explained(gang, person(cluster, own)) == for_all
    for rule in own:
        for verb in rule["verbs"]:
            fewer = [{**each, "verbs": [other for other in each["verbs"] if (each, other) != (rule, verb)]} for each in own]
            (problem,) = explained(gang, person(cluster, [each for each in fewer if each["verbs"]]))["problems"]
            assert f"HTTP 403: {rule['resources'][0].partition('/')[0]}" in problem


def test_the_token_of_the_sidecar_is_sent_through_the_proxy(plane, api, gang, person, tmp_path, monkeypatch) -> None:
    """A person who must not forward ports reads the Secret with the token, and asks the pod that holds the Lease."""
    folder, token = tmp_path / "logs", tmp_path / "token"
    folder.mkdir()
    token.write_text("secret", encoding="utf-8")
    address = reachable_address()
    leads = ("--mode=place", "--probe-bind=0.0.0.0:0", f"--explain-token-file={token}", f"--identity={LEADER}")
    with sidecar(plane, folder, *leads) as running:
        port = running.probes.rpartition(":")[2]
        running.probes = f"127.0.0.1:{port}"
        until(lambda: "status" in running.explain(gang, "train"))
        monkeypatch.setattr(sidecar_explanation, "PORT", int(port))
        api.create(leading_pod())
        data = {"token": base64.b64encode(b"secret\n").decode()}
        api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "muster-explain", "namespace": NAMESPACE}, "data": data})
        try:
            api.set_status("Pod", LEADER, NAMESPACE, status={"podIP": address, "podIPs": [{"ip": address}]})
            lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
            asking = [lease, {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]}]
            (problem,) = explained(gang, person(roles()[0], asking))["problems"]
            assert problem.startswith("the sidecar cannot be asked: HTTP 401: the token is missing or wrong")
            reading = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["muster-explain"], "verbs": ["get"]}
            answer = explained(gang, person(roles()[0], [*asking, reading]))
        finally:
            remove_pod(api, LEADER, NAMESPACE)
            api.delete("Secret", "muster-explain", NAMESPACE)
    assert (answer["problems"], answer["explain"]["status"]) == ([], "UnschedulableAndUnresolvable")


def test_a_person_who_sees_one_namespace(plane, kubectl, gang, leader, person) -> None:
    """The conditions and the decision of the sidecar need no permission for other namespaces."""
    (pods, groups, *_), own = roles()
    plane.grant("tenant", [pods, groups], {"kind": "User", "apiGroup": RBAC, "name": "developer"}, namespace=gang)
    answer = kubectl("muster", "why", "train", "-n", gang, kubeconfig=person([], own))
    assert (answer.returncode, answer.stderr) == (2, "")
    said = " ".join(answer.stdout.split())
    assert said.startswith(f"PodGroup {gang}/train: not simulated, because the cluster could not be read: ")
    assert "; the ClusterRole muster-why (deploy/why/rbac.yaml) has all permissions of the simulation" in said
    assert "PodGroupInitiallyScheduled=False Unschedulable" in answer.stdout
    assert "Last decision of the sidecar:\n  UnschedulableAndUnresolvable: " in answer.stdout


def test_a_person_without_rights_gets_a_simulation(plane, kubectl, gang) -> None:
    kinds = ["nodes", "pods", "podgroups", "compositepodgroups"]
    person = plane.user("developer", [{"apiGroups": ["", "scheduling.k8s.io"], "resources": kinds, "verbs": ["get", "list"]}])
    try:
        answer = kubectl("muster", "why", "pod/train-0", "-n", gang, kubeconfig=person)
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            plane.api.delete(kind, "developer")
    assert (answer.returncode, answer.stderr) == (2, "")
    assert answer.stdout.startswith(f"Pod {gang}/train-0 is not placed\n")
    refused = 'No decision of the sidecar: the sidecar cannot be asked: HTTP 403: leases.coordination.k8s.io "muster-sidecar" is'
    assert refused in " ".join(answer.stdout.split())
    assert "Simulation on the cluster as it is now:" in answer.stdout


def test_explain_demands_a_token_of_other_machines(plane, api, gang, tmp_path) -> None:
    """Requests through the API server come from its address, without the credentials of the person."""
    address = reachable_address()
    token = tmp_path / "token"
    client = Api(find_connection(str(plane.kubeconfig)))
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
