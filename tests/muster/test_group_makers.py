"""Which Jobs get a group, by version of Kubernetes and feature gates; and names of groups of objects without uids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import RACK, node
from tests.muster.test_own_groups import KINDS, fit, named
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", **{RACK: "a"}), node("n2", **{RACK: "b"})]
"""Each has room for two of the pods."""
WANTED = {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}


def owned_by(api_version: str, kind: str) -> Json:
    reference = {"apiVersion": api_version, "kind": kind, "name": "above", "uid": "u", "controller": True}
    return job(3, scheduling=WANTED, metadata={"uid": "j", "ownerReferences": [reference]})


def cron_job(**spec: Any) -> Json:
    template = {"parallelism": 3, "completions": 3, "template": RUN_ONCE, **spec}
    return manifest("CronJob", "batch/v1", "nightly", schedule="@daily", jobTemplate={"spec": template})


WITH_CONTROLLER = {
    "of a workflow": owned_by("argoproj.io/v1alpha1", "Workflow"),
    "of a CronJob": owned_by("batch/v1", "CronJob"),
    "of an unknown kind": owned_by("example.com/v1", "Pipeline"),
    "of a Deployment": owned_by("apps/v1", "Deployment"),
    "that a CronJob creates next": cron_job(scheduling=WANTED),
}


@pytest.mark.parametrize("mine", WITH_CONTROLLER.values(), ids=WITH_CONTROLLER)
def test_a_job_with_a_controller_has_a_group_from_1_38_on(mine):
    """A gang of three would need one rack, which has room for two."""
    status, before = fit([mine], NODES)
    assert (0, "fits", {"Pod"}) == (status, before["verdict"], {each["root"]["kind"] for each in before["decisions"]})
    told = [each["message"] for each in before["notes"] if "has no effect" in each["message"]]
    assert ["schedulingConstraints", "schedulingPolicy"] == [each.partition(":")[0].rpartition(".")[2] for each in told]
    assert all("Kubernetes 1.37 creates no group for a Job with a controller" in each for each in told)

    status, after = fit([mine], NODES, "--kubernetes", "1.38")
    assert (1, {"PodGroup"}) == (status, {each["root"]["kind"] for each in after["decisions"]})


def test_a_job_with_a_controller_that_asks_for_nothing_has_no_group_in_any_version():
    for minor in ("1.37", "1.38"):
        status, answer = fit([cron_job()], NODES, "--kubernetes", minor)
        assert (0, {"Pod"}) == (status, {each["root"]["kind"] for each in answer["decisions"]})
        assert not any("has no effect" in each["message"] for each in answer["notes"])


@pytest.mark.parametrize("mine", [job(3, scheduling=WANTED), *WITH_CONTROLLER.values()], ids=["without one", *WITH_CONTROLLER])
@pytest.mark.parametrize("minor", ["1.37", "1.38"])
def test_no_job_has_a_group_without_the_gate(mine, minor):
    status, answer = fit([mine], NODES, "--kubernetes", minor, "--gates", "WorkloadWithJob=false")

    assert (0, {"Pod"}) == (status, {each["root"]["kind"] for each in answer["decisions"]})
    assert 2 == sum("the feature gate WorkloadWithJob is off" in each["message"] for each in answer["notes"])


@pytest.mark.parametrize("options", [(), ("--gates", "WorkloadWithJob=false")], ids=["owned", "without the gate"])
def test_a_constraint_of_kueue_on_a_job_without_a_group_is_judged(options):
    constrained = {"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}}, "spec": RUN_ONCE["spec"]}

    status, answer = fit([cron_job(template=constrained)], NODES, *options)
    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert 0 == fit([cron_job(template=constrained)], [node("n1", cpu="8", **{RACK: "a"})], *options)[0]


def lws(name: str) -> Json:
    return manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", name, leaderWorkerTemplate={"workerTemplate": TEMPLATE})


def job_set(name: str, replicated: str) -> Json:
    return manifest(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        name,
        replicatedJobs=[{"name": replicated, "template": {"spec": {"parallelism": 1, "completions": 1, "template": RUN_ONCE}}}],
    )


def volcano_job(name: str) -> Json:
    return manifest("Job", "batch.volcano.sh/v1alpha1", name, minAvailable=1, tasks=[{"name": "t", "replicas": 1, "template": RUN_ONCE}])


SAME_NAMES = {
    "a Job and a LeaderWorkerSet": [job(1), lws("train")],
    "a Job and a JobSet": [job(1), job_set("train", "w")],
    "Jobs of two projects": [job(1), volcano_job("train")],
    "four kinds": [job(1), lws("train"), job_set("train", "w"), volcano_job("train")],
    "groups of two names": [job_set("a", "b-w"), job_set("a-b", "w")],
    "a Workload of another object": [
        job(1),
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {"podGroupTemplates": [{"name": "x", "schedulingPolicy": {"basic": {}}}]},
        },
    ],
}


@pytest.mark.parametrize("mine", SAME_NAMES.values(), ids=SAME_NAMES)
def test_objects_without_uids_never_have_the_same_groups(mine):
    nodes = [node(f"m{number}") for number in range(4)]
    with_pods = [each for each in mine if each["kind"] != "Workload"]
    (status, answer), (_, other) = fit(mine, nodes), fit(mine[::-1], nodes)

    assert (0, "fits", []) == (status, answer["verdict"], answer["skipped"])
    assert len(with_pods) == len(answer["decisions"])
    # The order of the input makes no difference.
    assert sorted(each["root"]["name"] for each in answer["decisions"]) == sorted(each["root"]["name"] for each in other["decisions"])

    Path("all.json").write_text("\n".join(map(json.dumps, with_pods)), encoding="utf-8")
    compiled = CliRunner().invoke(cli.main, ["compile", "--groups", "--pods", "all.json", "--format", "json"])
    assert 0 == compiled.exit_code
    made = [(each["kind"], each["metadata"]["name"]) for each in json.loads(compiled.stdout)["items"]]
    assert len(made) == len(set(made))
    assert len(with_pods) == sum(kind == "Workload" for kind, _ in made)


@pytest.mark.parametrize("kind", [each for each in KINDS if "gang of its own" not in each])
def test_a_group_of_kai_may_have_the_name_of_the_object_of_its_pods(kind):
    (mine, *further) = named(kind, {"annotations": {"pod-group-name": "mine"}})
    renamed = {**mine, "metadata": {**mine["metadata"], "name": "mine"}}
    group = manifest("PodGroup", "scheduling.run.ai/v2alpha2", "mine", minMember=4)

    status, answer = fit([group, renamed, *further], NODES)
    assert (0, "fits") == (status, answer["verdict"])
    assert 4 == len(answer["decisions"][0]["assignments"])


def test_pods_of_two_jobs_with_a_generated_name_are_all_compiled_into_their_group():
    template = {"metadata": {"annotations": {"pod-group-name": "mine"}}, "spec": RUN_ONCE["spec"]}
    made = [job(2, metadata={"name": "", "generateName": "w-"}) for _ in range(2)]
    for each in made:
        each["spec"]["template"] = template
        del each["metadata"]["name"]
    Path("all.json").write_text(
        "\n".join(map(json.dumps, [*made, manifest("PodGroup", "scheduling.run.ai/v2alpha2", "mine", minMember=4)])), encoding="utf-8"
    )

    compiled = CliRunner().invoke(cli.main, ["compile", "--groups", "--pods", "all.json", "--format", "json"])
    pods = [each for each in json.loads(compiled.stdout)["items"] if each["kind"] == "Pod"]
    assert (0, 4) == (compiled.exit_code, len({each["metadata"]["name"] for each in pods}))
    assert {"mine-podgroup-root"} == {each["spec"]["schedulingGroup"]["podGroupName"] for each in pods}
