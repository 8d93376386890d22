# ruff: noqa: RUF001 - multiplication signs as in the output
"""``muster fit``: the verdict, its line, its exit status, and what it shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.simulate import simulation
from tests.muster.simulated import gang, node, pod
from tests.muster.test_simulate_controllers import FALSE_GREENS, TEMPLATE, deployment, job, manifest, owned
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_slice

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", rack="a"), node("n2", rack="b")]
LOW = {"priority": -1}


def saved(name, objects):
    with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - in the folder of the test
        file.write("\n".join(map(json.dumps, objects)))
    return name


def fit(mine, cluster, *options):
    """Return the exit status and standard output for the objects *mine* in a *cluster*."""
    arguments = ["fit", saved("mine.json", mine), "--objects", saved("cluster.json", cluster), *options]
    answer = CliRunner().invoke(cli.main, arguments)
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, answer.stdout


def judged(mine, cluster, *options):
    status, text = fit(mine, cluster, "--format", "json", *options)
    return status, json.loads(text)


def message(mine, cluster, *options):
    """Return the verdict in one line."""
    return judged(mine, cluster, *options)[1]["message"]


def ranked(kind, pods, key="rack", **spec):
    """A gang in one rack, or in one domain of another topology *key*."""
    made = job(pods)
    made["spec"]["scheduling"] = {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": key}]}}
    return {**made, "kind": kind, "spec": {**made["spec"], **spec}}


LINES = {
    "fits": (0, [job(2)], NODES, "fits: Job default/train: 2 pods on n1, n2"),
    "fits in one rack": (0, [ranked("Job", 2)], NODES, "fits: Job default/train: 2 pods in rack a on n1 ×2"),
    "several fit": (0, [job(1), deployment(2)], NODES, "fits: Job default/train, Deployment default/web: 3 pods on n1 ×2, n2"),
    "a pod": (0, [pod("p")], NODES, "fits: Pod default/p: 1 pod on n1"),
    "after an eviction": (
        1,
        [job(4)],
        [*NODES, owned("low-0", "Job", "low", cpu="4", on="n2") | {"spec": {**pod("x", cpu="4", on="n2")["spec"], **LOW}}],
        "fits after evicting 1 pod: Pod default/low-0",
    ),
    "after the eviction of a group": (
        1,
        [ranked("Job", 2)],
        [
            node("n1", rack="a"),
            {**gang("low", 2), "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **LOW}},
            *(pod(f"low-{number}", on="n1", group="low", **LOW) for number in range(2)),
        ],
        "fits after evicting 2 pods: PodGroup default/low (2 pods)",
    ),
    "does not fit": (
        1,
        [ranked("Job", 3)],
        NODES,
        (
            "does not fit: Job default/train: group train-job-root does not fit in any rack (3 pods with 2 cpu each): racks a and b can "
            "hold 2 each (short of 2 cpu: 4 free, 6 needed); the smallest change that helps: topology constraint rack of Job "
            "default/train dropped"
        ),
    ),
    "one of two": (1, [job(1), deployment(4)], NODES, "does not fit: Deployment default/web: "),
    "waits": (1, [gang("g", 2), pod("g-0", group="g")], NODES, "does not fit: PodGroup default/g: "),
    "without its group": (1, [pod("p", group="none")], NODES, "does not fit: Pod default/p: "),
    "nothing": (2, [NODES[0]], NODES, "nothing to judge: PATH has no object that creates pods"),
    "has a node": (2, [pod("p", on="n1")], NODES, "nothing to judge: the pods at PATH have nodes already, or its groups have no pods"),
    "no replicas": (2, [deployment(0)], NODES, "nothing to judge: "),
    "skipped": (
        2,
        [manifest("Sandbox", "a.example/v1", template=TEMPLATE)],
        NODES,
        "nothing to judge: Sandbox default/web: Sandbox (a.example) is not supported; its pods are not simulated",
    ),
    "a part is skipped": (
        2,
        [job(2), manifest("Sandbox", "a.example/v1", template=TEMPLATE)],
        NODES,
        "fits: Job default/train: 2 pods on n1, n2; 1 object at PATH was skipped and not judged",
    ),
}


@pytest.mark.parametrize(("status", "mine", "cluster", "want"), LINES.values(), ids=LINES)
def test_the_line_is_the_verdict(status, mine, cluster, want):
    found, answer = judged(mine, cluster)
    assert (status, want) == (found, answer["message"][: len(want)])


@pytest.mark.parametrize(("mine", "want"), FALSE_GREENS.values(), ids=FALSE_GREENS)
def test_nothing_that_was_not_judged_fits(mine, want):
    assert want == fit(mine, NODES)[0]


def template(cpu):
    container = {"name": "m", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def test_a_search_that_spends_its_budget_is_undecided():
    cluster = [node("n1", rack="a"), node("n2", rack="a"), node("n3", rack="b"), *(pod(f"low-{on}", on=on, **LOW) for on in ("n1", "n2"))]
    mine = ranked("Job", 3, template=template("4"))

    assert "does-not-fit" == judged([mine], cluster)[1]["verdict"]
    status, answer = judged([mine], cluster, "--budget", "1")
    want = "undecided: the search for Job default/train spent its budget of steps; set a larger --budget"
    assert (1, "undecided", want) == (status, answer["verdict"], answer["message"])


def test_evictions_that_go_on_after_the_last_cycle_are_undecided(monkeypatch):
    """Each pod of a Job without a gang needs a node that another pod uses, and evicts it in a cycle of its own."""
    full = [*(node(f"n{index}") for index in range(4)), *(pod(f"low-{index}", cpu="4", on=f"n{index}", **LOW) for index in range(4))]

    assert "fits-after-eviction" == judged([job(8)], full)[1]["verdict"]
    monkeypatch.setattr(simulation, "_MOST_CYCLES", 6)
    status, answer = judged([job(8)], full)
    want = "undecided: the search for Job default/train spent its budget of 6 cycles; 2 pods have no node yet"
    assert (1, "undecided", want) == (status, answer["verdict"], answer["message"])
    assert "fits-after-eviction" == judged([job(6)], full)[1]["verdict"]


def test_pods_that_a_basic_group_left_over_evict_in_their_next_cycle():
    """The pods of a Job without a gang: two fit at once, and the others after an eviction."""
    status, text = fit([job(4)], [*NODES, pod("low", cpu="4", on="n2", **LOW)])
    assert (1, "→ fits after evicting 1 pod: Pod low") == (status, text.splitlines()[0])
    assert "2 of 4 pods have no node: group train-job-root has its minimum, but no node for 2 more pods" in message(
        [job(4)], [*NODES, pod("p", cpu="4", on="n2")]
    )


def test_json_is_about_path_only():
    other = deployment(9, name="other")
    status, answer = judged([job(2), manifest("Sandbox", "a.example/v1", template=TEMPLATE)], [*NODES, pod("other", cpu="9"), other])

    assert ["version", "verdict", "message", "decisions", "skipped"] == [*answer][:5]
    assert (2, 1, "fits", ["train-job-root"]) == (
        status,
        answer["version"],
        answer["verdict"],
        [each["root"]["name"] for each in answer["decisions"]],
    )
    why = "Sandbox (a.example) is not supported; its pods are not simulated; to judge it anyway: --pod-template 'Sandbox.a.example=spec.template'"
    assert [{"object": "Sandbox default/web", "reason": why}] == answer["skipped"]
    assert ([], {"roots": 1, "placed": 1, "pods": 2}) == (answer["pending"], answer["summary"])


def test_nothing_to_judge_in_json():
    status, answer = judged(NODES, NODES)
    assert (2, "nothing-to-judge", [], []) == (status, answer["verdict"], answer["decisions"], answer["skipped"])


def test_the_rest_of_the_cluster_is_shown_on_request():
    cluster = [*NODES, pod("large", cpu="9")]
    assert "large" not in fit([job(2)], cluster)[1]
    assert "default/large" in fit([job(2)], cluster, "--all")[1]
    assert 0 == fit([job(2)], cluster, "--all")[0]


def test_remedies_are_searched_for_path_only():
    cluster = [
        *NODES,
        *(each for number in range(4) for each in (gang(f"g{number}", 1), pod(f"g{number}-0", cpu="9", group=f"g{number}", priority=9))),
    ]
    _, answer = judged([ranked("Job", 3)], cluster)
    assert answer["decisions"][0]["remedies"]


def test_remedies_do_not_evict_pods_of_path():
    _, answer = judged([job(1, name="a"), deployment(4)], NODES)
    changes = [each["change"] for decision in answer["decisions"] for each in decision["remedies"]]
    assert changes
    assert not any("evicted" in each for each in changes)


def test_a_group_that_is_placed_in_part_is_helped_by_the_change_for_all_its_pods():
    """As far as the group requires, it is placed: only the change that places the rest too helps."""
    _, answer = judged([job(5)], NODES)
    assert "does-not-fit" == answer["verdict"]
    assert ["1 more node like n1"] == [each["change"] for decision in answer["decisions"] for each in decision["remedies"]]


def test_pods_before_it_in_the_queue_take_capacity():
    first = [pod(f"first-{number}", cpu="4", priority=5) for number in range(2)]
    assert 1 == fit([job(1)], [*NODES, *first])[0]
    assert 0 == fit([job(1)], [*NODES, *(pod(f"last-{number}", cpu="4", priority=-5) for number in range(2))])[0]


GANGS = {
    "a gang in one domain": (["--gang", "--topology", "rack"], [job(2)], "in rack a on n1 ×2"),
    "a gang anywhere": (["--gang"], [job(4)], "4 pods on n1 ×2, n2 ×2"),
    "a deployment": (["--gang", "--topology", "rack"], [deployment(2)], "in rack a on n1 ×2"),
    "a group at PATH": (
        ["--gang", "--topology", "rack"],
        [{**gang("g", 1), "spec": {"schedulingPolicy": {"basic": {}}}}, pod("g-0", cpu="2", group="g"), pod("g-1", cpu="2", group="g")],
        "in rack a on n1 ×2",
    ),
}


@pytest.mark.parametrize(("options", "mine", "want"), GANGS.values(), ids=GANGS)
def test_gangs_on_request(options, mine, want):
    assert want in message(mine, NODES, *options)


WITHOUT_GROUPS = (
    "GenericWorkload",
    "TopologyAwareWorkloadScheduling",
    "CompositePodGroup",
    "DRAWorkloadResourceClaims",
    "WorkloadWithJob",
)
"""Gates to switch off for an API server without groups; 1.37 has one more."""


@pytest.mark.parametrize(
    ("options", "off", "named"),
    [
        (
            ["--gang"],
            ("CompositePodGroup", "TopologyAwareWorkloadScheduling", "GenericWorkload"),
            "--gang needs the feature gate GenericWorkload",
        ),
        (
            ["--gang", "--topology", "rack"],
            ("CompositePodGroup", "TopologyAwareWorkloadScheduling"),
            "--topology needs the feature gate TopologyAwareWorkloadScheduling",
        ),
    ],
)
def test_a_gang_on_request_needs_its_gate(options, off, named):
    others = ("PodGroupPreemptionPolicy", "DRAWorkloadResourceClaims", "WorkloadWithJob") if "GenericWorkload" in off else ()
    gates = ",".join(f"{name}=false" for name in (*off, *others))
    answer = CliRunner().invoke(cli.main, ["fit", saved("mine.json", [job(1)]), "--gates", gates, *options])
    assert (2, "") == (answer.exit_code, answer.stdout)
    assert named in answer.stderr


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize(
    ("version", "gates", "want"),
    [
        (
            "1.38",
            {"PodGroupPreemptionPolicy": True},
            "option gates: there is no feature gate 'PodGroupPreemptionPolicy' in Kubernetes 1.38",
        ),
        ("1.37", dict.fromkeys(WITHOUT_GROUPS, False), "option gates: no API server starts with PodGroupPreemptionPolicy on"),
        ("1.38", dict.fromkeys(WITHOUT_GROUPS, False), ""),
        ("1.37", {"PodGroupPreemptionPolicy": False}, ""),
    ],
)
def test_the_gates_are_those_of_the_version(command, version, gates, want):
    switches = ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())
    arguments = [command, saved("mine.json", [job(1), *NODES]), "--kubernetes", version, "--gates", switches]
    answer = CliRunner().invoke(cli.main, arguments)
    assert (2 if want else 0, want in answer.stderr) == (answer.exit_code, True)


def test_a_gang_that_does_not_fit_in_one_domain():
    assert 0 == fit([job(3)], NODES)[0]
    line = message([job(3)], NODES, "--gang", "--topology", "rack")
    assert "does not fit in any rack (3 pods with 2 cpu each)" in line


IN_ONE_RACK = "each tree of groups must be in one domain of rack"
COMBINED = "without a group: --gang judges the pods at PATH as one gang"
OWN_GANGS = {
    "a Job": ([ranked("Job", 3)], 1, [f"its own gangs are kept; {IN_ONE_RACK}"]),
    "a group at PATH": (
        [gang("g", 3), *(pod(f"g-{n}", cpu="2", group="g") for n in range(3))],
        1,
        [f"its own gangs are kept; {IN_ONE_RACK}"],
    ),
    "one that fits": ([ranked("Job", 2)], 0, [f"its own gangs are kept; {IN_ONE_RACK}"]),
    "a constraint of its own": (
        [ranked("Job", 1, "zone")],
        0,
        [f"its own gangs are kept; {IN_ONE_RACK}; --topology rack replaces its topology constraint zone"],
    ),
    "pods without a group": ([pod(f"p{n}", cpu="2") for n in range(3)], 1, [COMBINED]),
    "pods without a group that fit": ([pod(f"p{n}", cpu="2") for n in range(2)], 0, [COMBINED]),
    "pods of two schedulers": ([pod("p"), pod("q", schedulerName="other")], 2, []),
    "pods of two namespaces": ([pod("p"), {**pod("q"), "metadata": {"name": "q", "namespace": "other", "uid": "q"}}], 2, []),
}


@pytest.mark.parametrize(("mine", "want", "notes"), OWN_GANGS.values(), ids=OWN_GANGS)
def test_the_requested_domain_holds_for_gangs_of_an_object(mine, want, notes):
    status, answer = judged(mine, NODES, "--gang", "--topology", "rack")
    assert (want, notes) == (status, [each["message"] for each in answer.get("notes", ())])


GENERATED = {"generateName": "train-", "namespace": "default"}


def test_objects_with_one_generated_name_are_all_judged():
    pods = [{**pod("p"), "metadata": GENERATED, "spec": on_node("")["spec"]["template"]["spec"]}] * 2
    status, answer = judged([*({**job(1), "metadata": GENERATED},) * 2, *pods], [node("n1", cpu="8")])
    placed = sorted(name for each in answer["decisions"] for name in each["assignments"])
    assert (0, ["default/train-0", "default/train-1", "default/train-2", "default/train-2-0"]) == (status, placed)


def test_outputs_in_several_formats(folder):
    write = judged([job(2)], NODES, "--output", "html=page.html", "--output", "text=verdict.txt")
    assert 0 == write[0]
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (folder / "verdict.txt").read_text(encoding="utf-8").startswith("✓ fits: Job train")


def test_a_constraint_without_a_gang_is_kept():
    mine = job(3)
    mine["spec"]["scheduling"] = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
    assert "does not fit in any rack" in message([mine], NODES, "--gang")


def test_gangs_of_an_object_are_kept():
    _, answer = judged([ranked("Job", 2)], NODES, "--gang")
    assert ["it has gangs of its own, which --gang does not change"] == [each["message"] for each in answer["notes"]]


def test_html_has_the_verdict_as_its_heading():
    _, text = fit([job(2)], NODES, "--format", "html")
    heading = re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)
    assert heading
    assert "Job train fits: 2 pods on n1, n2" in re.sub(r"<.*?>", "", heading[1])
    assert "✓" in heading[1]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([], "give at least one PATH", id="no path"),
        pytest.param(["nowhere"], "nowhere", id="no such file"),
        pytest.param(["mine.json", "--objects", "nowhere"], "nowhere", id="no such cluster"),
        pytest.param(["mine.json", "--objects", "mine.json", "--cluster"], "give --objects or --cluster", id="two clusters"),
        pytest.param(["mine.json", "--context", "prod"], "need --cluster", id="a context"),
        pytest.param(["mine.json", "--topology", "rack"], "--topology needs --gang", id="topology alone"),
        pytest.param(["mine.json", "--gang", "--topology", "no key"], "must be the key of a node label", id="no label"),
        pytest.param(["mine.json", "--cluster", "--kubeconfig", "nowhere.yaml"], "nowhere.yaml", id="no kubeconfig"),
        pytest.param(["mine.json", "--ignore", "spec.x"], "is not a field that can be ignored", id="ignored field"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, want):
    saved("mine.json", [job(1)])
    answer = CliRunner().invoke(cli.main, ["fit", *arguments])
    assert (2, "", 1) == (answer.exit_code, answer.stdout, answer.stderr.count("\n"))
    assert want in answer.stderr


def test_without_nodes_the_message_names_the_missing_objects():
    saved("mine.json", [job(1)])
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json"])
    want = "○ nothing to judge: there is no Node among the inputs: give --objects, --nodes or --cluster"
    assert (2, "", want) == (answer.exit_code, answer.stderr, answer.stdout.splitlines()[0])


def test_an_empty_directory_is_nothing_to_judge(folder):
    (folder / "empty").mkdir()
    answer = CliRunner().invoke(cli.main, ["fit", "empty", "--objects", saved("cluster.json", NODES)])
    assert (2, "muster fit: no .yaml, .yml, .json file in empty\n") == (answer.exit_code, answer.stderr)


UNREAD = {
    "a file": ("kind: [", "broken.yaml:1:8"),
    "a pod": (json.dumps(pod("low", cpu="x", on="n1")), "Pod default/low"),
    "a node": (json.dumps(node("n9", cpu="x")), "Node n9"),
    **{
        f"a {kind}": (json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "labels": 5}, "spec": 5}), f"{kind} ")
        for version, kinds in {
            "v1": ("Namespace", "Node", "Pod", "PersistentVolumeClaim", "PersistentVolume", "Service", "ReplicationController"),
            "apps/v1": ("ReplicaSet", "StatefulSet"),
            "policy/v1": ("PodDisruptionBudget",),
            "resource.k8s.io/v1": ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
            "scheduling.k8s.io/v1": ("PriorityClass",),
            "scheduling.k8s.io/v1alpha3": ("CompositePodGroup",),
            "scheduling.k8s.io/v1beta1": ("PodGroup", "Workload"),
            "storage.k8s.io/v1": ("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"),
        }.items()
        for kind in kinds
    },
    "an object without a kind": (json.dumps({"apiVersion": "v1", "metadata": {"name": "a"}}), "Object a"),
}


@pytest.mark.parametrize(("text", "named"), UNREAD.values(), ids=UNREAD)
def test_a_cluster_that_is_read_in_part_is_no_success(folder, text, named):
    (folder / "broken.yaml").write_text(text, encoding="utf-8")
    status, answer = judged([job(2)], NODES, "--objects", "broken.yaml")

    assert (2, "fits") == (status, answer["verdict"])
    assert answer["message"].endswith("; 1 input of the cluster could not be read")
    assert [named] == [each["object"][: len(named)] for each in answer["problems"]]
    assert message([job(2)], NODES, "--objects", "broken.yaml").startswith("fits: ")


def composite(name):
    # The API server creates one only with a reference to a Workload.
    metadata = {"uid": f"uid-{name}"}
    return manifest("CompositePodGroup", "scheduling.k8s.io/v1alpha3", name, metadata, schedulingPolicy={"gang": {"minGroupCount": 1}})


def on_node(name):
    spec = {**TEMPLATE["spec"], "nodeName": name}
    return manifest("ReplicaSet", replicas=40, selector={"matchLabels": {"app": "x"}}, template={**TEMPLATE, "spec": spec})


UNJUDGED = {
    "a group without pods": ([gang("g", 9)], ["PodGroup default/g: it has no pods, or they have ended: it is not judged"]),
    "a composite without groups": ([composite("c")], ["CompositePodGroup default/c: it has no pods, or they have ended: it is not judged"]),
    "a group of another scheduler without pods": (
        [manifest("PodGroup", "scheduling.volcano.sh/v1beta1", "v", minMember=9)],
        ["PodGroup default/v: it has no pods, or they have ended: it is not judged"],
    ),
    "new pods with a node name": (
        [on_node("n1")],
        ["ReplicaSet default/web: its pod template sets nodeName, so its pods are not scheduled: they are not judged"],
    ),
    "a pod that is defined several times": (
        [pod("p"), pod("p", cpu="3")],
        ["Pod default/p: is defined several times with different content; the one that sorts first as JSON is used"],
    ),
}


@pytest.mark.parametrize(("mine", "why"), UNJUDGED.values(), ids=UNJUDGED)
def test_what_is_not_judged_is_no_success(mine, why):
    status, answer = judged([*mine, job(1)], NODES)
    assert (2, "fits", why) == (status, answer["verdict"], [f"{each['object']}: {each['reason']}" for each in answer["skipped"]])


def test_groups_with_pods_are_judged():
    leaf = gang("g", 1)
    leaf["metadata"]["uid"], leaf["spec"]["parentCompositePodGroupName"] = "uid-g", "c"
    tree = [composite("c"), leaf, pod("p", group="g")]
    assert (0, []) == ((answer := judged([*tree, gang("h", 1), pod("q", group="h"), pod("r", on="n1")], NODES))[0], answer[1]["skipped"])


def test_nodes_of_two_clusters_are_no_success():
    status, answer = judged([job(1)], [*NODES, node("n1", cpu="64")])
    assert (2, ["Node n1"]) == (status, [each["object"] for each in answer["problems"]])


NO_PODS = {
    "no replicas": (deployment(0), "Deployment default/web: it creates no pods now"),
    "a job that has ended": (
        {**job(2), "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
        "Job default/train: it has ended and creates no more pods",
    ),
}


@pytest.mark.parametrize(("mine", "why"), NO_PODS.values(), ids=NO_PODS)
def test_an_object_without_pods_is_named(mine, why):
    assert f"nothing to judge: {why}" == message([mine], NODES)
    assert [why] == [f"{each['object']}: {each['message']}" for each in judged([mine, pod("p")], NODES)[1]["notes"]]


def test_an_attribute_that_no_device_has_is_reported():
    slices = [device_slice("n1", device("d", {"clique": "c1"}))]
    found = fit([job(1)], [node("n1"), *slices], "--device-topology", f"{DRIVER}/cliqe")

    assert any(f'did you mean "{DRIVER}/clique"?' in " ".join(str(each).split()) for each in found)


def tainted(name, key, **labels):
    return {**node(name, cpu="8", **labels), "spec": {"taints": [{"key": key, "value": "v" * 60, "effect": "NoSchedule"}]}}


@pytest.mark.parametrize(
    ("labelled", "named"),
    [
        pytest.param((), "node selector team=true, which 2 of 4 nodes do not match, were dropped", id="the selector"),
        pytest.param(("t0",), "untolerated taints: t0=", id="a taint of a node that is selected"),
    ],
)
def test_the_line_names_the_cause_that_the_change_removes(labelled, named):
    nodes = [tainted(name, name, **({"team": "true"} if name in labelled else {})) for name in ("t0", "t1")]
    nodes += [node(name, cpu="8") for name in ("n0", "n1")]
    line = message([pod("web", nodeSelector={"team": "true"})], nodes)

    assert named in line, line


def test_what_fits_without_devices_loads_no_search_for_changes_or_devices():
    files = [saved("mine.json", [job(2)]), "--objects", saved("cluster.json", NODES)]
    code = "import sys; from muster.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code, "fit", *files], capture_output=True, text=True, check=False)
    loaded = set(ran.stderr.split())

    assert "scheduler_core.exact.complete" in loaded
    assert not loaded & {
        "scheduler_core.whatif.trial.trial",
        "scheduler_core.cel.selector",
        "scheduler_core.plugins.devices.assumed_claims",
        "scheduler_core.cluster.device_store",
    }


@pytest.mark.parametrize(
    ("name", "options", "status"),
    [
        ("a" * 58, ("--kubernetes", "1.37"), 1),
        ("a" * 58, ("--kubernetes", "1.38"), 0),
        ("train.v1", ("--kubernetes", "1.38"), 1),
        ("train.v1", ("--kubernetes", "1.38", "--gates", "WorkloadWithJob=false"), 0),
    ],
)
def test_a_job_whose_workload_is_refused_gets_no_pods(name, options, status):
    made = ranked("Job", 2)
    made["metadata"]["name"] = name
    found, text = fit([made], NODES, *options)
    assert status == found, text
    assert ("neither a group nor pods" in text) is bool(status)


CRITICAL = {"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"}
WHOLE = {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}


@pytest.mark.parametrize(
    ("group", "accepted"),
    [({"schedulingPolicy": {"basic": {}}, **CRITICAL}, "1.38"), (WHOLE, "1.37")],
    ids=["critical", "all-without-gang"],
)
@pytest.mark.parametrize("command", ["fit", "simulate"])
def test_new_groups_are_judged_by_the_version(command, group, accepted):
    mine = [
        manifest("PodGroup", "scheduling.k8s.io/v1beta1", "g", **group),
        pod("p", group="g", **(CRITICAL if "priority" in group else {})),
    ]
    for version in ("1.37", "1.38"):
        if command == "fit":
            status = fit(mine, NODES, "--kubernetes", version)[0]
        else:
            status = CliRunner().invoke(cli.main, ["simulate", saved("all.json", [*NODES, *mine]), "--kubernetes", version]).exit_code
        assert (status == 0) is (version == accepted), version


def test_a_new_slice_is_judged_by_the_version():
    slice_ = device_slice("n1", device("d", attributes={"a/b/c": 1}))
    assert [0, 1] == [fit([slice_, pod("p")], NODES, "--kubernetes", version)[0] for version in ("1.37", "1.38")]
