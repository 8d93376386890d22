"""Objects at PATH with values of wrong types and huge numbers: they are refused or skipped, without a failure or much time."""

from __future__ import annotations

import copy

import pytest

from tests.muster.simulated import node
from tests.muster.test_fit_quotas import quota, stateful_set
from tests.muster.test_pod_admission import fit
from tests.muster.test_simulate_controllers import TEMPLATE, job, manifest

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
