"""Objects whose pods are not certain: constraints that no group can have without ``--level``; kinds without ``--no-pods`` or ``--pod-template``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node, pod
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
CLUSTER = [node("n1", rack="a"), node("n2", rack="b")]
"""Each node has room for two of the pods."""
HARD = {"mode": "hard", "highestTierAllowed": 1}
ROOMY = {"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}, "spec": RUN_ONCE["spec"]}


def volcano_job(replicas: int = 2, **spec: Any) -> Json:
    return manifest("Job", "batch.volcano.sh/v1alpha1", "vj", tasks=[{"name": "w", "replicas": replicas, "template": RUN_ONCE}], **spec)


def clique_set(replicas: int = 2, **template: Any) -> Json:
    clique = {"name": "w", "spec": {"roleName": "w", "replicas": replicas, "podSpec": TEMPLATE["spec"]}}
    return manifest("PodCliqueSet", "grove.io/v1alpha1", "pcs", replicas=1, template={"cliques": [clique], **template})


def partitioned(topology: Json) -> Json:
    policy = {"totalPartitions": 1, "partitionSize": 2, "networkTopology": topology}
    return manifest(
        "Job",
        "batch.volcano.sh/v1alpha1",
        "vj",
        tasks=[{"name": "w", "replicas": 2, "template": RUN_ONCE, "partitionPolicy": policy}],
    )


def job_set(replicas: int) -> Json:
    entry = {"name": "w", "replicas": replicas, "template": {"spec": {"parallelism": 1, "completions": 1, "template": ROOMY}}}
    return manifest("JobSet", "jobset.x-k8s.io/v1alpha2", "js", replicatedJobs=[entry])


def answered(command: str, *mine: Json, more: tuple[str, ...] = ()) -> tuple[int, Json]:
    Path("mine.json").write_text("\n".join(map(json.dumps, mine)), encoding="utf-8")
    Path("cluster.json").write_text("\n".join(map(json.dumps, CLUSTER)), encoding="utf-8")
    found = CliRunner().invoke(cli.main, [command, "mine.json", "--objects", "cluster.json", "--format", "json", *more])
    return found.exit_code, json.loads(found.stdout)


DROPPED = {
    "a tier of Volcano": (volcano_job(networkTopology=HARD), "spec.networkTopology", ("--level", "1=rack")),
    "a tier of Volcano's default mode": (
        volcano_job(networkTopology={"highestTierAllowed": 1}),
        "spec.networkTopology",
        ("--level", "1=rack"),
    ),
    "a domain of Grove": (
        clique_set(topologyConstraint={"packDomain": "rack"}),
        "spec.template.topologyConstraint",
        ("--level", "rack=rack"),
    ),
    "a partition of Volcano": (partitioned(HARD), "spec.tasks[0].partitionPolicy.networkTopology", ("--level", "1=rack")),
}


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize(("mine", "path", "level"), DROPPED.values(), ids=DROPPED)
def test_an_object_without_its_required_constraint_is_skipped(command, mine, path, level):
    status, answer = answered(command, mine)
    skipped = [each["reason"] for each in answer["skipped"]] if command == "fit" else [each["message"] for each in answer["problems"]]
    assert (2, True) == (status, skipped[0].startswith(f"{path}: "))


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize(
    ("mine", "path", "level"), [each for each in DROPPED.values() if each[2]], ids=[k for k, v in DROPPED.items() if v[2]]
)
def test_a_level_gives_the_constraint_a_node_label(command, mine, path, level):
    status, answer = answered(command, mine, more=level)
    groups = [group for each in answer["decisions"] for group in each["groups"] if group.get("domain")]
    assert (0, {"rack"}) == (status, {group["domain"]["key"] for group in groups})


def test_a_gang_that_needs_one_domain_for_all_its_pods_does_not_fit_in_two():
    assert 0 == answered("fit", volcano_job(4))[0]
    assert 1 == answered("fit", volcano_job(4, networkTopology=HARD), more=("--level", "1=rack"))[0]
    assert 1 == answered("fit", clique_set(4, topologyConstraint={"packDomain": "rack"}), more=("--level", "rack=rack"))[0]


@pytest.mark.parametrize(
    "mine",
    [
        pytest.param(volcano_job(networkTopology={"mode": "soft", "highestTierAllowed": 1}), id="tier"),
        pytest.param(clique_set(topologyConstraint={"pack": {"preferred": "rack"}}), id="domain"),
        pytest.param(partitioned({"mode": "soft", "highestTierAllowed": 1}), id="partition"),
        pytest.param(job_set(1), id="one group"),
        pytest.param(job_set(2), id="several groups in one domain"),
    ],
)
def test_a_preference_or_a_constraint_that_is_kept_is_judged(mine):
    assert 0 == answered("fit", mine)[0]


def test_the_domain_of_gang_replaces_a_constraint_without_a_label():
    assert 0 == answered("fit", volcano_job(networkTopology=HARD), more=("--gang", "--topology", "rack"))[0]


def test_a_claim_that_volcano_creates_restricts_its_pods():
    claim = {"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    status, answer = answered("fit", volcano_job(volumes=[claim]))
    assert (1, True) == (status, "PersistentVolumeClaim" in answer["message"])


WIDGET = manifest("Widget", "example.com/v1", "w")


@pytest.mark.parametrize("command", ["fit", "simulate"])
def test_an_unknown_kind_is_skipped_unless_it_creates_no_pods(command):
    status, answer = answered(command, job(), WIDGET)
    assert (2, True) == (status, "give --no-pods Widget.example.com" in json.dumps(answer))
    for given in ("Widget", "Widget.example.com"):
        status, answer = answered(command, job(), WIDGET, more=("--no-pods", given))
        note = {"object": "Widget default/w", "message": "--no-pods: it is taken to create no pods", "reason": "TakenWithoutPods"}
        assert (0, [note]) == (status, answer["notes"])
    assert 2 == answered(command, job(), WIDGET, more=("--no-pods", "Widget.example.org"))[0]


def test_without_pods_there_is_nothing_to_judge():
    status, answer = answered("fit", WIDGET, more=("--no-pods", "Widget"))
    assert (2, "nothing-to-judge") == (status, answer["verdict"])


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (["--no-pods", "Job"], "'Job' is a kind that is read"),
        (["--no-pods", "Deployment.apps"], "is a kind that is read"),
        (["--no-pods", "widgets"], "must be KIND or KIND.GROUP"),
        (["--level", "rack"], "must be NAME=LABEL"),
        (["--level", "rack=a b"], "must be NAME=LABEL"),
    ],
)
def test_a_wrong_value_is_a_usage_error(given, want):
    for command in ("fit", "simulate"):
        found = CliRunner().invoke(cli.main, [command, "mine.json", *given])
        assert (2, True) == (found.exit_code, want in found.stderr)


def test_a_job_on_an_existing_ray_cluster_says_that_its_needs_there_are_not_known():
    ray_job = manifest("RayJob", "ray.io/v1", "rj", entrypoint="x", clusterSelector={"ray.io/cluster": "c"})
    note = "spec.clusterSelector: the job runs on a RayCluster that exists: what it needs there is not known"
    status, answer = answered("fit", ray_job)
    assert (0, [note]) == (status, [each["message"] for each in answer["notes"]])
    status, answer = answered("fit", {**ray_job, "spec": {**ray_job["spec"], "submissionMode": "HTTPMode"}})
    assert (2, ["it creates no pods now", note]) == (status, [each["message"] for each in answer["notes"]])


def test_a_version_that_is_not_served_is_the_reason_and_not_its_fields():
    old = manifest("JobSet", "jobset.x-k8s.io/v1alpha1", "js", jobs=[{"name": "w"}])
    status, answer = answered("fit", old)
    want = 'no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha1": the version must be v1alpha2; its pods are not simulated'
    assert (2, [want]) == (status, [each["reason"] for each in answer["skipped"]])


def test_notes_about_valid_fields_do_not_call_them_invalid():
    status, answer = answered("fit", {**job(), "spec": {**job()["spec"], "suspend": True}})
    assert (0, ["spec.suspend: the Job is suspended: its pods are created when it is resumed"]) == (
        status,
        [each["message"] for each in answer["notes"]],
    )


def test_standard_output_is_written_once():
    Path("mine.json").write_text(json.dumps(job()), encoding="utf-8")
    Path("cluster.json").write_text("\n".join(map(json.dumps, CLUSTER)), encoding="utf-8")
    arguments = ["fit", "mine.json", "--objects", "cluster.json"]
    once = CliRunner().invoke(cli.main, arguments).stdout
    assert once == CliRunner().invoke(cli.main, [*arguments, "-o", "text=-"]).stdout
    assert once + once == CliRunner().invoke(cli.main, [*arguments, "--format", "text", "-o", "text=-"]).stdout
    both = CliRunner().invoke(cli.main, [*arguments, "-o", "json=mine-answer.json"]).stdout
    assert (once, "fits") == (both, json.loads(Path("mine-answer.json").read_text(encoding="utf-8"))["verdict"])


def test_pods_of_a_pod_group_of_kueue_are_noted_unless_they_are_judged_as_a_gang():
    labels = {"kueue.x-k8s.io/pod-group-name": "g"}
    pods = [{**pod(name), "metadata": {**pod(name)["metadata"], "labels": labels}} for name in "ab"]
    notes = [each["message"] for each in answered("fit", *pods)[1]["notes"]]
    assert ["Kueue admits the pods of its pod groups together; here they are placed one by one: --gang judges them as one gang"] == notes
    assert not any("Kueue" in each["message"] for each in answered("fit", *pods, more=("--gang",))[1]["notes"])


def test_a_worker_group_that_is_suspended_is_noted():
    workers = {"groupName": "gpu", "replicas": 2, "suspend": True, "rayStartParams": {}, "template": TEMPLATE}
    ray = manifest("RayCluster", "ray.io/v1", "r", headGroupSpec={"rayStartParams": {}, "template": TEMPLATE}, workerGroupSpecs=[workers])
    status, answer = answered("fit", ray)
    want = "spec.workerGroupSpecs[0].suspend: the worker group is suspended: it has no pods"
    assert (0, [want]) == (status, [each["message"] for each in answer["notes"]])


FLEET = manifest(
    "Fleet",
    "example.com/v1",
    "f",
    groups=[{"size": 2, "pods": TEMPLATE}, {"pods": {**TEMPLATE, "metadata": {"labels": {"app": "y"}}}}],
    single=TEMPLATE["spec"],
)
DECLARED = {
    "a template": (["Fleet=spec.groups[0].pods"], {"f-0": "x"}),
    "with its number": (["Fleet.example.com=spec.groups[0].pods,replicas=spec.groups[0].size"], {"f-0": "x", "f-1": "x"}),
    "a specification without metadata": (["Fleet={.spec.single}"], {"f-0": None}),
    "all of a list, each with its number": (
        ["Fleet=spec.groups[*].pods,replicas=spec.groups[*].size"],
        {"f-0-0": "x", "f-0-1": "x", "f-1-0": "y"},
    ),
    "two paths": (["Fleet=spec.single", "Fleet=spec.groups[1].pods"], {"f-0-0": None, "f-1-0": "y"}),
}


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize(("given", "want"), DECLARED.values(), ids=DECLARED)
def test_pods_of_a_kind_whose_template_is_declared(command, given, want):
    status, answer = answered(command, FLEET, more=tuple(word for each in given for word in ("--pod-template", each)))
    placed = {pod.rpartition("/")[2] for each in answer["decisions"] for pod in each["assignments"]}
    assert (0, set(want)) == (status, placed)


@pytest.mark.parametrize(("given", "want"), DECLARED.values(), ids=DECLARED)
def test_declared_templates_are_compiled_with_their_labels_and_owner(given, want):
    Path("mine.json").write_text(json.dumps(FLEET), encoding="utf-8")
    options = [word for each in given for word in ("--pod-template", each)]
    made = json.loads(CliRunner().invoke(cli.main, ["compile", "mine.json", "--pods", "--format", "json", *options]).stdout)["items"]
    assert want == {each["metadata"]["name"]: each["metadata"].get("labels", {}).get("app") for each in made}
    assert {("Fleet", "f", True)} == {
        (owner["kind"], owner["name"], owner["controller"]) for each in made for owner in each["metadata"]["ownerReferences"]
    }


@pytest.mark.parametrize(
    ("given", "reason"),
    {
        "Fleet=spec.pods": "spec.pods is no field of it, so its pods are not known",
        "Fleet=spec.groups": 'spec.groups: Invalid value: "[…]": must be a mapping',
        "Fleet=spec.single,replicas=spec.groups": 'spec.groups: Invalid value: "[…]": must be an integer',
        "Fleet=spec.groups[0].size": "spec.groups[0].size: Invalid value: 2: must be a mapping",
        "Fleet=spec.groups[0]": "a pod template has no containers",
    }.items(),
)
def test_a_path_that_has_no_pod_template_is_no_success(given, reason):
    status, answer = answered("fit", FLEET, more=("--pod-template", given))
    assert 2 == status
    assert reason in answer["skipped"][0]["reason"]


def test_a_line_of_a_batch_has_pod_templates():
    line = {"id": 1, "objects": [*CLUSTER, FLEET], "options": {"podTemplate": ["Fleet=spec.groups[0].pods,replicas=spec.groups[0].size"]}}
    bad = {"id": 2, "objects": [], "options": {"podTemplate": ["Fleet=["]}}
    wrong = {"id": 3, "objects": [], "options": {"podTemplate": [1]}}
    Path("lines").write_text("\n".join(map(json.dumps, (line, bad, wrong))), encoding="utf-8")
    found = CliRunner().invoke(cli.main, ["simulate", "--batch", "lines"])
    good, *refused = map(json.loads, found.stdout.splitlines())
    assert (2, 2) == (found.exit_code, good["summary"]["pods"])
    words = ("option podTemplate: '[' is no path of names", "option podTemplate: must be a list of texts")
    assert [True, True] == [each["error"].startswith(word) for each, word in zip(refused, words, strict=True)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("Widget", "must be KIND[.GROUP]=PATH"),
        ("Widget=", "must be KIND[.GROUP]=PATH"),
        ("Widget=a,replicas=", "must be KIND[.GROUP]=PATH"),
        ("Widget=spec..a", "is no path of names"),
        ("widget=spec.a", "must be KIND or KIND.GROUP"),
        ("Job=spec.template", "'Job' is a kind that is read"),
        ("Widget=a.b,replicas=c[*]", "must have at most as many [*]"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "simulate", "compile"])
def test_a_declaration_that_is_none_is_a_mistake_of_the_user(command, given, why):
    found = CliRunner().invoke(cli.main, [command, "--pod-template", given, "x.yaml"])
    assert 2 == found.exit_code
    assert why in found.stderr
