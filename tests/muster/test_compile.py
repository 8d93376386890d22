"""``muster compile``: options in, manifests, report and exit status out."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from muster import cli

CLUSTER = Path(__file__).parents[1] / "cases" / "clusters" / "jobset"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 2
  scheduling: {schedulingPolicy: {gang: {}}}
  template: {spec: {containers: [{name: main, image: train}]}}
"""
BAD = JOB.replace("{gang: {}}", "{gang: {minCount: 3}}").replace("name: train,", "name: other,")
FOREIGN = """\
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: pg}
spec:
  minMember: 2
  scheduleTimeoutSeconds: 9
"""
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
FILES = {"job.yaml": JOB, "bad.yaml": BAD, "foreign.yaml": FOREIGN, "broken.yaml": "a: [", "values.yaml": "a: 1\n", "node.yaml": NODE}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with some manifests."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.main, list(arguments), input=stdin)


def compiled(*arguments: str, stdin: str = "") -> Result:
    return run("compile", *arguments, stdin=stdin)


def made(answer: Result) -> list[str]:
    """Kind and name of each document."""
    return [f"{each['kind']} {each['metadata']['name']}" for each in yaml.safe_load_all(answer.stdout) if each]


@pytest.mark.parametrize(
    ("paths", "want"),
    [
        pytest.param(["job.yaml"], 0, id="compiled"),
        pytest.param(["foreign.yaml"], 0, id="with losses"),
        pytest.param(["bad.yaml"], 1, id="refused"),
        pytest.param(["job.yaml", "broken.yaml"], 2, id="unreadable"),
        pytest.param(["bad.yaml", "broken.yaml"], 3, id="refused and unreadable"),
        pytest.param(["node.yaml", "values.yaml"], 2, id="nothing to compile"),
        pytest.param(["missing.yaml"], 2, id="no such file"),
        pytest.param([], 2, id="no path"),
        pytest.param(["job.yaml", "--delegated", "--pods"], 2, id="options that do not go together"),
        pytest.param(["job.yaml", "--kubernetes", "1.36"], 2, id="a version that serves no such Workload"),
        pytest.param(["job.yaml", "--level", "rack"], 2, id="a level without a label"),
        pytest.param(["job.yaml", "--objects", "broken.yaml"], 2, id="objects that cannot be read"),
    ],
)
def test_the_exit_status(paths: list[str], want: int) -> None:
    answer = compiled(*paths)

    assert want == answer.exit_code
    assert "Traceback" not in answer.stderr


def test_the_rest_is_compiled_where_one_is_refused() -> None:
    answer = compiled("bad.yaml", "job.yaml", "broken.yaml")

    assert ["Workload train"] == made(answer)
    assert [
        "muster compile: broken.yaml:1:5: ",
        "bad.yaml:6:42: error Job ml/other: spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 3: must not be greater than parallelism (2)",
        "muster compile: 1 object has no uid yet: the created objects have no ownerReferences and are not deleted with their owner",
    ] == [line[:33] if "broken" in line else line for line in answer.stderr.splitlines()]


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param([], ["Workload train"], id="the Workload"),
        pytest.param(["--groups"], ["Workload train", "PodGroup train-job-root"], id="groups"),
        pytest.param(["--groups", "--pods"], ["Workload train", "PodGroup train-job-root", "Pod train-0", "Pod train-1"], id="pods"),
    ],
)
def test_what_is_made(options: list[str], want: list[str]) -> None:
    assert want == made(compiled("job.yaml", *options))


def test_losses_are_reported_with_file_and_line() -> None:
    assert (
        "foreign.yaml:6:3: lost PodGroup pg: spec.scheduleTimeoutSeconds: the timeout is dropped: a pending group waits without a time limit, and reserves no resources"
        == compiled("foreign.yaml").stderr.splitlines()[0]
    )


def test_standard_input_is_read() -> None:
    answer = compiled("-", stdin=f"{NODE}---\n{JOB}")

    assert (0, ["Workload train"]) == (answer.exit_code, made(answer))


def test_a_list_is_read() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(JOB), yaml.safe_load(NODE)]})

    assert ["Workload train"] == made(compiled("-", stdin=listed))


def test_the_order_of_the_inputs_does_not_matter() -> None:
    documents = [JOB.replace("train", f"job-{number}") for number in range(5)] + [
        FOREIGN,
        (CLUSTER / "jobset.yaml").read_text(encoding="utf-8"),
    ]
    want = compiled("--groups", "--pods", "--explain", "-", stdin="---\n".join(documents)).stdout_bytes
    random.Random(3).shuffle(documents)

    assert want == compiled("--groups", "--pods", "--explain", "-", stdin="---\n".join(documents)).stdout_bytes


