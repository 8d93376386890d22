"""``muster fit`` of objects whose pods Volcano makes a gang of, by an annotation, and of their updates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muster.test_fit_rollouts import Json, _folder, fit, node, running, workload  # noqa: F401 - a fixture

MINIMUM = "scheduling.volcano.sh/group-min-member"


def of_volcano(kind: str, replicas: int = 2, minimum: int = 2, **fields: Any) -> Json:
    mine = workload(kind, replicas, **fields)
    mine["metadata"]["annotations"] = {MINIMUM: str(minimum)}
    mine["spec"]["template"]["spec"]["schedulerName"] = "volcano"
    return mine


def old(name: str, on: str, kind: str = "ReplicaSet", image: str = "i:1") -> Json:
    pod = running(name, on, owner=(kind, "llm-old" if kind == "ReplicaSet" else "llm"), image=image)
    pod["spec"]["schedulerName"] = "volcano"
    return pod


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_pods_with_the_annotation_are_a_gang(kind):
    status, answer = fit(of_volcano(kind), node("n1"), node("n2"))
    assert (0, ["PodGroup"]) == (status, [each["root"]["kind"] for each in answer["decisions"]])


@pytest.mark.parametrize(("kind", "fields"), [("Deployment", {}), ("ReplicaSet", {}), ("StatefulSet", {"podManagementPolicy": "Parallel"})])
def test_a_gang_of_more_pods_than_have_room_does_not_fit_in_part(kind, fields):
    status, answer = fit(of_volcano(kind, 3, 3, **fields), node("n1"), node("n2"))
    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert not any(each["assignments"] for each in answer["decisions"])
    status, answer = fit(workload(kind, 3, **fields), node("n1"), node("n2"))
    assert 2 == sum(len(each["assignments"]) for each in answer["decisions"])


def test_pods_of_a_stateful_set_that_come_one_after_the_other_wait_for_ever():
    status, answer = fit(of_volcano("StatefulSet"), node("n1"), node("n2"))
    assert (1, True) == (status, "created only when the pod before it is ready" in answer["message"])


def test_each_revision_of_a_deployment_has_its_own_gang():
    cluster = [node("n1", 2), node("n2", 2), old("a", "n1"), old("b", "n2")]
    status, answer = fit(of_volcano("Deployment"), *cluster)
    assert (1, "hangs", "spec.strategy.rollingUpdate.maxSurge: 100%") == (
        status,
        answer["rollout"]["outcome"],
        answer["rollout"]["change"],
    )
    status, answer = fit(of_volcano("Deployment", strategy={"type": "Recreate"}), *cluster)
    assert (0, "at-once") == (status, answer["rollout"]["outcome"])


@pytest.mark.parametrize(("kind", "fields"), [("StatefulSet", {"podManagementPolicy": "Parallel"}), ("DaemonSet", {})])
def test_the_gang_of_other_kinds_stays(kind, fields):
    cluster = [node("n0"), node("n1"), *(old(f"llm-{number}", f"n{number}", kind) for number in range(2))]
    status, answer = fit(of_volcano(kind, **fields), *cluster)
    assert (0, "at-once", 2) == (status, answer["rollout"]["outcome"], answer["rollout"]["step"])


@pytest.mark.parametrize(("kind", "fields"), [("Deployment", {}), ("StatefulSet", {"podManagementPolicy": "Parallel"})])
def test_the_group_that_volcano_writes_into_pods_is_no_update(kind, fields):
    owner = "ReplicaSet" if kind == "Deployment" else kind
    cluster = [node("n0"), node("n1"), *(old(f"llm-{number}", f"n{number}", owner, "i:2") for number in range(2))]
    status, answer = fit(of_volcano(kind, **fields), *cluster)
    assert (0, False) == (status, "rollout" in answer)
