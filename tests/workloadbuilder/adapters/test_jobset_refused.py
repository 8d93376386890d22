"""JobSets that are refused: wrong fields, and startup orders and dependencies that conflict with a gang."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, unquoted
from tests.workloadbuilder.adapters.jobsets import DEPENDS, IN_ORDER, JOBSET, NESTED, jobset

TARGETED = "spec.scheduling.replicatedJobPolicies[0]"


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
    assert unquoted(want) == unquoted(error_lines(compiled(text).errors))


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
def test_a_gang_that_waits_for_jobs_that_wait_for_it_is_compiled_with_a_warning(text, cause):
    assert [
        (
            "spec.scheduling.schedulingPolicy.gang: Forbidden: must not be a gang of 4 groups: the Jobs of replicated job 'workers' are created only when "
            f"other Jobs are ready ({cause}), and those would wait for the gang; set minGroupCount to at most 1, or use a gang in each replicated job"
        )
    ] == error_lines(compiled(text).warnings)
    assert [] == error_lines(compiled(text).errors)


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
    result = compiled(text)

    assert [] == error_lines(result.errors)
    assert not any("would wait for the gang" in line for line in error_lines(result.warnings))


def test_more_than_are_there_at_first_is_a_warning():
    text = jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 2}}") + IN_ORDER

    assert ["spec.scheduling.schedulingPolicy.gang"] == [line.partition(":")[0] for line in error_lines(compiled(text).warnings)]


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

    assert [f'spec.replicatedJobs[1].dependsOn[0].name: Not found: "{want}'] == error_lines(compiled(text).errors)


@pytest.mark.parametrize(
    "content",
    ["7", "[]", "[1]", "x", "{scheduling: 3}", "{replicatedJobs: 3}", "{replicatedJobs: [3, {}]}", "{replicatedJobs: [{template: 4}]}"],
)
def test_never_raises(content):
    assert compiled(f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: a}}\nspec: {content}\n").errors != ()


def test_a_million_jobs_are_refused_before_they_are_made():
    result = compiled(jobset().replace("replicas: 3", "replicas: 1000000"), groups=True)

    assert [
        "spec.replicatedJobs[1]: Invalid value: 1000000: all items together must have at most 100000 groups: the replicas of nested items multiply"
    ] == error_lines(result.errors)


def test_very_many_pods_are_refused_before_they_are_made():
    result = compiled(jobset().replace("parallelism: 4", "parallelism: 2147483647"), pods=True)

    assert ["Invalid value: must make at most 100000 pods: it would make 6442450942"] == [str(error) for error in result.errors]
