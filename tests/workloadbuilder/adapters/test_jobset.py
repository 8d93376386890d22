"""JobSets: the tree, both shapes of scheduling, and what is refused."""

from __future__ import annotations

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, lost, names, parents, pods, root, sound, sources, told, unquoted

JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: research}
spec:
  scheduling: {}
  replicatedJobs:
  - name: driver
    template: {spec: {template: {spec: {containers: [{name: main, image: driver}]}}}}
  - name: workers
    replicas: 3
    template: {spec: {parallelism: 4, scheduling: {}, template: {spec: {containers: [{name: main, image: worker}]}}}}
"""
NESTED = "spec.replicatedJobs[1].template.spec.scheduling"
TARGETED = "spec.scheduling.replicatedJobPolicies[0]"
GANG = "{schedulingPolicy: {gang: {}}}"


def jobset(at_root: str = "", nested: str = "", targeted: str = "", target: str = "workers") -> str:
    """The JobSet with scheduling at the root, in the workers' Job template, and at the root for *target*."""
    inside = ", ".join(
        [at_root] * bool(at_root) + [f"replicatedJobPolicies: [{{targetReplicatedJob: {target}, {targeted}}}]"] * bool(targeted)
    )
    text = JOBSET.replace("  scheduling: {}\n", f"  scheduling: {{{inside}}}\n" if inside else "")
    return text.replace("scheduling: {}, template", f"scheduling: {{{nested}}}, template" if nested else "template")


def test_a_jobset_that_says_nothing_is_basic_on_all_levels():
    found = sound(jobset(), groups=True)

    basic = {"basic": {}}
    assert {
        "name": "jobset-root",
        "schedulingPolicy": basic,
        "podGroupTemplates": [{"name": "driver", "schedulingPolicy": basic}, {"name": "workers", "schedulingPolicy": basic}],
    } == root(found)
    assert {
        "train-jobset-root": "",
        "train-driver": "train-jobset-root",
        "train-workers-0": "train-jobset-root",
        "train-workers-1": "train-jobset-root",
        "train-workers-2": "train-jobset-root",
    } == parents(found)


@pytest.mark.parametrize(
    "given", [{"nested": "schedulingPolicy: {gang: {}}"}, {"targeted": "schedulingPolicy: {gang: {}}"}], ids=["option A", "option B"]
)
def test_both_shapes_of_the_document_say_the_same(given):
    found = sound(jobset(at_root="schedulingPolicy: {gang: {}}", **given))

    assert {
        "jobset-root": {"schedulingPolicy": "gang, minGroupCount 4 (callback)"},
        "driver": {"schedulingPolicy": "basic (default)"},
        "workers": {"schedulingPolicy": "gang, minCount 4 (callback)"},
    } == sources(found)


