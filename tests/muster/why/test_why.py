"""``muster why`` against a small server that answers lists, objects and forwarded requests as an API server does."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from muster import cli
from muster.commands.schema.report_schemas import report_schema
from muster.commands.why.subject import UnknownSubjectError, parse_name
from tests import forked
from tests.muster.test_snapshot_cluster import api  # noqa: F401 - a fixture
from tests.muster.test_standard_output import FULL
from tests.scheduler_core.builders import composite, leaf, node, pod

GROUP = "/apis/scheduling.k8s.io"
TEAM = "namespaces/team"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/muster-sidecar"
SECRET = "/api/v1/namespaces/muster-system/secrets/muster-explain"
EXPLAIN = "/api/v1/namespaces/muster-system/pods/sidecar-a:8080/proxy/explain/team"
MESSAGE = "pod group is unschedulable, too little cpu"
DECISION = {
    "status": "Unschedulable",
    "message": "the last one",
    "deviating": [{"pod": "team/w1", "plannedNode": "a", "deviation": "bound-elsewhere", "node": "b"}],
    "writes": {"queue": "unschedulable", "failures": [{"pod": "team/w0", "node": "a", "reason": "conflict"}]},
}
Server = Any


def conditioned(manifest, name, reason, message=""):
    condition = {"type": name, "status": "False", "reason": reason, "message": message, "lastTransitionTime": "2026-07-01T00:00:00Z"}
    return {**manifest, "status": {**manifest.get("status", {}), "conditions": [condition, {"type": "Ready", "status": "True"}]}}


def in_team(manifest):
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": "team"}}


PODS = [in_team(each) for each in (pod("w0", "workers", cpu="3"), pod("w1", "workers", cpu="3"), pod("here", cpu="1", on="a"))]
WORKERS = conditioned(in_team(leaf("workers", 2, parent="train")), "PodGroupInitiallyScheduled", "Unschedulable", MESSAGE)
TRAIN = conditioned(in_team(composite("train", 1)), "CompositePodGroupInitiallyScheduled", "Unschedulable", "the tree")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def server(api: Server, monkeypatch: pytest.MonkeyPatch) -> Server:  # noqa: F811 - the fixture above
    monkeypatch.setenv("KUBECONFIG", "config")
    api.lists = {
        "/api/v1/nodes": ("v1", "NodeList", [node("a", cpu="4"), node("b", cpu="1")]),
        "/api/v1/pods": ("v1", "PodList", PODS),
        f"{GROUP}/v1beta1/podgroups": ("scheduling.k8s.io/v1beta1", "PodGroupList", [WORKERS]),
        f"{GROUP}/v1alpha3/compositepodgroups": ("scheduling.k8s.io/v1alpha3", "CompositePodGroupList", [TRAIN]),
    }
    api.answers = {
        GROUP: {"versions": [{"version": "v1beta1"}, {"version": "v1alpha3"}]},
        f"{GROUP}/v1beta1": {"resources": [{"name": "podgroups"}]},
        f"{GROUP}/v1alpha3": {"resources": [{"name": "compositepodgroups"}]},
        f"{GROUP}/v1beta1/{TEAM}/podgroups/workers": WORKERS,
        f"{GROUP}/v1alpha3/{TEAM}/compositepodgroups/train": TRAIN,
        **{f"/api/v1/{TEAM}/pods/{each['metadata']['name']}": each for each in PODS},
        "/version": {"major": "1", "minor": "37"},
        LEASE: {"spec": {"holderIdentity": "sidecar-a"}},
        SECRET: {"data": {"token": "c2VjcmV0Cg=="}},
        f"{EXPLAIN}/workers": DECISION,
        f"{EXPLAIN}/w0": DECISION,
    }
    return api


def serve_only(server: Server, api_version: str) -> None:
    """Let *server* serve groups in *api_version* only."""
    group, _, version = api_version.partition("/")
    base = f"/apis/{api_version}"
    for known in (server.lists, server.answers):
        for path in [each for each in known if each.startswith(GROUP)]:
            del known[path]
    server.lists |= {
        f"{base}/podgroups": (api_version, "PodGroupList", [WORKERS]),
        f"{base}/compositepodgroups": (api_version, "CompositePodGroupList", [TRAIN]),
    }
    server.answers |= {
        f"/apis/{group}": {"versions": [{"version": version}]},
        base: {"resources": [{"name": "podgroups"}, {"name": "compositepodgroups"}]},
        f"{base}/{TEAM}/podgroups/workers": WORKERS,
        f"{base}/{TEAM}/compositepodgroups/train": TRAIN,
    }


def why(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["why", "-n", "team", *arguments])


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("name", ["workers", "podgroup/workers", "podgroups.scheduling.k8s.io/workers", "podgroup workers"])
def test_conditions_the_last_decision_and_remedies_are_joined(name: str) -> None:
    answer = why(*name.split())
    lines = answer.stdout.splitlines()
    assert (answer.exit_code, answer.stderr) == (1, "")
    assert lines[:9] == [
        "PodGroup team/workers is not placed",
        "",
        "Conditions:",
        f"  PodGroup team/workers: PodGroupInitiallyScheduled=False Unschedulable since 2026-07-01T00:00:00Z: {MESSAGE}",
        "  CompositePodGroup team/train: CompositePodGroupInitiallyScheduled=False Unschedulable since 2026-07-01T00:00:00Z: the tree",
        "",
        "Last decision of the sidecar:",
        "  Unschedulable: the last one",
        "  not as planned: team/w1, planned for a: bound-elsewhere on b",
    ]
    assert lines[9:11] == ["  queue: unschedulable", "  failed: team/w0 on a: conflict"]
    assert lines[11:13] == ["", "Simulation on the cluster as it is now:"]
    assert lines[-1] == "0 of 1 root placed: 0 pods placed, 2 pending"


@pytest.mark.parametrize(("key", "hints"), [("nvidia.com/gpu", True), ("team", False)])
def test_a_taint_that_a_plugin_would_make_the_pod_tolerate_names_the_plugin(server: Server, key: str, hints: bool) -> None:
    tainted, waiting = node("g", cpu="4"), in_team(pod("gpu", cpu="1"))
    tainted["spec"] = {"taints": [{"key": key, "value": "present", "effect": "NoSchedule"}]}
    tainted["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    waiting["metadata"]["uid"] = "u1"
    waiting["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    server.lists |= {"/api/v1/nodes": ("v1", "NodeList", [tainted]), "/api/v1/pods": ("v1", "PodList", [waiting])}
    server.answers[f"/api/v1/{TEAM}/pods/gpu"] = waiting
    question = "judge their manifest with muster fit --admission-plugins ExtendedResourceToleration"

    simulation = json.loads(why("pod/gpu", "--explain", "off", "--format", "json").stdout)["simulation"]
    changes = [remedy["change"] for each in simulation["decisions"] for remedy in each["remedies"]]
    assert hints is any(question in each for each in changes)
    assert hints is any(question in each["message"] for each in simulation.get("notes", ()))
    # The text has them too, folded.
    assert hints is (question in " ".join(why("pod/gpu", "--explain", "off").stdout.split()))


def test_a_pod_with_a_share_of_a_device_is_not_judged(server: Server) -> None:
    share, whole = in_team(pod("half", cpu="1")), in_team(pod("one", cpu="1"))
    share["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    for each in (share, whole):
        each["metadata"]["uid"] = each["metadata"]["name"]
        server.answers[f"/api/v1/{TEAM}/pods/{each['metadata']['name']}"] = each
    whole["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    devices = node("g", cpu="4")
    devices["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    server.lists |= {"/api/v1/nodes": ("v1", "NodeList", [devices]), "/api/v1/pods": ("v1", "PodList", [share, whole])}

    answer = why("pod/half", "--explain", "off")
    words = "the annotation gpu-fraction requests a share of a device of KAI Scheduler, which is not modelled"
    assert (2, f"Pod team/half is not placed; but {words}; its pods are not simulated") == (answer.exit_code, answer.stdout.splitlines()[0])
    answer = why("pod/one", "--explain", "off")
    words = "pending pods get shares of devices from KAI Scheduler, by gpu-fraction: what they take before is not known"
    assert (2, f"Pod team/one would be placed now; but {words}") == (answer.exit_code, answer.stdout.splitlines()[0])


def test_the_reason_that_a_pod_does_not_state_is_that_of_its_group(server: Server) -> None:
    # kube-scheduler 1.38 writes the reason only to the group.
    hidden = 'parent pod group "workers" is unschedulable'
    server.answers[f"/api/v1/{TEAM}/pods/w0"] = conditioned(PODS[0], "PodScheduled", "Unschedulable", hidden)
    lines = why("pod/w0", "--explain=off").stdout.splitlines()

    assert lines[3].endswith(hidden)
    assert lines[6] == f"  The reason is that of PodGroup team/workers: {MESSAGE}"
    found = json.loads(why("pod/w0", "--explain=off", "--format=json").stdout)["reason"]
    group = {"kind": "PodGroup", "namespace": "team", "name": "workers"}
    assert found == {"object": group, "reason": "Unschedulable", "message": MESSAGE}


def test_the_reason_of_a_group_can_be_that_of_the_root(server: Server) -> None:
    hidden = 'ancestor composite pod group "train" is unschedulable'
    workers = conditioned(in_team(leaf("workers", 2, parent="train")), "PodGroupInitiallyScheduled", "Unschedulable", hidden)
    server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = workers

    assert "  The reason is that of CompositePodGroup team/train: the tree" in why("workers", "--explain=off").stdout.splitlines()


def test_a_condition_that_states_its_reason_is_not_referred_to(server: Server) -> None:
    assert "The reason is that of" not in why("workers", "--explain=off").stdout


@pytest.mark.parametrize(
    ("version", "options", "decided"), [("37", (), "1.37"), ("38+", (), "1.38"), ("38", ("--kubernetes", "1.37"), "1.37")]
)
def test_the_version_is_that_of_the_server(server: Server, version: str, options: tuple[str, ...], decided: str) -> None:
    server.answers["/version"] = {"major": "1", "minor": version}
    arguments = ("workers", "--explain=off", "--strategy=greedy", "--format=json", *options)
    (decision,) = json.loads(why(*arguments).stdout)["simulation"]["decisions"]
    # Until 1.37 messages begin with a prefix.
    starts = {each["message"].startswith("pod group is unschedulable") for each in _conditions(decision)}

    assert starts == {decided == "1.37"}


def _conditions(decision: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for group in decision["groups"] for each in group["conditions"]]


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("format_name", ["text", "json"])
def test_a_full_disk_is_one_line_and_exit_2(server: Server, format_name: str) -> None:
    with FULL.open("wb") as full:
        arguments = ["why", "-n", "team", "workers", "--kubeconfig", "config", "--format", format_name]
        ran = forked.run(arguments, Path.cwd(), output=full)

    assert (2, "muster: standard output: No space left on device\n") == (ran.returncode, ran.stderr)


def test_remedies_are_verified(server: Server) -> None:
    simulated = json.loads(why("pod/w0", "--format", "json").stdout)["simulation"]
    remedies = simulated["decisions"][0]["remedies"]
    assert remedies
    assert {each["then"] for each in remedies} == {"Success"}
    assert {each["root"]["name"] for each in simulated["decisions"]} == {"train"}


def test_a_simulation_has_causes_in_the_published_form(server: Server) -> None:
    simulated = json.loads(why("workers", "--format=json").stdout)["simulation"]

    jsonschema.validate(simulated, report_schema("simulate"))
    (decision,) = simulated["decisions"]
    *causes, proof = decision["causes"]
    assert {"reason": "NoPlacementExists", "explored": 1} == proof
    assert [] != causes == next(each for each in decision["groups"] if each["name"] == "train")["causes"]
    assert all(each["causes"] for each in simulated["pending"])


def test_json(server: Server) -> None:
    answer = json.loads(why("workers", "--format=json").stdout)
    assert list(answer) == ["version", "object", "verdict", "node", "kueue", "conditions", "reason", "explain", "simulation", "problems"]
    assert (answer["object"], answer["explain"], answer["node"]) == (
        {"kind": "PodGroup", "namespace": "team", "name": "workers"},
        DECISION,
        None,
    )
    assert [(each["object"]["kind"], each["reason"]) for each in answer["conditions"]] == [
        ("PodGroup", "Unschedulable"),
        ("CompositePodGroup", "Unschedulable"),
    ]


def test_the_token_is_sent_to_the_sidecar_only(server: Server) -> None:
    why("workers")
    sent = {path for (path, _, _), token in zip(server.requests, server.tokens, strict=True) if token == "secret"}
    assert sent == {f"{EXPLAIN}/workers"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [(LEASE, "the sidecar cannot be asked: HTTP 403: no"), (f"{EXPLAIN}/workers", "the sidecar cannot be asked: HTTP 403: no")],
)
def test_a_person_without_rights_gets_a_simulation(server: Server, path: str, reason: str) -> None:
    server.broken[path] = 403, {"message": "no"}
    server.broken[SECRET] = 403, {"message": "no"}
    answer = why("workers")
    assert answer.exit_code == 1
    assert f"No decision of the sidecar: {reason}\n" in answer.stdout
    assert "Simulation on the cluster as it is now:" in answer.stdout
    found = json.loads(why("workers", "--format=json").stdout)
    assert (found["explain"], found["problems"]) == (None, [reason])


def test_the_sidecar_says_why_it_does_not_answer(server: Server) -> None:
    server.broken[f"{EXPLAIN}/workers"] = 404, {"error": "no decision on team/workers"}
    assert "No decision of the sidecar: the sidecar cannot be asked: HTTP 404: no decision on team/workers\n" in why("workers").stdout


def test_a_sidecar_in_another_namespace(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (LEASE, SECRET, f"{EXPLAIN}/workers"):
        server.answers[path.replace("muster-system", "elsewhere")] = server.answers.pop(path)

    assert "No decision of the sidecar: the sidecar cannot be asked: HTTP 404" in why("workers").stdout
    assert json.loads(why("workers", "--sidecar-namespace=elsewhere", "--format=json").stdout)["explain"] == DECISION
    monkeypatch.setenv("MUSTER_LEASE_NAMESPACE", "elsewhere")
    assert json.loads(why("workers", "--format=json").stdout)["explain"] == DECISION
    monkeypatch.undo()
    assert "elsewhere" in {path.split("/")[4] for (path, _, _), token in zip(server.requests, server.tokens, strict=True) if token}


def test_a_leader_that_is_no_pod_gets_no_token(server: Server) -> None:
    server.answers[LEASE] = {"spec": {"holderIdentity": "a/../../services/x"}}
    assert "No decision of the sidecar: the Lease is held by 'a/../../services/x', which is no pod" in why("workers").stdout
    assert not any(server.tokens)


def test_nobody_leads(server: Server) -> None:
    server.answers[LEASE] = {"spec": {"holderIdentity": ""}}
    assert "No decision of the sidecar: no sidecar holds the Lease\n" in why("workers").stdout


def test_a_forwarded_port(server: Server) -> None:
    class Explaining(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/explain/team/workers" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"status": "Wait", "message": "by port", "error": "not known"}).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Explaining) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.server_address[1]}"
        assert "  Wait: by port\n" in why("workers", f"--explain={url}/").stdout
        assert f"No decision of the sidecar: {url}/explain/team/w0: not known\n" in why("w0", f"--explain={url}").stdout
        listening.shutdown()
    assert "cannot be read" in why("workers", f"--explain={url}").stdout
    assert "decision of the sidecar" not in why("workers", "--explain=off").stdout


def test_a_pod_with_a_node_and_a_group_that_fits(server: Server) -> None:
    answer = why("here")
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (0, "Pod team/here is on node a")
    server.lists["/api/v1/nodes"][2].append(node("c", cpu="32"))
    answer = why("workers", "--explain=off")
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (0, "PodGroup team/workers would be placed now")
    server.lists["/api/v1/pods"] = ("v1", "PodList", [PODS[2]])
    answer = why("train", "--explain=off")
    assert answer.stdout.splitlines()[0] == "CompositePodGroup team/train: none of its pods is pending"


def test_a_cluster_that_is_read_in_part_is_no_success(server: Server) -> None:
    server.lists["/api/v1/nodes"][2].extend([node("c", cpu="32"), node("d", cpu="x")])
    answer = why("workers", "--explain=off")
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (2, "PodGroup team/workers would be placed now")
    assert answer.stdout.splitlines()[1].startswith("! Node d: status.allocatable[cpu]: ")
    assert answer.stdout.count("Node d: ") == 1
    simulated = json.loads(why("workers", "--explain=off", "--format=json").stdout)["simulation"]
    assert [each["object"] for each in simulated["problems"]] == ["Node d"]
    server.lists["/api/v1/nodes"][2].pop()
    # It takes nothing from a node that exists.
    server.lists["/api/v1/pods"][2].append(in_team(pod("left", on="deleted")))
    assert why("workers", "--explain=off").exit_code == 0


def test_victims_are_counted(server: Server) -> None:
    urgent = in_team(pod("urgent", cpu="4", priority=10))
    server.answers[f"/api/v1/{TEAM}/pods/urgent"] = urgent
    server.lists["/api/v1/pods"] = ("v1", "PodList", [urgent, PODS[2]])
    answer = why("urgent", "--explain=off")
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (0, "Pod team/urgent would be placed now, after evicting 1 pod")


@pytest.mark.parametrize("given", ["option", "variable", "nothing"])
def test_a_topology_of_devices(server: Server, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    group, base = "/apis/resource.k8s.io", "resource.k8s.io/v1"
    spec = {"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1}}
    devices = [{"name": "gpu-0", "attributes": {"clique": {"string": "c1"}}}]
    published = {"apiVersion": base, "kind": "ResourceSlice", "metadata": {"name": "a"}, "spec": {**spec, "devices": devices}}
    in_clique = leaf("workers", 1, "gpu.example.com/clique")
    server.answers |= {group: {"versions": [{"version": "v1"}]}, f"{group}/v1": {"resources": [{"name": "resourceslices"}]}}
    server.lists[f"{group}/v1/resourceslices"] = base, "ResourceSliceList", [published]
    server.lists[f"{GROUP}/v1beta1/podgroups"] = "scheduling.k8s.io/v1beta1", "PodGroupList", [in_team(in_clique)]
    server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = in_team(in_clique)
    if given == "variable":
        monkeypatch.setenv("MUSTER_DEVICE_TOPOLOGY", "example.com/other,gpu.example.com/clique")

    answer = why("workers", *(["--device-topology", "gpu.example.com/clique"] if given == "option" else []))

    assert ("clique c1" in answer.stdout) is (given != "nothing")
    assert ("--device-topology gpu.example.com/clique makes it a level" in answer.stdout) is (given == "nothing")


@pytest.mark.parametrize("given", ["option", "variable", "nothing"])
def test_simulation_by_the_profile_of_the_scheduler(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str) -> None:
    """A node is cordoned for all but the configured scheduler, whose pods the filter does not keep away."""
    server.lists["/api/v1/nodes"][2][:] = [node("a", cpu="8", unschedulable=True)]
    file = tmp_path / "scheduler.yaml"
    configured = {"schedulerName": "default-scheduler", "plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}}
    content = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [configured]}
    file.write_text(json.dumps(content), encoding="utf-8")
    if given == "variable":
        monkeypatch.setenv("MUSTER_SCHEDULER_CONFIG", str(file))

    answer = why("workers", "--explain=off", *(["--scheduler-config", str(file)] if given == "option" else []))

    assert answer.stdout.startswith(
        "PodGroup team/workers is not placed" if given == "nothing" else "PodGroup team/workers would be placed"
    )
    assert answer.exit_code == (given == "nothing")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("name", ["workers", "train", "w0"])
def test_a_scheduler_without_a_profile_is_an_error(tmp_path: Path, name: str) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{schedulerName: other}]}",
        encoding="utf-8",
    )

    answer = why(name, "--explain=off", "--scheduler-config", str(file))

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "--scheduler-config: there is no profile 'default-scheduler', which is the schedulerName of " in answer.stderr


def test_a_cluster_that_cannot_be_listed_shows_conditions_with_status_2(server: Server) -> None:
    server.broken["/api/v1/nodes"] = 403, {"message": "no nodes"}
    answer = why("workers")
    assert answer.exit_code == 2
    assert answer.stdout.startswith("PodGroup team/workers: not simulated, because the cluster could not be read: ")
    (named,) = (each for each in " ".join(answer.stdout.split()).split("; ") if each.startswith("the ClusterRole muster-why"))
    assert named.startswith("the ClusterRole muster-why (deploy/why/rbac.yaml) has all permissions of the simulation")
    assert f"Unschedulable since 2026-07-01T00:00:00Z: {MESSAGE}" in answer.stdout
    assert json.loads(why("workers", "--format=json").stdout)["simulation"] is None


MISTAKES = {
    ("nobody",): "there is no PodGroup or CompositePodGroup or Pod 'nobody' in namespace team",
    ("job/train",): "the kind must be one of pod, podgroup and compositepodgroup",
    ("pod/../x",): "'../x': ",
    ("workers", "--explain=ftp://x"): "--explain must be auto, off or a URL",
    ("workers", "--scheduler-config=nowhere"): "--scheduler-config nowhere: no such file or directory",
    ("workers", "--kubeconfig=nowhere"): "there is no cluster to read: there is no file nowhere; give --kubeconfig or --context",
    ("pod", "w0", "w1"): "one object must be given, as KIND/NAME: pod w0 w1",
    ("pods", "w0/w1"): "'w0/w1': ",
    ("--format=json",): "Missing argument '[KIND/]NAME'",
    ("workers", "--context=away"): "http://127.0.0.1:1 cannot be read",
}


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("arguments", MISTAKES)
def test_mistakes_are_one_line_and_status_2(arguments: tuple[str, ...]) -> None:
    answer = why(*arguments)
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert MISTAKES[arguments] in answer.stderr


def test_a_cluster_without_the_kinds(server: Server) -> None:
    """The API server of a default configuration does not serve groups."""
    for path in [each for each in server.answers if each.startswith(GROUP)]:
        del server.answers[path]
    server.answers["/version"] = {"minor": "37"}

    unserved = "the API server does not serve PodGroup: look at its flag --runtime-config"
    assert f"there is no PodGroup 'workers' in namespace team; {unserved}" in why("podgroup/workers").stderr
    assert "; the API server does not serve PodGroup and CompositePodGroup: look at" in why("nothing").stderr
    assert "Pod team/here" in why("here").stdout


def test_a_forbidden_object(server: Server) -> None:
    server.broken[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = 403, {"message": "no groups"}
    answer = why("workers")
    assert (answer.exit_code, "workers cannot be read: HTTP 403: no groups" in answer.stderr) == (2, True)


def test_names_of_kinds() -> None:
    assert parse_name("pods/x") == (("Pod",), "x")
    assert parse_name("CompositePodGroup/x") == (("CompositePodGroup",), "x")
    with pytest.raises(UnknownSubjectError):
        parse_name("/x")


def test_completion_as_kubectl_asks_for_it() -> None:
    assert cli.kubectl_completions(["wh"]) == ["why"]
    assert {"why", "doctor", "lint"} <= set(cli.kubectl_completions([""]))
    assert cli.kubectl_completions(["why", "--form"]) == ["--format"]
    assert cli.kubectl_completions(["why", "--format", ""]) == ["text", "json"]


KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u1", "controller": True}


def queued(name: str, *conditions: tuple[str, str, str], owner: dict[str, Any] | None = None, checks: Any = ()) -> dict[str, Any]:
    listed = [{"type": kind, "status": status, "reason": kind, "message": message} for kind, status, message in conditions]
    metadata = {"name": name, "namespace": "team", "ownerReferences": [owner] if owner else []}
    return {"metadata": metadata, "status": {"conditions": listed, "admissionChecks": checks}}


def with_kueue(server: Server, *workloads: dict[str, Any]) -> None:
    server.answers[KUEUE] = {"resources": [{"name": "workloads"}]}
    server.answers[f"{KUEUE}/{TEAM}/workloads"] = {"items": list(workloads)}
    for each in workloads:
        server.answers[f"{KUEUE}/{TEAM}/workloads/{each['metadata']['name']}"] = each


WAITS = ("QuotaReserved", "False", "couldn't assign flavors to pod set main: insufficient quota")
PROVISIONING = {"name": "capacity", "state": "Pending", "message": "no nodes yet"}


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"ownerReferences": [JOB]}, id="of its owner"),
        pytest.param({"annotations": {"kueue.x-k8s.io/workload": "job-train"}}, id="by annotation"),
        pytest.param({"labels": {"kueue.x-k8s.io/pod-group-name": "job-train"}}, id="of its pod group"),
    ],
)
def test_the_conditions_and_checks_of_kueues_workload_come_first(server: Server, metadata: dict[str, Any]) -> None:
    server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = {**WORKERS, "metadata": {**WORKERS["metadata"], **metadata}}
    with_kueue(server, queued("other", WAITS), queued("job-train", WAITS, owner=JOB, checks=[PROVISIONING]))

    lines = why("workers").stdout.splitlines()
    assert lines[2:6] == [
        "Kueue:",
        f"  Workload team/job-train: QuotaReserved=False QuotaReserved: {WAITS[2]}",
        "  admission check capacity: Pending: no nodes yet",
        "",
    ]
    document = json.loads(why("workers", "--format", "json").stdout)
    assert ("job-train", [PROVISIONING]) == (document["kueue"]["object"]["name"], document["kueue"]["admissionChecks"])


@pytest.mark.parametrize(
    ("conditions", "want"),
    [
        pytest.param([("QuotaReserved", "True", ""), ("Admitted", "True", "")], ["Admitted"], id="admitted"),
        pytest.param([("QuotaReserved", "True", ""), ("Admitted", "False", "")], ["QuotaReserved", "Admitted"], id="waits for checks"),
        pytest.param(
            [WAITS, ("Evicted", "True", "preempted"), ("Preempted", "True", "")], ["QuotaReserved", "Evicted", "Preempted"], id="evicted"
        ),
        pytest.param(
            [("Admitted", "True", ""), ("Evicted", "False", ""), ("PodsReady", "False", "")], ["Admitted", "PodsReady"], id="again"
        ),
        pytest.param([], [], id="not examined"),
    ],
)
def test_of_kueues_conditions_those_are_told_that_matter(server: Server, conditions: Any, want: list[str]) -> None:
    server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = {
        **WORKERS,
        "metadata": {**WORKERS["metadata"], "ownerReferences": [JOB]},
    }
    with_kueue(server, queued("w", *conditions, owner=JOB))

    document = json.loads(why("workers", "--format", "json").stdout)
    assert want == [each["type"] for each in document["kueue"]["conditions"]]
    assert (not want) == ("not examined yet" in why("workers").stdout)


@pytest.mark.parametrize(
    "status", [3, [], {"conditions": 3, "admissionChecks": "x"}, {"conditions": [3, {"type": 7}], "admissionChecks": [1, {}]}]
)
def test_a_workload_of_kueue_with_odd_values_ends_no_command(server: Server, status: Any) -> None:
    server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = {
        **WORKERS,
        "metadata": {**WORKERS["metadata"], "ownerReferences": [JOB, 3]},
    }
    with_kueue(server, {**queued("w", owner=JOB), "status": status})

    assert (1, "") == (why("workers").exit_code, why("workers").stderr)


def test_without_the_workloads_of_kueue_the_rest_is_told(server: Server) -> None:
    server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = {**WORKERS, "metadata": {**WORKERS["metadata"], "ownerReferences": [JOB]}}
    with_kueue(server)
    server.answers[f"{KUEUE}/{TEAM}/workloads"] = []

    document = json.loads(why("workers", "--format", "json").stdout)
    assert (None, True) == (document["kueue"], document["problems"][0].startswith("Kueue's Workload cannot be read: "))
    assert "Kueue's Workload cannot be read" in why("workers").stdout
