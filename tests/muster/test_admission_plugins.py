"""Admission plugins that are off by default: what they change about pods if they are on, and which pods they would help."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from expansion.admission.admission_plugins import AdmissionPlugins
from expansion.managed_clusters import MANAGED_CLUSTERS
from muster import cli
from tests.muster.test_simulate_batch import batch
from tests.muster.test_simulate_controllers import deployment, job, simulated

pytestmark = pytest.mark.usefixtures("folder")

PAGE = Path(__file__).parents[2] / "docs" / "fit.md"
PLUGIN = "ExtendedResourceToleration"
GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATED = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
WITH = f"with the admission plugin {PLUGIN} it fits (judge with --admission-plugins {PLUGIN})"
SELECTOR, DEFAULTS, ALLOWED = (
    f"scheduler.alpha.kubernetes.io/{name}" for name in ("node-selector", "defaultTolerations", "tolerationsWhitelist")
)
PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
STATES = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def gpu_node(name, *taints, labels=None, **amounts):
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4", **amounts}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [*taints]}, "status": {"allocatable": allocatable}}


def gpu_pod(name="serve", count=1, resource="nvidia.com/gpu", **spec):
    containers = [{"name": "main", "image": "i", "resources": {"limits": {resource: str(count)}}}]
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def with_gpus(made, count=1):
    changed = copy.deepcopy(made)
    changed["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": str(count)}}
    return changed


def namespace(**annotations):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "annotations": annotations}}


def fit(mine, cluster, *options):
    for name, objects in (("mine.json", mine), ("cluster.json", cluster)):
        Path(name).write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--format", "json", *options])
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, json.loads(answer.stdout)


def helped(answer):
    return [each["object"] for each in answer.get("notes", ()) if each["reason"] == "FitsWithPlugin"]


def init_container():
    return {"name": "init", "image": "i", "resources": {"limits": {"example.com/fpga": "1"}}}


PENDING = {
    "a pod": ([gpu_pod()], [gpu_node("g1", GPU)], "Pod default/serve"),
    "another resource, and a taint without value": (
        [gpu_pod(resource="google.com/tpu")],
        [gpu_node("t1", {"key": "google.com/tpu", "effect": "NoSchedule"}, **{"google.com/tpu": "4"})],
        "Pod default/serve",
    ),
    "a job of several pods": ([with_gpus(job(3), 2)], [gpu_node("g1", GPU), gpu_node("g2", GPU)], "Job default/train"),
    "a deployment of which a part has nodes": (
        [with_gpus(deployment(2), 4)],
        [gpu_node("g1", GPU), gpu_node("g2")],
        "Deployment default/web",
    ),
    "a resource of an init container": (
        [gpu_pod(initContainers=[init_container()])],
        [gpu_node("f1", GPU, {"key": "example.com/fpga", "effect": "NoSchedule"}, **{"example.com/fpga": "1"})],
        "Pod default/serve",
    ),
}


@pytest.mark.parametrize(("mine", "cluster", "title"), PENDING.values(), ids=PENDING)
def test_a_refusal_that_a_plugin_lifts_names_the_plugin_and_the_option(mine, cluster, title):
    resource = cluster[0]["spec"]["taints"][0]["key"]
    status, answer = fit(mine, cluster)
    assert (1, "does-not-fit", [title]) == (status, answer["verdict"], helped(answer))
    assert answer["message"].endswith(f"; {WITH}")
    remedies = [remedy for each in answer["decisions"] for remedy in each["remedies"] if remedy["change"].startswith("admission plugin")]
    assert sum(each["status"] != "Success" for each in answer["decisions"]) == len(remedies)
    assert {f"admission plugin {PLUGIN} on (judge with --admission-plugins {PLUGIN})"} == {each["change"] for each in remedies}
    assert all(step["apply"]["spec"]["tolerations"][-1]["key"] == resource for step in remedies[0]["steps"])

    status, answer = fit(mine, cluster, "--admission-plugins", PLUGIN)
    assert (0, "fits", []) == (status, answer["verdict"], helped(answer))


HOPELESS = {
    "another taint": ([gpu_pod()], [gpu_node("g1", GPU, {"key": "team", "value": "a", "effect": "NoSchedule"})]),
    "a taint that also evicts": ([gpu_pod()], [gpu_node("g1", {**GPU, "effect": "NoExecute"})]),
    "too few GPUs": ([gpu_pod(count=5)], [gpu_node("g1", GPU)]),
    "too few for all pods": ([with_gpus(job(3), 4)], [gpu_node("g1", GPU), gpu_node("g2", GPU)]),
    "a taint that is not named like the resource": ([gpu_pod()], [gpu_node("g1", {**GPU, "key": "nvidia.com/gpu.present"})]),
}


@pytest.mark.parametrize(("mine", "cluster"), HOPELESS.values(), ids=HOPELESS)
def test_a_plugin_that_does_not_help_is_not_named(mine, cluster):
    status, answer = fit(mine, cluster)
    assert (1, []) == (status, helped(answer))
    assert PLUGIN not in answer["message"]
    assert 1 == fit(mine, cluster, "--admission-plugins", PLUGIN)[0]


def test_a_stored_pod_would_fit_if_it_was_created_again_with_the_plugin():
    stored = gpu_pod()
    stored["metadata"]["uid"] = "u1"
    again = f"it fits, if its pods are created again (judge their manifest with muster fit --admission-plugins {PLUGIN})"
    for options in ((), ("--admission-plugins", PLUGIN)):
        status, answer = fit([stored], [gpu_node("g1", GPU)], *options)
        assert (1, [] if options else ["Pod default/serve"]) == (status, helped(answer))
        assert answer["message"].endswith(again) is not bool(options)
    # The cluster's own pending pods are not tried.
    assert [] == helped(simulated([stored, gpu_node("g1", GPU)])[1])


def test_remedies_that_are_not_searched_need_no_trial():
    assert [] == helped(fit([gpu_pod()], [gpu_node("g1", GPU)], "--remedies", "0")[1])


def test_simulate_says_so_too_and_has_the_option():
    status, answer = simulated([gpu_pod(), gpu_node("g1", GPU)])
    assert (1, ["Pod default/serve"]) == (status, helped(answer))
    status, answer = simulated([gpu_pod(), gpu_node("g1", GPU)], None, "--admission-plugins", PLUGIN)
    assert (0, []) == (status, helped(answer))


def test_a_line_of_a_batch_turns_plugins_on_and_off():
    objects = [gpu_pod(), gpu_node("g1", GPU)]
    lines = [{"id": 1, "objects": objects}, {"id": 2, "objects": objects, "options": {"admissionPlugins": [PLUGIN]}}]
    _, answers = batch(*lines, {"id": 3, "objects": objects, "options": {"admissionPlugins": "Nope"}})
    assert [0, 1] == [each["summary"]["placed"] for each in answers[:2]]
    assert answers[2]["error"].startswith("option admissionPlugins: 'Nope' is no admission plugin that can be switched on")

    off = {"id": 4, "objects": objects, "options": {"admissionPlugins": []}}
    assert [1, 0] == [each["summary"]["placed"] for each in batch(lines[0], off, arguments=("--admission-plugins", PLUGIN))[1]]


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize("name", ["LimitRanger", "ExtendedResourceTolerations", "x,y"])
def test_an_unknown_plugin_is_refused_with_those_that_can_be_on(command, name):
    answer = CliRunner().invoke(cli.main, [command, "x.yaml", "--admission-plugins", name])
    assert 2 == answer.exit_code
    assert f"{name.split(',')[0]!r} is no admission plugin that can be switched on" in answer.stderr
    assert "these are PodNodeSelector, PodTolerationRestriction, ExtendedResourceToleration" in answer.stderr


def test_the_node_selector_of_a_namespace_is_added():
    cluster = [gpu_node("g1", labels={"team": "a"}, cpu="1"), gpu_node("g2"), namespace(**{SELECTOR: "team=a"})]
    mine = [with_gpus(job(1), 1)]
    assert ["g1"] == [*fit(mine, cluster, "--admission-plugins", "PodNodeSelector")[1]["decisions"][0]["assignments"].values()]
    conflicting = gpu_pod(nodeSelector={"team": "b"})
    status, answer = fit([conflicting], cluster, "--admission-plugins", "PodNodeSelector")
    reason = "pod node label selector conflicts with its namespace node label selector"
    assert (1, reason) == (status, answer["refused"][0]["reason"].partition(" (")[0])


def test_tolerations_of_a_namespace_are_added_and_restricted():
    cluster = [gpu_node("g1", GPU), namespace(**{DEFAULTS: json.dumps([TOLERATED])})]
    assert 1 == fit([gpu_pod()], cluster)[0]
    assert 0 == fit([gpu_pod()], cluster, "--admission-plugins", "PodTolerationRestriction")[0]
    cluster[1] = namespace(**{DEFAULTS: json.dumps([TOLERATED]), ALLOWED: json.dumps([PRESSURE])})
    status, answer = fit([gpu_pod()], cluster, "--admission-plugins", "PodTolerationRestriction")
    reason = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
    assert (1, reason) == (status, answer["refused"][0]["reason"].removesuffix(" (mine.json:1)"))


def test_a_namespace_that_is_not_among_the_objects_is_a_note():
    _, answer = fit([gpu_pod()], [gpu_node("g1")], "--admission-plugins", "PodNodeSelector", "--admission-plugins", PLUGIN)
    assert [("Namespace default", "MissingNamespace")] == [(each["object"], each["reason"]) for each in answer["notes"]]
    assert "notes" not in fit([gpu_pod()], [gpu_node("g1")], "--admission-plugins", PLUGIN)[1]


def test_a_snapshot_keeps_the_annotations_and_a_redacted_one_does_not():
    Path("cluster.json").write_text(json.dumps(namespace(**{SELECTOR: "team=secret", "other": "x"})), encoding="utf-8")
    plain, redacted = (CliRunner().invoke(cli.main, ["snapshot", "cluster.json", *more]).stdout for more in ((), ("--redact",)))
    assert [{SELECTOR: "team=secret"}] == [each["metadata"]["annotations"] for each in json.loads(plain)["items"]]
    assert "secret" not in redacted
    assert ["annotations" in each["metadata"] for each in json.loads(redacted)["items"]] == [False]


def server(name, *plugins, **labels):
    command = ["kube-apiserver", "--v=2", *([f"--enable-admission-plugins={','.join(plugins)}"] if plugins else [])]
    metadata = {"name": name, "namespace": "kube-system", "uid": name, "labels": labels or {"component": "kube-apiserver"}}
    spec = {"nodeName": "g1", "containers": [{"name": "kube-apiserver", "image": "i", "command": command}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


SERVERS = {
    "one": ([server("s1", "NodeRestriction", PLUGIN)], 0),
    "several alike": ([server("s1", PLUGIN), server("s2", "PodNodeSelector", PLUGIN)], 0),
    "several that differ": ([server("s1", PLUGIN), server("s2", "NodeRestriction")], 1),
    "one without the option": ([server("s1", PLUGIN), server("s2")], 1),
    "another plugin": ([server("s1", "NodeRestriction")], 1),
    "no option": ([server("s1")], 1),
    "another pod": ([server("s1", PLUGIN, component="other")], 1),
}


@pytest.mark.parametrize(("servers", "want"), SERVERS.values(), ids=SERVERS)
def test_plugins_that_the_api_server_of_the_cluster_turns_on_are_on(servers, want):
    status, answer = fit([gpu_pod()], [gpu_node("g1", GPU), *servers])
    notes = {each["reason"]: (each["object"], each["message"]) for each in answer["notes"]}
    on = {"PluginsOn": ("kube-apiserver", f"new pods are admitted as its option --enable-admission-plugins says: {PLUGIN}")}
    assert (want, on if want == 0 else ["FitsWithPlugin"]) == (status, notes if want == 0 else [*notes])


def notes_of(answer):
    return {each["reason"]: each for each in answer.get("notes", ())}


@pytest.mark.parametrize(("platform", "preset"), MANAGED_CLUSTERS.items())
def test_a_platform_turns_on_the_plugins_of_its_documentation_and_names_them(platform, preset):
    status, answer = fit([gpu_pod()], [gpu_node("g1", GPU), namespace()], "--platform", platform)
    note = notes_of(answer)["PluginsAssumed"]
    assert (0, preset.title) == (status, note["object"])
    assert f"as its documentation says: {', '.join(sorted(preset.plugins))} ({preset.source}, {preset.as_of})" in note["message"]
    assert preset.source in PAGE.read_text(encoding="utf-8")


def test_a_platform_and_named_plugins_are_on_together():
    cluster = [gpu_node("g1", GPU), gpu_node("g2", GPU, labels={"team": "a"}), namespace(**{SELECTOR: "team=a"})]
    options = ("--platform", "gke", "--admission-plugins", "PodNodeSelector")
    assert ["g1"] == [*fit([gpu_pod()], cluster, *options[:2])[1]["decisions"][0]["assignments"].values()]
    _, answer = fit([gpu_pod()], cluster, *options)
    assert ["g2"] == [*answer["decisions"][0]["assignments"].values()]
    assert ["PluginsAssumed"] == [*notes_of(answer)]


@pytest.mark.parametrize(("servers", "want"), SERVERS.values(), ids=SERVERS)
def test_a_cluster_that_shows_its_servers_is_no_platform(servers, want):
    status, answer = fit([gpu_pod()], [gpu_node("g1", GPU), *servers], "--platform", "gke")
    hidden = servers == SERVERS["another pod"][0]
    text = "--platform assumes" if hidden else "--platform has no effect"
    assert (0 if hidden else want, True) == (status, notes_of(answer)["PluginsAssumed"]["message"].startswith(text))
    assert ("FitsWithPlugin" in notes_of(answer)) is (status == 1)


def test_a_line_of_a_batch_has_its_platform():
    objects = [gpu_pod(), gpu_node("g1", GPU)]
    lines = [{"id": number, "objects": objects, "options": {"platform": name}} for number, name in enumerate(("gke", "other"))]
    _, answers = batch(*lines)
    assert 1 == answers[0]["summary"]["placed"]
    assert "option platform: must be one of gke, eks, aks, is 'other'" == answers[1]["error"]


@pytest.mark.parametrize("command", ["fit", "simulate"])
def test_an_unknown_platform_is_refused(command):
    answer = CliRunner().invoke(cli.main, [command, "x.yaml", "--platform", "GKE2"])
    assert (2, True) == (answer.exit_code, "'GKE2' is not one of 'gke', 'eks', 'aks'" in answer.stderr)


def admitted(pod, *on, **annotations):
    plugins, new = AdmissionPlugins(on, {"default": annotations}), copy.deepcopy(pod)
    return [*plugins.change(new)] or [*plugins.violations(new)], new["spec"]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param([], [TOLERATED], id="none"),
        pytest.param([TOLERATED], [TOLERATED], id="the same"),
        pytest.param([{**TOLERATED, "effect": ""}], [{**TOLERATED, "effect": ""}, TOLERATED], id="of every effect"),
        pytest.param(
            [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}],
            [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, TOLERATED],
            id="of one value",
        ),
    ],
)
def test_a_toleration_is_added_besides_those_that_differ(given, want):
    reasons, spec = admitted(gpu_pod(tolerations=given), PLUGIN)
    assert ([], want) == (reasons, spec["tolerations"])


@pytest.mark.parametrize("resource", ["cpu", "kubernetes.io/thing", "hugepages-2Mi", "requests.example.com/x"])
def test_other_resources_get_no_toleration(resource):
    assert "tolerations" not in admitted(gpu_pod(resource=resource), PLUGIN)[1]


def test_tolerations_that_others_cover_are_merged():
    spread = json.dumps([TOLERATED, {"operator": "Exists", "effect": "NoExecute"}])
    _, spec = admitted(
        gpu_pod(tolerations=[{**TOLERATED, "operator": "Equal", "value": "x"}]), "PodTolerationRestriction", **{DEFAULTS: spread}
    )
    assert [TOLERATED, {"operator": "Exists", "effect": "NoExecute"}] == spec["tolerations"]


def test_tolerations_of_node_states_that_every_pod_has_cover_others():
    of_namespace = json.dumps([{**STATES[1], "tolerationSeconds": 60}, TOLERATED])
    assert [TOLERATED] == admitted(gpu_pod(), "PodTolerationRestriction", **{DEFAULTS: of_namespace})[1]["tolerations"]
    own = {**STATES[1], "tolerationSeconds": 30}
    want = [{**STATES[1], "tolerationSeconds": 60}, TOLERATED]
    assert want == admitted(gpu_pod(tolerations=[own]), "PodTolerationRestriction", **{DEFAULTS: of_namespace})[1]["tolerations"]


def test_only_pods_with_requests_of_cpu_or_memory_tolerate_memory_pressure():
    assert "tolerations" not in admitted(gpu_pod(), "PodTolerationRestriction")[1]
    assert [PRESSURE] == admitted(gpu_pod(resource="memory"), "PodTolerationRestriction")[1]["tolerations"]
    assert "tolerations" not in admitted(gpu_pod(resource="cpu", count=0), "PodTolerationRestriction")[1]


def test_a_whitelist_also_has_to_allow_the_tolerations_of_every_pod():
    assert [] == admitted(gpu_pod(), "PodTolerationRestriction", **{ALLOWED: json.dumps(STATES)})[0]
    for allowed in ([STATES[0]], [{**STATES[0], "tolerationSeconds": 60}, STATES[1]]):
        assert 1 == len(admitted(gpu_pod(), "PodTolerationRestriction", **{ALLOWED: json.dumps(allowed)})[0])
    assert [] == admitted(gpu_pod(), "PodTolerationRestriction", **{ALLOWED: ""})[0]


@pytest.mark.parametrize("text", ["{", "{}", '"x"', "[1]", '[{"key": 1}]', '[{"tolerationSeconds": "x"}]'])
@pytest.mark.parametrize("annotation", [DEFAULTS, ALLOWED])
def test_an_annotation_that_is_no_list_of_tolerations_refuses_pods(annotation, text):
    reasons, _ = admitted(gpu_pod(), "PodTolerationRestriction", **{annotation: text})
    assert [f"annotation {annotation} of namespace default: must be a JSON list of tolerations"] == reasons


@pytest.mark.parametrize("text", ["team", "a=b=c", "a=b,", ",a=b", "-x=y", "a= b c"])
def test_a_selector_that_cannot_be_read_refuses_pods(text):
    reasons, _ = admitted(gpu_pod(), "PodNodeSelector", **{SELECTOR: text})
    assert reasons[0].startswith(f"annotation {SELECTOR} of namespace default: invalid selector: ")


@pytest.mark.parametrize(("text", "want"), [("", {"own": "1"}), (" a = b ,c=", {"a": "b", "c": "", "own": "1"}), ("own=1", {"own": "1"})])
def test_a_selector_is_read_as_the_plugin_does(text, want):
    reasons, spec = admitted(gpu_pod(nodeSelector={"own": "1"}), "PodNodeSelector", **{SELECTOR: text})
    assert ([], want) == (reasons, spec["nodeSelector"])
