"""Compiling a JobSet: its tree, its pods, delegation, exclusive topology and limits."""

from __future__ import annotations

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, parents, pods, root, sound, sources
from tests.workloadbuilder.adapters.jobsets import EXCLUSIVE, JOBSET, NESTED, jobset


def test_a_jobset_that_says_nothing_is_basic_on_all_levels():
    result = sound(jobset(), groups=True)

    basic = {"basic": {}}
    assert {
        "name": "jobset-root",
        "schedulingPolicy": basic,
        "podGroupTemplates": [{"name": "driver", "schedulingPolicy": basic}, {"name": "workers", "schedulingPolicy": basic}],
    } == root(result)
    assert {
        "train-jobset-root": "",
        "train-driver": "train-jobset-root",
        "train-workers-0": "train-jobset-root",
        "train-workers-1": "train-jobset-root",
        "train-workers-2": "train-jobset-root",
    } == parents(result)


@pytest.mark.parametrize(
    "given", [{"nested": "schedulingPolicy: {gang: {}}"}, {"targeted": "schedulingPolicy: {gang: {}}"}], ids=["option A", "option B"]
)
def test_both_shapes_of_the_document_say_the_same(given):
    result = sound(jobset(at_root="schedulingPolicy: {gang: {}}", **given))

    assert {
        "jobset-root": {"schedulingPolicy": "gang, minGroupCount 4 (callback)"},
        "driver": {"schedulingPolicy": "basic (default)"},
        "workers": {"schedulingPolicy": "gang, minCount 4 (callback)"},
    } == sources(result)


def test_a_replicated_job_without_replicas_makes_no_group():
    result = sound(jobset(at_root="schedulingPolicy: {gang: {}}").replace("replicas: 3", "replicas: 0"), groups=True)

    assert {"gang": {"minGroupCount": 1}} == root(result)["schedulingPolicy"]
    assert ["train-driver"] == names(result, "PodGroup")


def nine(count: int) -> str:
    job = "{name: job-%d, template: {spec: {template: {spec: {containers: []}}}}}"
    return JOBSET.partition("  scheduling")[0] + "  replicatedJobs: [" + ", ".join(job % number for number in range(count)) + "]\n"


def test_eight_replicated_jobs_are_as_many_as_there_may_be():
    assert [] == error_lines(compiled(nine(8)).errors)
    assert ["spec.replicatedJobs: Too many: 9: must have at most 8 items"] == error_lines(compiled(nine(9)).errors)


def test_scheduling_in_two_places_is_reported():
    text = jobset(targeted="schedulingPolicy: {gang: {}}", target="driver", nested="schedulingPolicy: {gang: {}}")

    assert [
        (
            f"{NESTED}: Invalid value: the JobSet has scheduling blocks both here and at the root in spec.scheduling.replicatedJobPolicies: "
            "use only one of the two"
        )
    ] == error_lines(sound(text).warnings)


def test_pods_are_named_and_labelled_as_the_controllers_do():
    result = sound(jobset().replace("replicas: 3", "replicas: 2").replace("parallelism: 4", "parallelism: 2"), groups=True, pods=True)

    assert {
        "train-driver-0-0": "train-driver",
        "train-workers-0-0": "train-workers-0",
        "train-workers-0-1": "train-workers-0",
        "train-workers-1-0": "train-workers-1",
        "train-workers-1-1": "train-workers-1",
    } == pods(result)
    labels = result.objects[-1]["metadata"]["labels"]
    assert {
        "jobset.sigs.k8s.io/jobset-name": "train",
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/group-name": "default",
        "jobset.sigs.k8s.io/group-replicas": "3",
        "jobset.sigs.k8s.io/job-group-index": "2",
        "jobset.sigs.k8s.io/replicatedjob-replicas": "2",
        "jobset.sigs.k8s.io/global-replicas": "3",
        "jobset.sigs.k8s.io/job-index": "1",
        "jobset.sigs.k8s.io/job-global-index": "2",
        "jobset.sigs.k8s.io/restart-attempt": "0",
        "jobset.sigs.k8s.io/job-key": "63b9fcb8cbb0fe6ea2c8d1eb5d7a6ad0df0a8b7d",
        "batch.kubernetes.io/job-name": "train-workers-1",
        "job-name": "train-workers-1",
        "batch.kubernetes.io/job-completion-index": "1",
    }.keys() == labels.keys()
    assert ["1", "2", "train-workers-1"] == [
        labels["jobset.sigs.k8s.io/job-index"],
        labels["jobset.sigs.k8s.io/job-global-index"],
        labels["job-name"],
    ]