def test_the_version_can_be_chosen() -> None:
    versions = [each["apiVersion"] for each in yaml.safe_load_all(compiled("job.yaml", "--groups", "--version", "v1alpha3").stdout)]

    assert ["scheduling.k8s.io/v1alpha3"] * 2 == versions


def test_the_api_group_can_be_chosen() -> None:
    """Names are the same, and pods name their groups by label."""
    arguments = ("--groups", "--pods", "--format", "json", str(CLUSTER / "jobset.yaml"))
    built_in = json.loads(compiled(*arguments).stdout)["items"]
    custom = json.loads(compiled("--api", "scheduling.muster.dev", *arguments).stdout)["items"]

    assert {"scheduling.muster.dev/v1beta1"} == {each["apiVersion"] for each in custom if each["kind"] != "Pod"}
    assert [each["metadata"]["name"] for each in custom] == [each["metadata"]["name"] for each in built_in]
    named = [each["spec"]["schedulingGroup"]["podGroupName"] for each in built_in if each["kind"] == "Pod"]
    assert named == [each["metadata"]["labels"]["scheduling.muster.dev/pod-group"] for each in custom if each["kind"] == "Pod"]
    assert not any("schedulingGroup" in each["spec"] for each in custom)


def test_names_of_groups_that_labels_name_are_cut() -> None:
    stdin = JOB.replace("name: train", f"name: {'train' * 11}")
    answer = compiled("--api", "scheduling.muster.dev", "--groups", "--pods", "--format", "json", "-", stdin=stdin)
    (group,), (pod, *_) = ([each for each in json.loads(answer.stdout)["items"] if each["kind"] == kind] for kind in ("PodGroup", "Pod"))

    assert len(group["metadata"]["name"]) <= 63
    assert group["metadata"]["name"] == pod["metadata"]["labels"]["scheduling.muster.dev/pod-group"]


@pytest.mark.parametrize(
    ("options", "want"),
    [
        (["--delegated"], "the Job controller creates no PodGroups of this API group"),
        (["--version", "v1alpha3"], "scheduling.muster.dev has no version v1alpha3"),
    ],
)
def test_what_custom_resources_do_not_have(options: list[str], want: str) -> None:
    answer = compiled("--api", "scheduling.muster.dev", *options, str(CLUSTER / "jobset.yaml"))

    assert (2, True) == (answer.exit_code, want in answer.stderr)


def test_explanations_are_comments_that_change_nothing() -> None:
    plain, explained = compiled("job.yaml", "--groups"), compiled("job.yaml", "--groups", "--explain")

    assert list(yaml.safe_load_all(plain.stdout)) == list(yaml.safe_load_all(explained.stdout))
    assert """\
# Job ml/train:
#   job-root (PodGroup)
#     schedulingPolicy  gang, minCount 2  [callback, spec.scheduling.schedulingPolicy]
""" == explained.stdout.partition("apiVersion")[0]


def test_a_name_that_would_break_a_comment_does_not() -> None:
    answer = compiled("--explain", "-", stdin=FOREIGN.replace("name: pg", 'name: "pg\\nkind: Node"'))

    assert (1, "") == (answer.exit_code, answer.stdout)
    assert 3 > len(answer.stderr.splitlines())


def test_json_is_one_list_with_the_report() -> None:
    answer = json.loads(compiled("job.yaml", "bad.yaml", "foreign.yaml", "--format", "json", "--explain").stdout)

    assert ("v1", "List", ["pg", "train"]) == (answer["apiVersion"], answer["kind"], [each["metadata"]["name"] for each in answer["items"]])
    foreign, bad, job = answer["report"]["objects"]
    assert {"objects": 3, "compiled": 2, "refused": 1, "made": 2} == answer["report"]["summary"]
    assert [{"field": "spec.scheduleTimeoutSeconds", "line": 6, "column": 3}] == [
        {name: each[name] for name in ("field", "line", "column")} for each in foreign["losses"]
    ]
    assert ["spec.scheduling.schedulingPolicy.gang.minCount"] == [each["field"] for each in bad["errors"]]
    assert ["FieldValueInvalid"] == [each["type"] for each in bad["errors"]]
    (block,) = job["explained"][0]["blocks"]
    assert {
        "block": "schedulingPolicy",
        "value": "gang, minCount 2",
        "source": "callback",
        "field": "spec.scheduling.schedulingPolicy",
    } == block
    assert ("job.yaml", 1) == (job["file"], job["line"])


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_will_my_jobset_fit(form: str) -> None:
    """Each gang of workers in one rack, the whole in one zone: only z2 has racks of four."""
    manifests = compiled("--groups", "--pods", "--format", form, str(CLUSTER / "jobset.yaml"))
    answer = run("simulate", "-", "--objects", str(CLUSTER / "cluster.yaml"), "--format", "json", stdin=manifests.stdout)

    (decision,) = json.loads(answer.stdout)["decisions"]
    assert (0, "Success", "train-jobset-root") == (answer.exit_code, decision["status"], decision["root"]["name"])
    domains = {each["name"]: each.get("domain") for each in decision["groups"]}
    assert {"key": "topology.kubernetes.io/zone", "value": "z2"} == domains["train-jobset-root"]
    assert {"z2-r1", "z2-r2"} == {domains[f"train-workers-{place}"]["value"] for place in range(2)}
    assert decision["assignments"]["default/train-driver-0-0"].startswith("z2-")
    assert 9 == len(decision["assignments"])


