"""Updates of groups of pods without a cluster: LeaderWorkerSet, RayService, PodCliqueSet."""

from __future__ import annotations

from typing import Any

import pytest

from expansion.rollouts.group_updates import grouped_as, joined_to_groups
from expansion.rollouts.play import Outcome, Played, Update
from expansion.rollouts.running import Rollout, is_played
from expansion.rollouts.units import Key
from kubeapi.base_structs import replaced
from kubeapi.names import Name
from tests.expansion.rollouts.test_strategies import Slots, played, pod, told

Json = dict[str, Any]
LWS = "leaderworkerset.sigs.k8s.io/"


def group(number: int, image: str = "new", size: int = 2) -> list[Json]:
    labels = {f"{LWS}name": "w", f"{LWS}group-index": str(number)}
    node = f"n{number}" if image == "old" else ""
    return [pod(f"w-{number}{f'-{worker}' if worker else ''}", image, node, labels=labels) for worker in range(size)]


def leader_worker_set(old: int = 3, new: int = 3, surge: int = 0, **rolling: Any) -> Rollout:
    manifest = {"kind": "LeaderWorkerSet", "spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": surge, **rolling}}}}
    running = [each for number in range(old) for each in group(number, "old")]
    created = [each for number in range(new) for each in group(number)]
    further = [each for number in range(new, new + surge) for each in group(number)]
    return Rollout(Name("LeaderWorkerSet", "team", "w"), manifest, running, created, further=further)


def last(result: Played) -> tuple[Outcome, int, int, int]:
    return result.outcome, result.last.old, result.last.new, result.last.waiting


@pytest.mark.parametrize(
    ("of", "places", "want"),
    [
        (leader_worker_set(), 6, (Outcome.AT_ONCE, 0, 6, 0)),
        (leader_worker_set(maxUnavailable="100%"), 6, (Outcome.AT_ONCE, 0, 6, 0)),
        (leader_worker_set(surge=1, maxUnavailable=0), 6, (Outcome.HANGS, 6, 0, 2)),
        (leader_worker_set(surge=1, maxUnavailable=0), 8, (Outcome.AT_ONCE, 0, 6, 0)),
        (leader_worker_set(surge=1, maxUnavailable=1), 6, (Outcome.DURING, 0, 6, 0)),
        (leader_worker_set(surge=3, maxUnavailable=0), 12, (Outcome.AT_ONCE, 0, 6, 0)),
        (leader_worker_set(partition=2), 6, (Outcome.AT_ONCE, 4, 2, 0)),
        (leader_worker_set(partition=9), 6, (Outcome.AT_ONCE, 6, 0, 0)),
        (leader_worker_set(2, 4, partition=3), 8, (Outcome.AT_ONCE, 6, 2, 0)),
        # The controller keeps the groups beyond the number for ever, and does not wait for them.
        (leader_worker_set(surge=1, maxUnavailable=0, partition=3), 6, (Outcome.AT_ONCE, 6, 0, 2)),
        (leader_worker_set(2, 3), 6, (Outcome.AT_ONCE, 0, 6, 0)),
        (leader_worker_set(2, 3), 5, (Outcome.HANGS, 4, 1, 1)),
        (leader_worker_set(4, 3), 8, (Outcome.AT_ONCE, 0, 6, 0)),
        (leader_worker_set(4, 3, surge=2, maxUnavailable=0), 10, (Outcome.AT_ONCE, 0, 6, 0)),
    ],
)
def test_leader_worker_sets(of, places, want):
    assert want == last(played(of, places))


def test_groups_beyond_the_number_are_reclaimed_before_the_end():
    steps = played(leader_worker_set(surge=1, maxUnavailable=0), 8).steps
    assert (2, 0) == (steps[0].created, steps[0].deleted)
    assert 6 + 2 == sum(each.created for each in steps)
    assert 6 + 2 == sum(each.deleted for each in steps)
    assert 6 == steps[-1].new


@pytest.mark.parametrize(("number", "want"), [(2, (Outcome.AT_ONCE, 0)), (0, (Outcome.HANGS, 6)), (1, (Outcome.HANGS, 6))])
def test_a_group_that_is_not_ready_is_replaced_only_if_it_is_the_last(number, want):
    of = leader_worker_set()
    for each in of.old[2 * number : 2 * number + 2]:
        each["status"] = {"phase": "Pending"}
    assert want == last(played(of, 6))[:2]


def test_a_group_that_runs_in_part_gets_the_rest():
    of = leader_worker_set(partition=2, maxUnavailable=1)
    of.old[4:] = [{**each, "metadata": {**each["metadata"], "name": f"w-2{end}"}} for each, end in zip(group(2), ("", "-1"), strict=True)]
    of.old[4]["spec"]["nodeName"] = "n2"
    assert (Outcome.AT_ONCE, [(0, 0, 4, 2, 0)]) == told(of, 6)
    assert (Outcome.HANGS, [(0, 0, 4, 1, 1)]) == told(of, 5)