def test_a_replicated_job_without_replicas_makes_no_group():
    found = sound(jobset(at_root="schedulingPolicy: {gang: {}}").replace("replicas: 3", "replicas: 0"), groups=True)

    assert {"gang": {"minGroupCount": 1}} == root(found)["schedulingPolicy"]
    assert ["train-driver"] == names(found, "PodGroup")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            jobset(nested="schedulingPolicy: {gang: {}}", targeted="schedulingPolicy: {basic: {}}"),
            [f"{NESTED}: Invalid value: must be absent: {TARGETED} also sets the scheduling of replicated job 'workers'; remove one of the two"],
            id="wrapper and child both speak",
        ),
        pytest.param(
            jobset(targeted="schedulingPolicy: {gang: {}}", target="worker"),
            [f"{TARGETED}.targetReplicatedJob: Invalid value: \"worker\": must be the name of a replicated job; did you mean 'workers'?"],
            id="a replicated job that is not there",
        ),
        pytest.param(
            jobset(targeted="schedulingPolicy: {gang: {}}").replace("targetReplicatedJob: workers, ", ""),
            [f"{TARGETED}.targetReplicatedJob: Required value: must be the name of a replicated job"],
            id="a policy of nobody",
        ),
        pytest.param(
            jobset(targeted="schedulingPolicy: {gang: {}}").replace("targetReplicatedJob: workers", "targetReplicatedJob: [workers]"),
            [f'{TARGETED}.targetReplicatedJob: Invalid value: "[…]": must be a string'],
            id="several targets",
        ),
        pytest.param(
            jobset(targeted="schedulingPolicy: {gang: {}}").replace("]}\n", ", {targetReplicatedJob: workers}]}\n", 1),
            [f'spec.scheduling.replicatedJobPolicies[1].targetReplicatedJob: Duplicate value: "workers": a replicated job has only one policy, which is set in {TARGETED}'],
            id="two policies of one",
        ),
        pytest.param(
            jobset(nested="schedulingPolicy: {gang: {minCount: 5}}"),
            [f"{NESTED}.schedulingPolicy.gang.minCount: Invalid value: 5: must not be greater than parallelism (4)"],
            id="a minimum above the Job, nested",
        ),
        pytest.param(
            jobset(targeted="schedulingPolicy: {gang: {minCount: 5}}"),
            [f"{TARGETED}.schedulingPolicy.gang.minCount: Invalid value: 5: must not be greater than parallelism (4)"],
            id="a minimum above the Job, at the root",
        ),
        pytest.param(
            jobset(nested="disruptionMode: {all: {}}"),
            [f'{NESTED}.disruptionMode: Invalid value: "all": the disruptionMode `all` is not supported with the Basic scheduling policy'],
            id="all without a gang",
        ),
        pytest.param(
            jobset(at_root="schedulingPolicy: {gang: {minCount: 2}}"),
            ["spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: unknown field 'minCount'; did you mean 'minGroupCount'?"],
            id="a leaf's minimum at the root",
        ),
        pytest.param(
            jobset(at_root="replicatedJobs: []"),
            ["spec.scheduling.replicatedJobs: Invalid value: unknown field 'replicatedJobs'; did you mean 'replicatedJobPolicies'?"],
            id="an unknown field at the root",
        ),
        pytest.param(
            jobset(at_root="resourceClaims: []"),
            ["spec.scheduling.resourceClaims: Invalid value: must be absent: only a group of pods has resource claims, not a group of groups"],
            id="claims at the root",
        ),
        pytest.param(
            jobset(at_root="schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}"),
            [
                "spec.replicatedJobs[0]: Invalid value: \"single\": must be `all`, as the mode of its parent 'jobset-root' is (a template without a mode counts as `single`)",
                "spec.replicatedJobs[1]: Invalid value: \"single\": must be `all`, as the mode of its parent 'jobset-root' is (a template without a mode counts as `single`)",
            ],
            id="single below all",
        ),
        pytest.param(
            jobset().replace("name: workers", "name: Workers.1"),
            [
                ("spec.replicatedJobs[1].name: Invalid value: \"Workers.1\": a lowercase RFC 1123 label must consist of lower case alphanumeric "
                "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')")
            ],
            id="a name that is no template's",
        ),
        pytest.param(
            jobset().replace("name: workers", f"name: {'w' * 64}"),
            [f'spec.replicatedJobs[1].name: Invalid value: "{"w" * 64}": must be no more than 63 bytes'],
            id="a name too long",
        ),
        pytest.param(
            jobset().replace("name: workers", "name: driver"),
            [
                ("spec.replicatedJobs[1].name: Duplicate value: \"driver\": duplicate workload item name \"driver\": template names must be unique across the "
                "Workload; already used at spec.replicatedJobs[0].name")
            ],
            id="a name twice",
        ),
        pytest.param(
            jobset().replace("name: workers", "name: jobset-root"),
            [
                ("spec.replicatedJobs[1].name: Duplicate value: \"jobset-root\": duplicate workload item name \"jobset-root\": template names must be unique "
                "across the Workload; already used at spec.scheduling")
            ],
            id="the name of the root",
        ),
        pytest.param(
            jobset().replace("replicas: 3", "replicas: -1"),
            ["spec.replicatedJobs[1].replicas: Invalid value: -1: must be greater than or equal to 0"],
            id="fewer than none",
        ),
        pytest.param(
            JOBSET.partition("  replicatedJobs")[0],
            ["spec.replicatedJobs: Required value: without a replicated job there are no pods to schedule"],
            id="no replicated jobs",
        ),
        pytest.param(
            jobset().replace("{containers: [{name: main, image: worker}]}", "{priorityClassName: high, containers: []}"),
            [
                ("spec.replicatedJobs[1].template.spec.template.spec.priorityClassName: Invalid value: \"high\": must be absent as at "
                "spec.replicatedJobs[0].template.spec.template.spec.priorityClassName: the pods of one Workload have one priority")
            ],
            id="two priorities",
        ),
    ],
)  # fmt: skip
def test_refuses_at_the_users_field(text, want):
    assert unquoted(want) == unquoted(told(compiled(text).errors))