def test_jobs_of_one_group_name_are_numbered_together():
    result = sound(jobset().replace("- name: workers", "- name: workers\n    groupName: learners"), pods=True)
    labels = [each["metadata"]["labels"] for each in result.objects if each["kind"] == "Pod"]

    prefix = "jobset.sigs.k8s.io"
    found = {tuple(each[f"{prefix}/{name}"] for name in ("group-name", "group-replicas", "job-group-index")) for each in labels}
    assert {("default", "1", "0"), *(("learners", "3", str(index)) for index in range(3))} == found


def test_pods_name_the_coordinator_and_count_restarts():
    text = jobset().replace("spec:\n", "spec:\n  coordinator: {replicatedJob: driver}\n  network: {subdomain: net}\n", 1)
    pod = sound(f"{text}status: {{restarts: 2}}\n", pods=True).objects[-1]

    want = {"jobset.sigs.k8s.io/coordinator": "train-driver-0-0.net", "jobset.sigs.k8s.io/restart-attempt": "2"}
    assert want.items() <= pod["metadata"]["labels"].items()
    assert want.items() <= pod["metadata"]["annotations"].items()


def test_delegated_the_jobs_name_their_groups():
    result = sound(jobset(nested="schedulingPolicy: {gang: {}}").replace("replicas: 3", "replicas: 2"), groups=True, delegated=True)

    assert (["train-jobset-root"], []) == (names(result, "CompositePodGroup"), names(result, "PodGroup"))
    assert ["train-driver-0", "train-workers-0", "train-workers-1"] == names(result, "Job")
    job = result.objects[-1]
    annotations = job["metadata"]["annotations"]
    assert ["workers", "train-jobset-root"] == [
        annotations["scheduling.k8s.io/group-template-name"],
        annotations["scheduling.k8s.io/parent-compositepodgroup"],
    ]
    assert "scheduling" not in job["spec"]
    assert (4, "Indexed") == (job["spec"]["parallelism"], job["spec"]["completionMode"])


def test_delegated_and_central_make_the_same_groups():
    text = jobset(nested="schedulingPolicy: {gang: {}}").replace("name: train,", "name: train, uid: set-1,")
    central = {each["metadata"]["name"]: each["spec"] for each in sound(text, groups=True).objects if each["kind"] == "PodGroup"}
    remaining = sound(text, groups=True, delegated=True).objects
    workload = yaml.safe_dump(remaining[0])
    created = [sound(yaml.safe_dump(job), further=workload, groups=True).objects[0] for job in remaining if job["kind"] == "Job"]

    assert central == {each["metadata"]["name"]: each["spec"] for each in created}


def test_exclusive_topology_is_a_default_constraint_of_each_job():
    result = sound(EXCLUSIVE, pods=True)

    at = "metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]"
    assert [{"topology": [{"key": "rack"}]}] * 2 == [each["schedulingConstraints"] for each in root(result)["podGroupTemplates"]]
    assert [at] == sorted(set(lost_fields(result)))
    affinities = {each["metadata"]["name"]: "affinity" in each["spec"] for each in result.objects if each["kind"] == "Pod"}
    assert (True, False) == (affinities["train-workers-2-0"], affinities["train-workers-2-1"])


