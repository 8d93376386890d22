"""Compiling a Job that another object owns: the group that it uses."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, names, parents, pods, sound

OWNED = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train-workers-1
  namespace: research
  labels: {jobset.sigs.k8s.io/job-index: "1", jobset.sigs.k8s.io/replicatedjob-replicas: "2"}
  annotations: {scheduling.k8s.io/group-template-name: workers, scheduling.k8s.io/parent-compositepodgroup: train-jobset-root}
  ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: train, uid: set-1, controller: true}]
spec:
  parallelism: 2
  template: {spec: {containers: [{name: main, image: train}]}}
"""
WORKLOAD = """
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train, namespace: research}
spec:
  controllerRef: {apiGroup: jobset.x-k8s.io, kind: JobSet, name: train}
  compositePodGroupTemplates:
  - name: jobset-root
    schedulingPolicy: {basic: {}}
    podGroupTemplates:
    - {name: workers, schedulingPolicy: {gang: {minCount: 2}}}
"""
JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: research}
spec: {replicatedJobs: [{name: workers, template: {spec: {parallelism: 2, template: {spec: {containers: []}}}}}]}
"""


def test_a_child_gets_the_group_that_its_annotations_name():
    result = sound(OWNED, further=WORKLOAD, groups=True, pods=True)

    assert [] == names(result, "Workload")
    assert {"train-workers-1": "train-jobset-root"} == parents(result)
    assert {"gang": {"minCount": 2}} == result.objects[0]["spec"]["schedulingPolicy"]
    assert {"train-workers-1-0": "train-workers-1", "train-workers-1-1": "train-workers-1"} == pods(result)


def test_a_child_that_cannot_be_distinguished_has_the_group_of_the_job_controller():
    unlabelled = "\n".join(line for line in OWNED.splitlines() if "labels:" not in line)

    assert {"train-workers-6f67d86588": "train-jobset-root"} == parents(sound(unlabelled, further=WORKLOAD, groups=True))


@pytest.mark.parametrize(
    ("text", "further", "want"),
    [
        pytest.param(
            OWNED,
            "",
            "its group needs the Workload of its controller, JobSet train, which is not in the input",
            id="the Workload is not there",
        ),
        pytest.param(
            f"{OWNED}---{JOBSET}",
            WORKLOAD,
            "its groups are created with those of its controller, JobSet train",
            id="the parent is compiled",
        ),
        pytest.param(
            "\n".join(line for line in OWNED.splitlines() if "annotations:" not in line),
            WORKLOAD,
            "the Job controller of Kubernetes 1.37 creates no group for a Job with a controller (JobSet train)",
            id="without a link",
        ),
    ],
)
def test_a_child_gets_no_workload(text, further, want):
    result = sound(text, further=further, groups=True, pods=want.startswith("its"))

    assert ((), want) == (result.objects, result.skipped)


def test_a_link_to_a_template_that_is_not_there_is_refused():
    wrong = OWNED.replace("group-template-name: workers", "group-template-name: worker")

    assert [
        'metadata.annotations[scheduling.k8s.io/group-template-name]: Not found: "worker": podGroupTemplate "worker" not found in workload "train" (have [workers])'
    ] == error_lines(compiled(wrong, further=WORKLOAD, groups=True).errors)


def test_a_cronjobs_job_has_no_group_unless_it_asks_for_one_from_1_38_on():
    text = OWNED.replace("jobset.x-k8s.io/v1alpha2, kind: JobSet", "batch/v1, kind: CronJob").replace("annotations: {", "annotations: {} #")
    asking = text.replace("spec:\n", "spec:\n  scheduling: {schedulingPolicy: {gang: {}}}\n", 1)

    assert [["train-workers-1"] if minor == 38 else [] for minor in (37, 38)] == [
        names(sound(asking, groups=True, kubernetes=minor), "Workload") for minor in (37, 38)
    ]
    assert [[], []] == [names(sound(text, groups=True, kubernetes=minor), "Workload") for minor in (37, 38)]
    assert "Kubernetes 1.37 creates no group for a Job with a controller (CronJob train)" in sound(asking).skipped


NAMED = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train-0
  namespace: research
  annotations: {scheduling.k8s.io/workload-name: leaves, scheduling.k8s.io/group-template-name: workers}
spec:
  parallelism: 2
  template: {spec: {containers: [{name: main, image: train}]}}
"""
LEAVES = """
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: leaves, namespace: research}
spec:
  podGroupTemplates:
  - {name: workers, schedulingPolicy: {gang: {minCount: 2}}}
"""


def test_a_job_without_an_owner_names_its_workload_from_1_38_on():
    before, after = (sound(NAMED, further=LEAVES, groups=True, kubernetes=minor) for minor in (37, 38))

    assert ["train-0"] == names(before, "Workload")
    assert [] == names(after, "Workload")
    assert {"workloadName": "leaves", "templateName": "workers"} == after.objects[0]["spec"]["workloadRef"]


def test_jobs_of_one_template_have_groups_of_their_own_from_1_38_on():
    other = NAMED.replace("train-0", "train-1")
    groups = [names(sound(each, further=LEAVES, groups=True, kubernetes=38), "PodGroup") for each in (NAMED, other)]

    assert groups[0] != groups[1]
    with_uid = NAMED.replace("name: train-0", "name: train-0\n  uid: uid-1")
    assert ["leaves-workers-84578459db"] == names(sound(with_uid, further=LEAVES, groups=True, kubernetes=38), "PodGroup")


def test_children_of_a_jobset_name_what_their_version_requires():
    for minor, more in ((37, set()), (38, {"scheduling.k8s.io/workload-name"})):
        result = sound(JOBSET, groups=True, delegated=True, kubernetes=minor)
        linkage = {"scheduling.k8s.io/group-template-name", "scheduling.k8s.io/parent-compositepodgroup"} | more
        (child,) = (each for each in result.objects if each["kind"] == "Job")
        assert linkage == {key for key in child["metadata"]["annotations"] if key.startswith("scheduling.k8s.io/")}
        composites = {each["apiVersion"] for each in result.objects if each["kind"] == "CompositePodGroup"}
        assert {"scheduling.k8s.io/v1beta1" if minor == 38 else "scheduling.k8s.io/v1alpha3"} == composites
