"""Compiling a Job: its Workload, its pods, and what is refused."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, pods, root, sound, sources
from tests.workloadbuilder.adapters.jobs import GANG, JOB, with_scheduling

POLICY = "spec.scheduling.schedulingPolicy"


def test_a_job_that_says_nothing_is_basic():
    result = sound(JOB)

    assert {"name": "job-root", "schedulingPolicy": {"basic": {}}} == root(result)
    assert {"job-root": {"schedulingPolicy": "basic (default)"}} == sources(result)


@pytest.mark.parametrize(
    ("parallelism", "want"),
    [
        pytest.param("parallelism: 4", 4, id="of the Job"),
        pytest.param("backoffLimit: 0", 1, id="one where it says none"),
        pytest.param("parallelism: 0", 1, id="one for a Job that makes no pods just now"),
        pytest.param("parallelism: 3.0", 3, id="a whole number however it is written"),
    ],
)
def test_an_open_minimum_becomes_the_parallelism(parallelism, want):
    result = sound(GANG.replace("parallelism: 4", parallelism))

    assert {"gang": {"minCount": want}} == root(result)["schedulingPolicy"]
    assert {"schedulingPolicy": f"gang, minCount {want} (callback)"} == sources(result)["job-root"]


def test_a_minimum_of_the_users_is_kept():
    result = sound(with_scheduling("{schedulingPolicy: {gang: {minCount: 3}}}"))

    assert {"schedulingPolicy": "gang, minCount 3 (user)"} == sources(result)["job-root"]


@pytest.mark.parametrize(
    ("scheduling", "want"),
    [
        pytest.param("{schedulingPolicy: {gang: {minCount: 4}}}", [], id="as large as the Job"),
        pytest.param(
            "{schedulingPolicy: {gang: {minCount: 5}}}",
            [f"{POLICY}.gang.minCount: Invalid value: 5: must not be greater than parallelism (4)"],
            id="larger than the Job",
        ),
        pytest.param(
            "{policy: {gang: {minCount: 5}}}",
            ["spec.scheduling.policy.gang.minCount: Invalid value: 5: must not be greater than parallelism (4)"],
            id="told where the user wrote it",
        ),
        pytest.param(
            "{schedulingPolicy: {gang: {minCount: 0}}}",
            [f"{POLICY}.gang.minCount: Invalid value: 0: must be greater than or equal to 1"],
            id="none at all",
        ),
        pytest.param(
            "{disruptionMode: {all: {}}}",
            [
                'spec.scheduling.disruptionMode: Invalid value: "all": the disruptionMode `all` is not supported with the Basic scheduling policy'
            ],
            id="all without a gang",
        ),
        pytest.param(
            "{schedulingPolicy: {gang: {}, basic: {}}}",
            [f'{POLICY}: Invalid value: "{{basic, gang}}": must specify exactly one of: `basic`, `gang`'],
            id="both policies",
        ),
        pytest.param("[]", ['spec.scheduling: Invalid value: "[…]": must be a mapping'], id="a list"),
        pytest.param(
            "{schedulingConstraints: {topology: [{key: a b}]}}",
            [
                (
                    'spec.scheduling.schedulingConstraints.topology[0].key: Invalid value: "a b": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName', or 'my.name', or "
                    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
            id="no label key",
        ),
    ],
)
def test_refuses_at_the_users_field(scheduling, want):
    assert want == error_lines(compiled(with_scheduling(scheduling)).errors)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(("parallelism: 4", "parallelism: four"), ['spec.parallelism: Invalid value: "four": must be an integer'], id="a word"),
        pytest.param(
            ("parallelism: 4", "parallelism: -1"),
            ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
            id="negative",
        ),
        pytest.param(
            ("parallelism: 4", "parallelism: 2147483648"),
            ["spec.parallelism: Invalid value: 2147483648: must be at most 2147483647: more does not fit into this field's type"],
            id="too large",
        ),
        pytest.param(
            ("parallelism: 4", "completionMode: Sorted"),
            ['spec.completionMode: Unsupported value: "Sorted": supported values: "Indexed", "NonIndexed"'],
            id="a mode that there is not",
        ),
        pytest.param(
            ("{spec: {containers", "{spec: [], x: {containers"), ['spec.template.spec: Invalid value: "[…]": must be a mapping'], id="pods"
        ),
        pytest.param(
            ("name: train, ", ""),
            [
                "metadata.name: Required value: a Workload must be owned by its controller for garbage collection: the owner must have a name"
            ],
            id="no name",
        ),
    ],
)
def test_refuses_what_is_no_job(changed, want):
    assert want == error_lines(compiled(JOB.replace(*changed)).errors)


@pytest.mark.parametrize("content", ["7", "[]", "{metadata: 7, spec: 7}", "{metadata: {labels: [], annotations: 3, ownerReferences: {}}}"])
def test_never_raises(content):
    assert compiled(f"apiVersion: batch/v1\nkind: Job\nspec: {content}\nmetadata: {content}\n").errors != ()


def test_a_gang_that_is_never_complete_is_reported():
    result = sound(GANG + "  completions: 2\n")

    assert [
        "spec.completions: Invalid value: 2: must be at least 4, the gang's minCount: otherwise the gang is never complete"
    ] == error_lines(result.warnings)
    assert [] == error_lines(sound(GANG + "  completions: 4\n").warnings)


def test_a_suspended_job_is_compiled_and_reported():
    result = sound(JOB + "  suspend: true\n", pods=True)

    assert ["spec.suspend: Invalid value: true: the Job is suspended: its pods are created when it is resumed"] == error_lines(
        result.warnings
    )
    assert 4 == len(pods(result))


def test_pods_are_named_and_labelled_as_the_controller_does():
    result = sound(JOB.replace("parallelism: 4", "parallelism: 2\n  completions: 9\n  completionMode: Indexed"), groups=True, pods=True)

    assert {"train-0": "train-job-root", "train-1": "train-job-root"} == pods(result)
    assert ["train-job-root"] == names(result, "PodGroup")
    pod = result.objects[-1]
    assert {"job-name": "train", "batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/job-completion-index": "1"} == pod[
        "metadata"
    ]["labels"]
    assert {"name": "main", "image": "train"} == pod["spec"]["containers"][0]
    assert "research" == pod["metadata"]["namespace"]


def test_no_more_pods_than_are_to_complete():
    assert ["train-0"] == [*pods(sound(JOB + "  completions: 1\n", pods=True))]


def test_the_pods_class_is_the_groups():
    result = sound(JOB.replace("{spec: {", "{spec: {priorityClassName: high, "), groups=True, pods=True)

    assert ["high"] * 2 == [root(result)["priorityClassName"], result.objects[1]["spec"]["priorityClassName"]]
    assert "high" == result.objects[2]["spec"]["priorityClassName"]


def test_a_class_of_the_systems_own_is_left_out():
    result = sound(JOB.replace("{spec: {", "{spec: {priorityClassName: system-node-critical, "))

    assert "priorityClassName" not in root(result)
    assert ["spec.template.spec.priorityClassName"] == [line.partition(":")[0] for line in error_lines(result.warnings)]


def test_with_a_uid_names_are_those_of_kubernetes_1_38():
    result = sound(GANG.replace("name: train,", "name: train, uid: uid-1,"), groups=True, pods=True)

    workload, group = result.objects[:2]
    assert "train-647cf7d9" == workload["metadata"]["name"]
    assert [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-1", "controller": True, "blockOwnerDeletion": True}
    ] == workload["metadata"]["ownerReferences"]
    assert group["metadata"]["name"].startswith("train-647cf7d9-job-root-")
    assert {group["metadata"]["name"]} == {*pods(result).values()}


def test_a_generated_name_has_a_placeholder():
    result = sound(JOB.replace("name: train", "generateName: train-"))

    assert ["train"] == names(result, "Workload")
    assert [line for line in error_lines(result.warnings) if line.startswith("metadata.generateName")] != []


KUEUE = JOB.replace("name: train,", "name: train, labels: {kueue.x-k8s.io/queue-name: gpus},")


@pytest.mark.parametrize(
    ("annotations", "topology", "want"),
    [
        pytest.param("{kueue.x-k8s.io/podset-required-topology: rack}", "rack", [], id="required"),
        pytest.param("{kueue.x-k8s.io/podset-preferred-topology: rack}", None, ["podset-preferred-topology"], id="preferred"),
        pytest.param("{kueue.x-k8s.io/podset-unconstrained-topology: 'true'}", None, ["podset-unconstrained-topology"], id="unconstrained"),
        pytest.param(
            "{kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: '4'}", "rack", [], id="one slice"
        ),
        pytest.param(
            "{kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: '2'}",
            None,
            [],
            id="two slices",
        ),
        pytest.param(
            """{kueue.x-k8s.io/podset-slice-required-topology-constraints: '[{"topology": "rack", "size": 4}]'}""",
            "rack",
            ["podset-slice-required-topology-constraints"],
            id="slices on levels",
        ),
    ],
)
def test_kueues_annotations_are_defaults(annotations, topology, want):
    result = sound(KUEUE.replace("template: {", f"template: {{metadata: {{annotations: {annotations}}}, "))

    assert topology == (
        root(result)["schedulingConstraints"]["topology"][0]["key"] if topology else root(result).get("schedulingConstraints")
    )
    at = "spec.template.metadata.annotations[kueue.x-k8s.io/{}]"
    assert ["metadata.labels[kueue.x-k8s.io/queue-name]", *(at.format(each) for each in want)] == lost_fields(result)


def test_the_users_constraint_wins_over_an_annotation():
    annotated = KUEUE.replace("template: {", "template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, ")
    result = sound(with_scheduling("{schedulingConstraints: {topology: [{key: zone}]}}", annotated))

    assert {"schedulingPolicy": "basic (default)", "schedulingConstraints": "zone (user)"} == sources(result)["job-root"]