def test_a_leader_worker_set_that_runs_without_groups_is_updated_without_them():
    old, new = [pod("w-0", "old", "n0")], pod("w-0")
    new["spec"]["schedulingGroup"] = {"podGroupName": "w-0"}
    manifest = {"kind": "LeaderWorkerSet"}
    assert "schedulingGroup" not in grouped_as(manifest, old, [new])[0]["spec"]
    old[0]["spec"]["schedulingGroup"] = {"podGroupName": "w-old"}
    assert [new] == grouped_as(manifest, old, [new])
    assert [new] == grouped_as({"kind": "PodCliqueSet"}, [], [new])


def ray_service(strategy: Json | None = None) -> Rollout:
    running = [pod(f"s-abcde-{number}", "old", f"n{number}") for number in range(3)]
    created = [pod(f"s-{number}") for number in range(3)]
    return Rollout(Name("RayService", "team", "s"), {"kind": "RayService", "spec": strategy or {}}, running, created)


@pytest.mark.parametrize(
    ("strategy", "places", "want"),
    [
        ({}, 6, (Outcome.AT_ONCE, 0, 3, 0)),
        ({}, 5, (Outcome.HANGS, 3, 2, 1)),
        ({"upgradeStrategy": {"type": "NewCluster"}}, 3, (Outcome.HANGS, 3, 0, 3)),
        ({"upgradeStrategy": {"type": "None"}}, 3, (Outcome.AT_ONCE, 3, 0, 0)),
    ],
)
def test_ray_services(strategy, places, want):
    assert want == last(played(ray_service(strategy), places))


def _of_cluster(of: list[Json], cluster: str, image: str, node: bool = True) -> list[Json]:
    named = [
        {**each, "metadata": {**each["metadata"], "name": f"{cluster}-{number}", "labels": {"ray.io/cluster": cluster}}}
        for number, each in enumerate(of)
    ]
    return [
        {**each, "spec": {"containers": [{"name": "c", "image": image}], **({"nodeName": f"n{number}"} if node else {})}}
        for number, each in enumerate(named)
    ]


def test_the_pending_cluster_of_an_update_is_kept_or_given_up():
    of = ray_service()
    serving = _of_cluster(of.old, "s-a", "old")
    pending = replaced(of, old=[*serving, *_of_cluster(of.old, "s-b", "new", node=False)])
    assert (Outcome.AT_ONCE, [(0, 0, 3, 3, 0), (3, 0, 0, 3, 0)]) == told(pending, 6)
    assert (Outcome.HANGS, [(0, 0, 3, 2, 1)]) == told(pending, 5)
    other = replaced(of, old=[*serving, *_of_cluster(of.old, "s-b", "other", node=False)])
    assert (Outcome.AT_ONCE, [(3, 0, 3, 0, 0), (0, 3, 3, 3, 0), (3, 0, 0, 3, 0)]) == told(other, 6)