def test_an_object_given_twice_is_refused() -> None:
    answer = compiled("-", stdin=f"{JOB}---\n{JOB}")

    assert (1, ["Workload train"]) == (answer.exit_code, made(answer))
    assert (
        '<stdin>:11:12: error Job ml/train: metadata.name: Duplicate value: "train": the object is given twice: also at <stdin>:1'
        == answer.stderr.splitlines()[0]
    )


def test_two_objects_without_uids_never_have_one_workload() -> None:
    jobset = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train, namespace: ml}\nspec: {replicatedJobs: [{name: a}]}\n"
    )
    answer, other = compiled("-", stdin=f"{jobset}---\n{JOB}"), compiled("-", stdin=f"{JOB}---\n{jobset}")

    first, second = made(answer)
    assert (0, "Workload train") == (answer.exit_code, first)
    assert second.startswith("Workload train-")
    assert answer.stdout == other.stdout


def test_with_uids_they_have_two() -> None:
    other = (
        JOB.replace("name: train,", "name: train, uid: a,"),
        JOB.replace("batch/v1\nkind: Job", "jobset.x-k8s.io/v1\nkind: JobSet")
        .replace("name: train,", "name: train, uid: b,")
        .replace("scheduling: {schedulingPolicy: {gang: {}}}", "replicatedJobs: [{name: a}]"),
    )
    answer = compiled("-", stdin="---\n".join(other))

    assert (0, 2) == (answer.exit_code, len(set(made(answer))))
    assert "uid" not in answer.stderr


def test_a_child_is_reported_as_skipped() -> None:
    owned = JOB.replace(
        "namespace: ml}",
        "namespace: ml, ownerReferences: [{apiVersion: jobset.x-k8s.io/v1, kind: JobSet, name: s, uid: u, controller: true}]}",
    )
    answer = compiled("-", stdin=owned)

    assert (0, "") == (answer.exit_code, answer.stdout)
    assert (
        "<stdin>:1:1: note Job ml/train: nothing is created: the Job controller of Kubernetes 1.37 creates no group for a Job with a "
        "controller (JobSet s)"
    ) in answer.stderr


def test_objects_are_references_and_not_compiled(folder: Path) -> None:
    runtime = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: torch}\nspec: {template: {spec: {replicatedJobs: [{name: node}]}}}\n"
    (folder / "runtime.yaml").write_text(f"{runtime}---\n{JOB}", encoding="utf-8")
    trainjob = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: tune}\nspec: {runtimeRef: {name: torch}}\n"

    assert ["Workload tune"] == made(compiled("-", "--objects", "runtime.yaml", stdin=trainjob))
    assert 1 == compiled("-", stdin=trainjob).exit_code


def test_levels_are_reported_by_name() -> None:
    group = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: v}\nspec: {minMember: 1, networkTopology: {highestTierAllowed: 2}}\n"
    answer = compiled("-", "--level", "2=example/rack", stdin=group)

    assert {"topology": [{"key": "example/rack"}]} == yaml.safe_load(answer.stdout)["spec"]["podGroupTemplates"][0]["schedulingConstraints"]


def test_delegated_the_jobs_carry_the_links() -> None:
    answer = compiled("--delegated", "--groups", str(CLUSTER / "jobset.yaml"))

    assert [
        "Workload train",
        "CompositePodGroup train-jobset-root",
        "Job train-driver-0",
        "Job train-workers-0",
        "Job train-workers-1",
    ] == made(answer)


def test_help_has_an_example() -> None:
    assert "Example: muster compile --groups --pods jobset.yaml | muster simulate - --objects" in " ".join(
        compiled("--help").stdout.split()
    )
