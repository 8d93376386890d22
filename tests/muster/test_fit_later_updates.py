"""``muster fit`` says of a new object that fits whether a later update would hang."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muster.test_fit_group_rollouts import leader_worker_set, ray_service
from tests.muster.test_fit_rollouts import GPU, SURGE_0, Json, _folder, fit, node, running, workload  # noqa: F401 - a fixture
from tests.muster.test_fit_volcano_owners import of_volcano

REASON = "LaterUpdateHangs"


def told(mine: Json, *cluster: Json, options: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    status, answer = fit(mine, *cluster, options=options)
    return status, [each["message"] for each in answer.get("notes", ()) if each["reason"] == REASON]


def hangs(old: int, waiting: int, change: str) -> str:
    runs, waits = f"old pod{'s run' if old > 1 else ' runs'} on", f"new pod{'s wait' if waiting > 1 else ' waits'}"
    return f"a later update would hang: {old} {runs}, and {waiting} {waits}; it is finished with {change}"


@pytest.mark.parametrize(
    ("mine", "nodes", "notes"),
    [
        (workload("Deployment"), 1, [hangs(1, 1, "spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}")]),
        (workload("Deployment"), 2, []),
        (workload("Deployment", **SURGE_0), 1, []),
        (workload("Deployment", strategy={"type": "Recreate"}), 1, []),
        (workload("StatefulSet", 2), 2, []),
        (workload("DaemonSet"), 1, []),
        (
            workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
            2,
            [hangs(2, 1, "spec.updateStrategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}")],
        ),
        (leader_worker_set(), 4, []),
        (
            leader_worker_set(maxSurge=1, maxUnavailable=0),
            4,
            [hangs(4, 2, "spec.rolloutStrategy.rollingUpdateConfiguration: {maxSurge: 0, maxUnavailable: 1}")],
        ),
        (leader_worker_set(maxSurge=1, maxUnavailable=0), 6, []),
        (ray_service(), 3, [hangs(3, 3, "3 more nodes like n0")]),
        (ray_service(), 6, []),
        (ray_service(upgradeStrategy={"type": "None"}), 3, []),
        (of_volcano("Deployment"), 4, [hangs(2, 1, "spec.strategy.rollingUpdate.maxSurge: 100%")]),
        (of_volcano("Deployment", strategy={"rollingUpdate": {"maxSurge": "100%"}}), 4, []),
        (of_volcano("Deployment", strategy={"rollingUpdate": {"maxSurge": "100%"}}), 3, [hangs(2, 2, "spec.strategy: {type: Recreate}")]),
    ],
)
def test_a_later_update_of_a_new_object(mine, nodes, notes):
    assert (0, notes) == told(mine, *(node(f"n{number}") for number in range(nodes)))


def test_an_object_that_does_not_fit_has_no_later_update():
    assert (1, []) == told(workload("Deployment", 2), node("n1"))


def test_an_object_that_runs_as_it_is_has_a_later_update_too():
    """What a snapshot lacks, as variables, may be the change."""
    note = "a later update would hang: 1 old pod runs on, and 1 new pod waits; it is finished with "
    help_ = "spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}"
    assert (0, [note + help_]) == told(workload("Deployment"), node("n1"), running("a", "n1", image="i:2"))


def test_an_object_that_is_updated_now_has_no_note():
    assert (0, []) == told(workload("Deployment"), node("n1", 2), running("a", "n1", image="i:1"))


def test_without_remedies_no_change_is_tried():
    assert (0, ["a later update would hang: 1 old pod runs on, and 1 new pod waits"]) == told(
        workload("Deployment"), node("n1"), options=("--remedies", "0")
    )


def test_a_quota_can_refuse_a_later_update():
    hard = {f"requests.{GPU}": "1"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": hard}}
    status, notes = told(workload("Deployment"), node("n1", 2), quota)
    assert (0, 1) == (status, len(notes))
    assert notes[0].startswith("a later update would hang: 1 old pod runs on, and a quota refuses 1 new pod; it is finished with ")


def test_other_objects_at_path_keep_their_places():
    other: dict[str, Any] = workload("Deployment", **SURGE_0)
    other["metadata"]["name"] = "other"
    mine = {"apiVersion": "v1", "kind": "List", "items": [workload("Deployment"), other]}
    assert (0, 1) == (told(mine, node("n1", 2))[0], len(told(mine, node("n1", 2))[1]))
    assert (0, []) == told(mine, node("n1", 3))