def nine(count: int) -> str:
    job = "{name: job-%d, template: {spec: {template: {spec: {containers: []}}}}}"
    return JOBSET.partition("  scheduling")[0] + "  replicatedJobs: [" + ", ".join(job % number for number in range(count)) + "]\n"


def test_eight_replicated_jobs_are_as_many_as_there_may_be():
    assert [] == told(compiled(nine(8)).errors)
    assert ["spec.replicatedJobs: Too many: 9: must have at most 8 items"] == told(compiled(nine(9)).errors)


def test_scheduling_in_two_places_is_told():
    text = jobset(targeted="schedulingPolicy: {gang: {}}", target="driver", nested="schedulingPolicy: {gang: {}}")

    assert [
        (
            f"{NESTED}: Invalid value: the JobSet has scheduling blocks both here and at the root in spec.scheduling.replicatedJobPolicies: "
            "use only one of the two"
        )
    ] == told(sound(text).warnings)


IN_ORDER = "  startupPolicy: {startupPolicyOrder: InOrder}\n"
DEPENDS = "    replicas: 3\n    dependsOn: [{name: driver, status: Ready}]\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        pytest.param(jobset(at_root="schedulingPolicy: {gang: {}}") + IN_ORDER, "spec.startupPolicy is InOrder", id="in order"),
        pytest.param(
            jobset(at_root="schedulingPolicy: {gang: {}}").replace("    replicas: 3\n", DEPENDS),
            "spec.replicatedJobs[1].dependsOn",
            id="depends on",
        ),
    ],
)
def test_a_gang_that_waits_for_jobs_that_wait_for_it_is_refused(text, cause):
    assert [
        (
            "spec.scheduling.schedulingPolicy.gang: Forbidden: must not be a gang of 4 groups: the Jobs of replicated job 'workers' are created only when "
            f"other Jobs are ready ({cause}), and those would wait for the gang; set minGroupCount to at most 1, or use a gang in each replicated job"
        )
    ] == told(compiled(text).errors)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(jobset() + IN_ORDER, id="Basic"),
        pytest.param(jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 1}}") + IN_ORDER, id="as many as are there at first"),
        pytest.param(jobset(nested="schedulingPolicy: {gang: {}}") + IN_ORDER, id="gangs below"),
        pytest.param(jobset(at_root="schedulingPolicy: {gang: {}}") + IN_ORDER.replace("InOrder", "AnyOrder"), id="any order"),
        pytest.param(
            jobset(at_root="schedulingPolicy: {gang: {}}").replace("replicas: 3", "replicas: 0") + IN_ORDER, id="nothing comes later"
        ),
    ],
)
def test_an_order_that_no_gang_waits_for_is_fine(text):
    assert [] == told(compiled(text).errors)


def test_more_than_are_there_at_first_is_refused():
    text = jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 2}}") + IN_ORDER

    assert ["spec.scheduling.schedulingPolicy.gang"] == [line.partition(":")[0] for line in told(compiled(text).errors)]


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(
            ("driver, status", "drivers, status"),
            "drivers\": must be the name of another replicated job; did you mean 'driver'?",
            id="misspelt",
        ),
        pytest.param(
            ("driver, status", "workers, status"),
            "workers\": must be the name of another replicated job; did you mean 'workers'?",
            id="itself",
        ),
    ],
)
def test_a_dependency_that_is_not_there_is_refused(changed, want):
    text = jobset().replace("    replicas: 3\n", DEPENDS).replace(*changed)

    assert [f'spec.replicatedJobs[1].dependsOn[0].name: Not found: "{want}'] == told(compiled(text).errors)