@pytest.mark.parametrize(
    ("policy", "by_labels", "want"),
    [
        pytest.param("gang: {}", False, 1, id="of all pods"),
        pytest.param("gang: {minCount: 1}", False, 0, id="of the first pod"),
        pytest.param("basic: {}", False, 0, id="no gang"),
        pytest.param("gang: {}", True, 0, id="by labels of nodes"),
    ],
)
def test_a_gang_of_a_job_whose_pods_follow_its_first_one_gets_a_warning(policy, by_labels, want):
    """JobSet's webhook refuses the others until the first one has a node."""
    text = jobset(nested=f"schedulingPolicy: {{{policy}}}")
    further = ", alpha.jobset.sigs.k8s.io/node-selector: 'true'" if by_labels else ""
    exclusive = f"name: train, annotations: {{alpha.jobset.sigs.k8s.io/exclusive-topology: rack{further}}},"
    result = sound(text.replace("name: train,", exclusive))

    assert want == sum("only when the first one is placed" in str(each) for each in result.warnings)


def test_exclusive_topology_by_labels_of_nodes():
    text = EXCLUSIVE.replace("topology: rack}", "topology: rack, alpha.jobset.sigs.k8s.io/node-selector: 'true'}")
    pod = sound(text, pods=True).objects[-1]

    assert {"alpha.jobset.sigs.k8s.io/namespaced-job": "research_train-workers-2"} == pod["spec"]["nodeSelector"]
    assert "affinity" not in pod["spec"]


def test_kueue_wants_all_jobs_of_a_replicated_job_in_one_domain():
    annotated = jobset().replace(
        "parallelism: 4, template: {",
        "parallelism: 4, template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, ",
    )
    result = sound(annotated, groups=True)

    (podset,) = root(result)["compositePodGroupTemplates"]
    assert ("workers-podset", {"topology": [{"key": "rack"}]}) == (podset["name"], podset["schedulingConstraints"])
    assert ["driver"] == [each["name"] for each in root(result)["podGroupTemplates"]]
    assert 3 == len([each for each in parents(result).values() if each.endswith("workers-podset")])
    assert [] == lost_fields(result)
    one = root(sound(annotated.replace("replicas: 3", "replicas: 1")))["podGroupTemplates"][1]
    assert {"topology": [{"key": "rack"}]} == one["schedulingConstraints"]


def test_a_suspended_jobset_is_compiled_and_reported():
    result = sound(jobset() + "  suspend: true\n", pods=True)

    assert ["spec.suspend: Invalid value: true: the JobSet is suspended: its pods are created when it is resumed"] == error_lines(
        result.warnings
    )
    assert 13 == len(pods(result))


def test_a_jobset_of_a_trainjob_has_the_groups_of_its_own_policies():
    """A TrainJob that is compiled has them, with those that its runtime demands."""
    owner = "ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: tune, uid: x, controller: true}]"
    text = jobset(nested="schedulingPolicy: {gang: {}}").replace("namespace: research", f"namespace: research, {owner}")
    train_job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: tune, namespace: research}\nspec: {}\n"

    assert sources(sound(jobset(nested="schedulingPolicy: {gang: {}}"))) == sources(sound(text))
    result = compiled(f"{text}---\n{train_job}")
    assert ((), "its groups are created with those of its controller, TrainJob tune") == (result.objects, result.skipped)


@pytest.mark.parametrize(("kubernetes", "effect"), [(37, "its pods would have no group"), (38, "it would create no pods either")])
def test_groups_that_no_job_controller_would_make_are_warned_of(kubernetes, effect):
    """It reads only the top of a Workload, and a JobSet's templates are below its root."""
    result = compiled(jobset(nested="schedulingPolicy: {gang: {}}"), groups=True, delegated=True, kubernetes=kubernetes)

    error_lines = [str(each) for each in result.warnings if "creates no PodGroup" in str(each)]
    assert [True, True] == [f'"{name}"' in each and effect in each for name, each in zip(("driver", "workers"), error_lines, strict=True)]
