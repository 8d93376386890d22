"""Objects at PATH with values of wrong types and huge numbers: they are refused or skipped, without a failure or much time."""

from __future__ import annotations

import copy
import json

import pytest
from click.testing import CliRunner

from muster.cli import main
from tests.muster.simulated import node, pod
from tests.muster.test_fit_quotas import quota, stateful_set
from tests.muster.test_pod_admission import fit
from tests.muster.test_simulate_controllers import TEMPLATE, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "hugepages-2Mi", "hugepages-500m"])
@pytest.mark.parametrize("amount", ["9" * 60, "1e99999", 10**30])
def test_huge_amounts_of_whole_resources(name, amount):
    mine = job(1)
    mine["spec"]["template"] = copy.deepcopy(mine["spec"]["template"])
    mine["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {name: amount, "cpu": "1"}}
    assert 1 == fit([mine], NODES)[0]


@pytest.mark.parametrize("volumes", [["x"], 5, "data", [None]])
def test_volumes_that_are_no_objects_next_to_claims(volumes):
    mine = copy.deepcopy(stateful_set())
    mine["spec"]["template"]["spec"]["volumes"] = volumes
    status, answer = fit([mine], NODES)
    assert (True, "does-not-fit") == (status in {1, 2}, answer["verdict"])


def test_a_quota_and_a_controller_of_a_billion_objects():
    """The objects are not created one by one, and their number is that of the most pods."""
    sizes = {"size": 2, "workerTemplate": TEMPLATE}
    many = manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", replicas=10**9, leaderWorkerTemplate=sizes)
    status, answer = fit([many], [*NODES, quota(**{"count/statefulsets.apps": "4"})])
    assert (2, "quota default/team-a leaves 4 statefulsets.apps, 100001 needed") == (status, answer["refused"][-1]["reason"])


def run(command, texts, *options):
    """Write *texts* to files, the last one as that of the cluster; return the exit status and both outputs of *command*."""
    for name, text in zip(("path.json", "cluster.json"), texts, strict=True):
        with open(name, "wb") as file:  # noqa: PTH123 - short
            file.write(text)
    result = CliRunner().invoke(main, [command, "path.json", "--objects", "cluster.json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


CLUSTER = b"\n".join(json.dumps(each).encode() for each in NODES)
POD = b"""{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%b","managedFields":[{"manager":"m","fieldsV1":{"f:spec":%b}}]},
"spec":{"containers":[{"name":"c","image":"x"}]}}"""
LONG = b"3" * 6000
USUAL = POD % (b"usual", b"{}")


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize("odd", [b'"na\xefve"', LONG, b'{"a":[%b]}' % LONG, b"2E999", b"[-7e1234]"])
def test_values_that_are_skipped_at_first_are_refused(command, odd):
    for path in (POD % (b"odd", odd), USUAL + POD % (b"odd", odd)):
        status, output = run(command, [path, CLUSTER])
        assert 2 == status
        said = " ".join(output.split())
        assert " is not JSON: " in said or " must be a finite number: " in said


@pytest.mark.parametrize(("odd", "status"), [(b'"na\xefve"', 2), (LONG, 2), (b"2E999", 0)])
def test_values_that_are_skipped_at_first_in_the_cluster(odd, status):
    assert status == run("fit", [USUAL, CLUSTER + POD % (b"odd", odd)])[0]
    found, output = run("simulate", [USUAL, CLUSTER + POD % (b"odd", odd)])
    assert (status, status == 2) == (found, "Pod odd: is not JSON: " in output)


@pytest.mark.parametrize("options", [[], ["--gang"], ["--gang", "--topology", "kubernetes.io/hostname"]])
@pytest.mark.parametrize("kind", ["Pod", "PodGroup", "CompositePodGroup", "Job", "Deployment"])
@pytest.mark.parametrize(
    "metadata", [{"name": 4711}, {"name": "a", "namespace": 4711}, {"name": True}, {"name": ["a"]}, {"generateName": 3}, "a"]
)
def test_names_that_are_no_strings(options, kind, metadata):
    version = {"Pod": "v1", "Job": "batch/v1", "Deployment": "apps/v1"}.get(kind, "scheduling.k8s.io/v1alpha3")
    odd = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"template": TEMPLATE, "containers": [{"name": "c"}]}}
    status, output = run("fit", [json.dumps(odd).encode(), CLUSTER], *options)
    assert 2 == status
    assert "must be a" in output


DIGITS = "9" * 5000
JOB = {"spec": {"template": TEMPLATE}}
KUEUE = {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}, "annotations": {"kueue.x-k8s.io/pod-group-total-count": DIGITS}}
ROLLING = {"strategy": {"rollingUpdate": {"maxSurge": f"{DIGITS}%"}}, "selector": {"matchLabels": {"app": "x"}}}
INDEXED = {"completionMode": "Indexed"}


@pytest.mark.parametrize(
    ("mine", "statuses"),
    [
        pytest.param(manifest("CronJob", "batch/v1", schedule=f"{DIGITS} * * * *", jobTemplate=JOB), {1}, id="a minute"),
        pytest.param(manifest("CronJob", "batch/v1", schedule=f"*/{DIGITS} * * * *", jobTemplate=JOB), {1}, id="a step"),
        pytest.param(manifest("Deployment", "apps/v1", template=TEMPLATE, **ROLLING), {1}, id="a percentage"),
        pytest.param({**job(3, **INDEXED), "status": {"completedIndexes": f"0-{DIGITS}"}}, {0, 1}, id="completed indexes"),
        pytest.param(job(3, successPolicy={"rules": [{"succeededIndexes": DIGITS}]}, **INDEXED), {1}, id="succeeded indexes"),
        pytest.param({**pod("p"), "metadata": {**pod("p")["metadata"], **KUEUE}}, {0}, id="pods of a group of Kueue"),
    ],
)
def test_numbers_in_texts_with_thousands_of_digits(mine, statuses):
    """Python refuses to convert more than 4,300 digits."""
    text = json.dumps(mine).encode()
    assert run("fit", [text, CLUSTER])[0] in statuses
    assert CliRunner().invoke(main, ["lint", "path.json"]).exit_code in {0, 1}


def test_a_name_of_many_lines_leaves_one_for_the_reason(folder):
    mine = {**job(1), "metadata": {"name": {"a": "word " * 100}}}
    (folder / "mine.json").write_text(json.dumps(mine))
    (folder / "nodes.json").write_text("\n".join(map(json.dumps, NODES)))
    result = CliRunner().invoke(main, ["fit", "mine.json", "--objects", "nodes.json"])
    assert 2 == result.exit_code
    assert "\n  metadata.name: Invalid value: " in result.output
