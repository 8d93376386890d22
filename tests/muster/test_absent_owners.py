"""Objects whose owner is not in the input: what they carry decides on their groups."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.muster.simulated import RACK, node
from tests.muster.test_own_groups import fit
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", **{RACK: "a"}), node("n2", **{RACK: "b"})]
"""Each has room for two of the pods."""
IN_A_RACK = {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}
OWNERS = {
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "PodCliqueSet": "grove.io/v1alpha1",
}
JOBSET, EXCLUSIVE = "jobset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/exclusive-topology"


def owned(content: Json, kind: str, **annotations: str) -> Json:
    reference = {"apiVersion": OWNERS[kind], "kind": kind, "name": "above", "uid": "u", "controller": True}
    metadata = {**content["metadata"], "ownerReferences": [reference], "annotations": annotations}
    return {**content, "metadata": metadata}


def of_template(pods: int, pod_template: Json) -> Json:
    return manifest("Job", "batch/v1", "train", parallelism=pods, completions=pods, completionMode="Indexed", template=pod_template)


def template(**spec: Any) -> Json:
    return {**RUN_ONCE, "spec": {**RUN_ONCE["spec"], **spec}}


def marked(part: str, **marks: str) -> Json:
    return {**RUN_ONCE, "metadata": {part: marks}}


def job_set(pod_template: Json, **spec: Any) -> Json:
    replicated = {"name": "w", "template": {"spec": {"parallelism": 3, "completions": 3, "template": pod_template}}}
    return manifest("JobSet", "jobset.x-k8s.io/v1alpha2", "train", replicatedJobs=[replicated], **spec)


def roots(answer: Json) -> set[str]:
    return {each["root"]["kind"] for each in answer["decisions"]}


@pytest.mark.parametrize("kind", OWNERS)
def test_a_job_without_a_group_in_its_template_has_none_unless_it_asks_for_one_from_1_38_on(kind):
    for mine, minor, want in (
        (job(3), "1.37", (0, {"Pod"})),
        (job(3), "1.38", (0, {"Pod"})),
        (job(3, scheduling=IN_A_RACK), "1.37", (0, {"Pod"})),
        (job(3, scheduling=IN_A_RACK), "1.38", (1, {"PodGroup"})),
    ):
        status, answer = fit([owned(mine, kind)], NODES, "--kubernetes", minor)
        assert want == (status, roots(answer))


NAMES_A_GROUP = {
    "of Kubernetes": (owned(of_template(3, template(schedulingGroup={"podGroupName": "above"})), "JobSet"), "PodGroup default/above"),
    "of scheduler-plugins": (
        owned(job_set(marked("labels", **{"scheduling.x-k8s.io/pod-group": "above"})), "TrainJob"),
        "PodGroup default/above of scheduling.x-k8s.io",
    ),
    "of Volcano": (
        owned(of_template(3, marked("annotations", **{"scheduling.k8s.io/group-name": "above"})), "TrainJob"),
        "PodGroup default/above of scheduling.volcano.sh",
    ),
    "of KAI": (
        owned(
            manifest(
                "LeaderWorkerSet",
                "leaderworkerset.x-k8s.io/v1",
                leaderWorkerTemplate={"size": 3, "workerTemplate": {**TEMPLATE, "metadata": {"annotations": {"pod-group-name": "above"}}}},
            ),
            "PodCliqueSet",
        ),
        "PodGroup default/above of scheduling.run.ai",
    ),
}


@pytest.mark.parametrize(("mine", "missing"), NAMES_A_GROUP.values(), ids=NAMES_A_GROUP)
def test_a_group_that_the_owner_would_make_is_named_as_missing(mine, missing):
    status, answer = fit([mine], NODES)

    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert f"there is no {missing}, for which its pods wait" in json.dumps(answer)


def test_a_group_that_only_the_workload_of_the_owner_tells_is_not_judged():
    mine = owned(job(3), "JobSet", **{"scheduling.k8s.io/group-template-name": "w", "scheduling.k8s.io/workload-name": "above-1"})
    for minor, workload in (("1.37", "Workload of its controller, JobSet above"), ("1.38", "Workload above-1")):
        status, answer = fit([mine], NODES, "--kubernetes", minor)
        assert (2, "nothing-to-judge") == (status, answer["verdict"])
        assert f"its group needs the {workload}, which is not in the input" in json.dumps(answer)


def test_the_policies_of_an_owned_jobset_hold():
    confined = job_set(RUN_ONCE, scheduling={"replicatedJobPolicies": [{"targetReplicatedJob": "w", **IN_A_RACK}]})

    assert (0, {"CompositePodGroup"}) == ((found := fit([owned(job_set(RUN_ONCE), "TrainJob")], NODES))[0], roots(found[1]))
    assert 1 == fit([owned(confined, "TrainJob")], NODES)[0]


@pytest.mark.parametrize(("pods", "want"), [(2, 0), (3, 1)])
@pytest.mark.parametrize("kubernetes", ["1.37", "1.38"])
def test_pods_of_a_jobset_that_is_placed_exclusively_share_a_domain(pods, want, kubernetes):
    marks = {JOBSET + "jobset-name": "above", EXCLUSIVE: RACK}
    pod_template = {**RUN_ONCE, "metadata": {"annotations": marks, "labels": {JOBSET + "job-key": "k"}}}

    assert want == fit([owned(of_template(pods, pod_template), "JobSet")], NODES, "--kubernetes", kubernetes)[0]


def test_pods_with_a_node_selector_for_their_domain_need_no_affinity():
    marks = {JOBSET + "jobset-name": "above", EXCLUSIVE: RACK, "alpha.jobset.sigs.k8s.io/node-selector": "true"}
    pod_template = {**RUN_ONCE, "metadata": {"annotations": marks, "labels": {JOBSET + "job-key": "k"}}}

    assert 0 == fit([owned(of_template(3, pod_template), "JobSet")], NODES)[0]


def test_a_part_of_a_gang_names_what_is_missing():
    part = manifest("PodClique", "grove.io/v1alpha1", "w", roleName="w", replicas=2, podSpec=TEMPLATE["spec"])
    status, answer = fit([owned(part, "PodCliqueSet")], NODES)

    assert (2, "nothing-to-judge") == (status, answer["verdict"])
    assert "the gang of its PodCliqueSet, which is not in the input" in json.dumps(answer["skipped"])