def test_other_tolerations_make_no_new_cluster():
    old, new = [pod("s-abcde-0", "new", "n0")], [pod("s-0")]
    new[0]["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    assert not is_played("RayService", old, new)
    assert is_played("LeaderWorkerSet", old, new)


def clique_pod(replica: int, clique: str, number: int, image: str, scaling: tuple[str, int] | None = None, **metadata: Any) -> Json:
    owner = f"p-{replica}-{scaling[0]}-{scaling[1]}-{clique}" if scaling else f"p-{replica}-{clique}"
    labels = {
        "app.kubernetes.io/part-of": "p",
        "grove.io/podclique": owner,
        "grove.io/podclique-pod-index": str(number),
        "grove.io/podcliqueset-replica-index": str(replica),
    }
    if scaling:
        scaling_labels = {"": f"p-{replica}-{scaling[0]}", "-replica-index": str(scaling[1])}
        labels |= {f"grove.io/podcliquescalinggroup{end}": value for end, value in scaling_labels.items()}
    node = f"n{replica}" if image == "old" else ""
    created = pod(f"{owner}-{number}{'-old' if node else ''}", image, node, labels=labels, **metadata)
    if not node:
        created["spec"]["schedulingGroup"] = {"podGroupName": owner}
    return created


def pod_clique_set(replicas: int = 2, spec: Json | None = None) -> Rollout:
    cliques = [
        {"name": "a", "spec": {"replicas": 2, "minAvailable": 1}},
        {"name": "b", "spec": {"replicas": 2}},
        {"name": "c", "spec": {"replicas": 1}},
    ]
    template = {"cliques": cliques, "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["c"], "replicas": 2}]}
    pods: dict[str, list[Json]] = {}
    for image in ("old", "new"):
        for replica in range(replicas):
            listed = pods.setdefault(image, [])
            listed += [clique_pod(replica, clique, number, image) for clique in "ab" for number in range(2)]
            listed += [clique_pod(replica, "c", 0, image, ("g", number)) for number in range(2)]
    manifest = {"kind": "PodCliqueSet", "spec": {"replicas": replicas, "template": template, **(spec or {})}}
    return Rollout(Name("PodCliqueSet", "team", "p"), manifest, pods["old"], pods["new"])


def _left(of: Rollout, places: int) -> list[Key]:
    slots, update = Slots(places, of.old), Update(of.strategy(), of.situation())
    update.play(slots.place, most=50)
    return [*update.progress.old]


def test_a_pod_clique_set_replaces_one_unit_of_each_part_of_one_replica_at_a_time():
    result = played(pod_clique_set(), 12)
    assert (Outcome.AT_ONCE, 0, 12, 0) == last(result)
    assert [(3, 3)] * 4 == [(each.deleted, each.created) for each in result.steps]


@pytest.mark.parametrize(
    ("spec", "left"), [({"updateStrategy": {"type": "OnDelete"}}, 12), ({"updateStrategy": {"type": "RollingRecreate"}}, 0), ({}, 0)]
)
def test_the_strategy_of_a_pod_clique_set(spec, left):
    assert (Outcome.AT_ONCE, left) == last(played(pod_clique_set(spec=spec), 12))[:2]


def test_a_pod_clique_set_hangs_in_the_replica_whose_minimum_does_not_run():
    of = pod_clique_set()
    for each in of.manifest["spec"]["template"]["cliques"]:
        each["spec"].pop("minAvailable", None)
    of.manifest["spec"]["template"]["podCliqueScalingGroups"][0]["minAvailable"] = 2
    result = played(of, 11)
    assert (Outcome.HANGS, 1) == (result.outcome, result.last.waiting)
    assert {"1"} == {str(each).split("/")[0] for each in _left(of, 11)}


def _not_ready(of: Rollout, *places: int) -> None:
    for place in places:
        of.old[place]["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}


def test_new_pods_in_place_of_broken_ones_are_not_awaited():
    of = pod_clique_set(1)
    _not_ready(of, 0)
    # The broken pod of a is replaced, and with its minimum of one the other pod too, although the first one finds no node.
    update = Update(of.strategy(), of.situation())
    update.play(lambda deleted, created: {}, most=50)
    assert {"0/b/1", "0/g/1"} == {*update.progress.old}


def test_the_replica_that_lacks_its_minimum_is_updated_first():
    of = pod_clique_set()
    _not_ready(of, 8)
    update = Update(of.strategy(), of.situation())
    assert {"1"} == {str(each).split("/")[0] for each in update._strategy.next_step(update.progress).delete}


def test_the_lowest_replica_of_a_scaling_group_goes_first_and_the_oldest_pod_of_a_clique():
    of = pod_clique_set(1)
    for number, each in enumerate(of.old):
        each["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{59 - number}Z"
    update = Update(of.strategy(), of.situation())
    assert ["0/a/1", "0/b/1", "0/g/0"] == [*update._strategy.next_step(update.progress).delete]


def test_running_pods_of_a_pod_clique_set_are_members_of_the_groups_of_the_new_ones():
    of = pod_clique_set(1)
    groups = [each["spec"]["schedulingGroup"]["podGroupName"] for each in joined_to_groups(of.manifest, of.old, of.new)]
    assert ["p-0-a", "p-0-a", "p-0-b", "p-0-b", "p-0-g-0-c", "p-0-g-1-c"] == groups
    assert of.old == joined_to_groups({"kind": "LeaderWorkerSet"}, of.old, of.new)


def test_groups_that_are_new_already_are_kept():
    of = leader_worker_set()
    for each in of.old[4:]:
        each["spec"]["containers"][0]["image"] = "new"
    assert (Outcome.AT_ONCE, 2, 4) == (played(of, 6).outcome, len(played(of, 6).steps), sum(each.deleted for each in played(of, 6).steps))
    assert 6 == sum(each.deleted for each in played(replaced(of, restarts=True), 6).steps)


def test_cliques_of_a_pod_clique_set_that_do_not_change_are_kept():
    of = pod_clique_set()
    for each in of.old:
        if each["metadata"]["labels"]["grove.io/podclique"].endswith("b"):
            each["spec"]["containers"][0]["image"] = "new"
    result = played(of, 12)
    assert (Outcome.AT_ONCE, 0, 12, 0) == last(result)
    assert 8 == sum(each.deleted for each in result.steps)


def test_what_controllers_add_to_pods_is_no_update():
    old, new = group(0, "old"), group(0)
    assert is_played("LeaderWorkerSet", old, new)
    same = group(0)
    same[0]["spec"]["containers"].append({"name": "added", "image": "sidecar"})
    same[0]["spec"]["initContainers"] = [{"name": "wait", "image": "sidecar"}]
    assert not is_played("LeaderWorkerSet", same, new)
    assert not is_played("RayService", same, new)
    assert not is_played("JobSet", old, new)
