"""``muster compile --build``: the very objects that mode build of the sidecar creates."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from kubeapi.groups import TREE_KINDS
from kubeapi.pods import group_in
from kubeapi.versions import served_versions
from muster import cli
from workloadbuilder.adapters.group_objects import desired
from workloadbuilder.adapters.shared.known_objects import Known

CASES = Path(__file__).parents[1] / "cases" / "controllers"
NAMES = sorted(each.stem for each in CASES.glob("*.yaml"))
UID = "4ff0d7e5-6a3b-4c53-9bd5-9a0fd2f0a0f1"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec: {parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, image: train}]}}}
"""
CLUSTERS = {"RayJob": ("spec", "rayClusterSpec"), "RayService": ("spec", "rayClusterConfig")}
"""Kinds whose controller creates a RayCluster, with the path of its specification."""


def compiled(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.main, ["compile", "--build", *arguments], input=stdin)


def made(answer: Result) -> list[str]:
    """Kind and name of each document."""
    return [f"{each['kind']} {each['metadata']['name']}" for each in yaml.safe_load_all(answer.stdout) if each]


def changed(**keys: object) -> str:
    """The Job with further keys of its metadata."""
    manifest = yaml.safe_load(JOB)
    manifest["metadata"] |= keys
    return json.dumps(manifest)


def told(answer: Result) -> list[str]:
    """The lines of the report, without the place, and without that about uids."""
    return [line.partition(": ")[2] for line in answer.stderr.splitlines() if "no uid yet" not in line]


def built_kind(manifest: dict) -> dict:
    """The object itself, or the RayCluster that its controller creates."""
    if manifest["kind"] not in CLUSTERS:
        return manifest
    first, second = CLUSTERS[manifest["kind"]]
    metadata = {key: manifest["metadata"][key] for key in ("name", "labels") if key in manifest["metadata"]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": manifest[first][second]}


@pytest.mark.parametrize("api", served_versions.groups_of("Workload"))
@pytest.mark.parametrize("name", NAMES)
def test_the_objects_are_those_that_the_sidecar_creates(name, api):
    *others, manifest = yaml.safe_load_all((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    child = built_kind(manifest)
    if child is manifest:
        manifest["metadata"]["uid"] = UID
    version = served_versions.named(api, "v1beta1")
    want = desired(copy.deepcopy(child), Known([child], others), version)
    assert want is not None
    assert want.objects

    answer = compiled("-", "--api", api, stdin=yaml.safe_dump_all([*others, manifest]))

    assert [*want.objects] == [*yaml.safe_load_all(answer.stdout)], answer.stderr
    assert {api} == {each["apiVersion"].partition("/")[0] for each in want.objects}


def test_pods_come_with_their_groups():
    answer = compiled("-", "--pods", stdin=JOB)

    pods = [each for each in yaml.safe_load_all(answer.stdout) if each["kind"] not in TREE_KINDS]
    assert ["train-job-root"] * 2 == [group_in(each) for each in pods]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(JOB.replace("parallelism: 2", "parallelism: 2, suspend: true"), "it is suspended", id="suspended"),
        pytest.param(
            JOB.replace("{spec: {", "{spec: {schedulerName: volcano, "),
            "its pods are of another scheduler: volcano",
            id="another scheduler",
        ),
        pytest.param(changed(labels={"muster.dev/groups": "none"}), "its label muster.dev/groups=none excludes it", id="excluded"),
        pytest.param(
            changed(
                ownerReferences=[{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "a", "uid": "u", "controller": True}]
            ),
            "its pods are in the groups of its controller",
            id="of a JobSet",
        ),
    ],
)
def test_the_reason_for_no_groups(text, want):
    answer = compiled("-", stdin=text)

    assert (0, "") == (answer.exit_code, answer.stdout)
    assert [f"note Job ml/train: nothing is created: {want}"] == told(answer)


def test_a_kind_without_groups_of_mode_build():
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, template: {spec: {containers: [{name: a, image: a}]}}}\n"
    clique = "{roleName: a, replicas: 1, podSpec: {containers: [{name: a, image: a}]}}"
    cliques = (
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: c}\nspec: {template: {cliques: [{name: a, spec: "
        + clique
        + "}]}}\n"
    )

    answer = compiled("-", stdin=f"{deployment}---\n{cliques}")

    assert [
        "note Deployment web: nothing is created: it needs the label muster.dev/groups=build itself",
        "note PodCliqueSet c: nothing is created: mode build creates no groups for PodCliqueSet objects",
    ] == told(answer)
    labelled = deployment.replace("{name: web}", "{name: web, labels: {muster.dev/groups: build}}")
    assert [
        "error Deployment web: Invalid value: the pods of different groups have the same labels: web-deployment; pods without a group"
    ] == told(compiled("-", stdin=labelled))
    told_apart = labelled.replace("template: {", "template: {metadata: {labels: {app: web}}, ")
    assert ["Workload web", "PodGroup web-deployment"] == made(compiled("-", stdin=told_apart))


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [
        ("min-count", "many", 'Invalid value: "many": must be a whole number of at least 1'),
        ("min-count", "9", 'Invalid value: "9": must not be greater than the number of pods (2)'),
        ("disruption-mode", "none", 'Invalid value: "none": must be single or all'),
        ("topology", "no label", 'Invalid value: "no label": '),
    ],
)
def test_an_annotation_with_a_bad_value_is_refused_at_its_path(key, value, want):
    answer = compiled("-", stdin=changed(annotations={f"muster.dev/{key}": value}))

    assert 1 == answer.exit_code
    (line,) = told(answer)
    assert line.startswith(f"error Job ml/train: metadata.annotations[muster.dev/{key}]: {want}")


def test_objects_of_the_same_name_get_names_of_their_own():
    jobset = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train, namespace: ml}\nspec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: {containers: [{name: main, image: train}]}}}}}]}\n"
    answer = compiled("-", stdin=f"{JOB}---\n{jobset}")

    assert 0 == answer.exit_code
    names = made(answer)
    assert len(set(names)) == len(names) == 5
    assert all(each["metadata"]["labels"] for each in yaml.safe_load_all(answer.stdout))


def test_a_controller_that_has_created_a_workload_is_left_alone():
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": UID, "controller": True}
    workload = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload"}
    workload["metadata"] = {"name": "train-1", "namespace": "ml", "ownerReferences": [owner]}
    answer = compiled("-", stdin=f"{json.dumps(workload)}\n---\n{changed(uid=UID)}")

    assert ["note Job ml/train: nothing is created: its controller creates its groups"] == told(answer)


def test_child_jobs_do_not_create_the_groups():
    answer = compiled("-", "--delegated", stdin=JOB)

    assert 2 == answer.exit_code
    assert "--build and --delegated exclude each other: mode build creates all groups itself" in answer.stderr