def test_pods_are_named_and_labelled_as_the_controllers_do():
    found = sound(jobset().replace("replicas: 3", "replicas: 2").replace("parallelism: 4", "parallelism: 2"), groups=True, pods=True)

    assert {
        "train-driver-0-0": "train-driver",
        "train-workers-0-0": "train-workers-0",
        "train-workers-0-1": "train-workers-0",
        "train-workers-1-0": "train-workers-1",
        "train-workers-1-1": "train-workers-1",
    } == pods(found)
    labels = found.objects[-1]["metadata"]["labels"]
    assert {
        "jobset.sigs.k8s.io/jobset-name": "train",
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
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


def test_delegated_the_jobs_name_their_groups():
    found = sound(jobset(nested="schedulingPolicy: {gang: {}}").replace("replicas: 3", "replicas: 2"), groups=True, delegated=True)

    assert (["train-jobset-root"], []) == (names(found, "CompositePodGroup"), names(found, "PodGroup"))
    assert ["train-driver-0", "train-workers-0", "train-workers-1"] == names(found, "Job")
    job = found.objects[-1]
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
    left = sound(text, groups=True, delegated=True).objects
    workload = yaml.safe_dump(left[0])
    made = [sound(yaml.safe_dump(job), further=workload, groups=True).objects[0] for job in left if job["kind"] == "Job"]

    assert central == {each["metadata"]["name"]: each["spec"] for each in made}


EXCLUSIVE = jobset().replace("name: train,", "name: train, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack},")


def test_exclusive_topology_is_a_default_constraint_of_each_job():
    found = sound(EXCLUSIVE, pods=True)

    at = "metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]"
    assert [{"topology": [{"key": "rack"}]}] * 2 == [each["schedulingConstraints"] for each in root(found)["podGroupTemplates"]]
    assert [at] == sorted(set(lost(found)))
    affinities = {each["metadata"]["name"]: "affinity" in each["spec"] for each in found.objects if each["kind"] == "Pod"}
    assert (True, False) == (affinities["train-workers-2-0"], affinities["train-workers-2-1"])


def test_exclusive_topology_by_labels_of_nodes():
    text = EXCLUSIVE.replace("topology: rack}", "topology: rack, alpha.jobset.sigs.k8s.io/node-selector: 'true'}")
    pod = sound(text, pods=True).objects[-1]

    assert {"alpha.jobset.sigs.k8s.io/namespaced-job": "research_train-workers-2"} == pod["spec"]["nodeSelector"]
    assert "affinity" not in pod["spec"]


def test_kueue_wants_all_jobs_of_a_replicated_job_in_one_domain_which_is_lost():
    annotated = jobset().replace(
        "parallelism: 4, template: {",
        "parallelism: 4, template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, ",
    )
    found = sound(annotated)

    assert {"topology": [{"key": "rack"}]} == root(found)["podGroupTemplates"][1]["schedulingConstraints"]
    assert ["spec.replicatedJobs[1].template.spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]"] == lost(found)
    assert [] == lost(sound(annotated.replace("replicas: 3", "replicas: 1")))


def test_a_suspended_jobset_is_compiled_and_told():
    found = sound(jobset() + "  suspend: true\n", pods=True)

    assert ["spec.suspend: Invalid value: true: the JobSet is suspended: its pods are created when it is resumed"] == told(found.warnings)
    assert 13 == len(pods(found))


def test_a_jobset_of_a_trainjob_gets_no_workload():
    owner = "ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: tune, uid: x, controller: true}]"
    found = sound(jobset().replace("namespace: research", f"namespace: research, {owner}"))

    assert ((), "its groups belong to the Workload of its controller, TrainJob tune") == (found.objects, found.skipped)


@pytest.mark.parametrize(
    "content",
    ["7", "[]", "[1]", "x", "{scheduling: 3}", "{replicatedJobs: 3}", "{replicatedJobs: [3, {}]}", "{replicatedJobs: [{template: 4}]}"],
)
def test_never_raises(content):
    assert compiled(f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: a}}\nspec: {content}\n").errors != ()


def test_a_million_jobs_are_refused_before_they_are_made():
    found = compiled(jobset().replace("replicas: 3", "replicas: 1000000"), groups=True)

    assert [
        "spec.replicatedJobs[1]: Invalid value: 1000000: all items together must have at most 100000 groups: the replicas of nested items multiply"
    ] == told(found.errors)


def test_very_many_pods_are_refused_before_they_are_made():
    found = compiled(jobset().replace("parallelism: 4", "parallelism: 2147483647"), pods=True)

    assert ["Invalid value: must make at most 100000 pods: it would make 6442450942"] == [str(error) for error in found.errors]


def test_groups_that_no_job_controller_would_make_are_warned_of():
    """In Kubernetes 1.37 it looks at the top of a Workload alone, and a JobSet's templates are below its root."""
    found = compiled(jobset(nested="schedulingPolicy: {gang: {}}"), groups=True, delegated=True)

    told = [str(each) for each in found.warnings if "creates no PodGroup" in str(each)]
    assert [True, True] == [name in each for name, each in zip(('"driver"', '"workers"'), told, strict=True)]
