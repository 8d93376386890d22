"""Updates without a cluster: what controllers delete and create, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from expansion.contents import full_name
from expansion.rollouts.play import Outcome, Played, Update
from expansion.rollouts.running import Rollout, is_played
from kubeapi.content import int_or_percent
from kubeapi.names import Name

Json = dict[str, Any]


def pod(name: str, image: str = "new", node: str = "", **metadata: Any) -> Json:
    spec = {"containers": [{"name": "c", "image": image}], **({"nodeName": node} if node else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team", **metadata}, "spec": spec}


def pinned(name: str, node: str) -> Json:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    created = pod(name)
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {**created, "spec": {**created["spec"], "affinity": {"nodeAffinity": required}}}


def rollout(kind: str, old: int = 4, new: int = 4, spec: Json | None = None, **more: Any) -> Rollout:
    nodes = [f"n{number}" for number in range(max(old, new))]
    running = [pod(f"w-{number}" if kind == "StatefulSet" else f"old-{number}", "old", nodes[number]) for number in range(old)]
    if kind == "DaemonSet":
        created = [pinned(f"new-{number}", nodes[number]) for number in range(new)]
    else:
        created = [pod(f"w-{number}" if kind == "StatefulSet" else f"new-{number}") for number in range(new)]
    return Rollout(Name(kind, "team", "w"), {"kind": kind, "spec": spec or {}}, more.pop("running", running), created, **more)


class Slots:
    """Cluster with a number of places, each for one pod."""

    def __init__(self, places: int, running: Sequence[Json]) -> None:
        self.waiting = dict.fromkeys(full_name(each) for each in running if "nodeName" not in each["spec"])
        self.placed: dict[tuple[str, str], str] = {}
        self.free = places - len(running) + len(self.waiting)

    def place(self, deleted: Any, created: Any) -> dict[tuple[str, str], str]:
        for name in map(full_name, deleted):
            self.placed.pop(name, None)
            if name in self.waiting:
                del self.waiting[name]
            else:
                self.free += 1
        self.waiting |= dict.fromkeys(map(full_name, created))
        while self.waiting and self.free:
            name = next(iter(self.waiting))
            del self.waiting[name]
            self.placed[name] = "any"
            self.free -= 1
        return self.placed


def played(of: Rollout, places: int) -> Played:
    slots = Slots(places, of.old)
    return Update(of.strategy(), of.situation()).play(slots.place, of.allowed, most=50)


def told(of: Rollout, places: int) -> tuple[Outcome, list[tuple[int, ...]]]:
    result = played(of, places)
    return result.outcome, [(each.deleted, each.created, each.old, each.new, each.waiting) for each in result.steps]


def rolling(surge: int | str, unavailable: int | str) -> Json:
    return {"strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}


def test_a_deployment_with_room_for_its_surge():
    steps = [(1, 2, 3, 2, 0), (2, 2, 1, 4, 0), (1, 0, 0, 4, 0)]
    outcome, found = told(rollout("Deployment"), 6)
    assert Outcome.AT_ONCE is outcome
    assert (4, 4) == (sum(each[0] for each in found), sum(each[1] for each in found))
    assert steps[-1][2:] == found[-1][2:]


@pytest.mark.parametrize(
    ("spec", "places", "outcome"),
    [
        (rolling(1, 0), 4, Outcome.HANGS),
        (rolling(1, 0), 5, Outcome.AT_ONCE),
        (rolling(0, 1), 4, Outcome.AT_ONCE),
        (rolling("25%", "25%"), 4, Outcome.DURING),
        (rolling("10%", "10%"), 4, Outcome.HANGS),
        (rolling(0, "10%"), 4, Outcome.AT_ONCE),
        (rolling("100%", 0), 7, Outcome.DURING),
        (rolling("100%", 0), 4, Outcome.HANGS),
        ({"strategy": {"type": "Recreate"}}, 4, Outcome.AT_ONCE),
        ({"paused": True}, 4, Outcome.AT_ONCE),
    ],
)
def test_deployments_in_full_clusters(spec, places, outcome):
    assert outcome is played(rollout("Deployment", spec=spec), places).outcome


def test_a_hanging_deployment_keeps_what_must_be_available():
    result = played(rollout("Deployment", spec=rolling(2, 0)), 4)
    assert (Outcome.HANGS, 4, 0, 2) == (result.outcome, result.last.old, result.last.new, result.last.waiting)


def test_old_pods_that_are_not_ready_go_first():
    broken = pod("old-9", "old", "n9", creationTimestamp="2020-01-01T00:00:00Z")
    broken["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    of = rollout("Deployment", 1, 2, rolling(0, 1), running=[pod("old-0", "old", "n0"), broken])
    update = Update(of.strategy(), of.situation())
    assert ["team/old-9"] == list(update._strategy.next_step(update.progress).delete)


def test_a_cheaper_pod_goes_before_others_and_a_newer_one_before_older_ones():
    old = [
        pod("old-a", "old", "n0", creationTimestamp="2026-01-01T00:00:00Z"),
        pod("old-b", "old", "n1", creationTimestamp="2026-01-02T00:00:00Z"),
        pod(
            "old-c", "old", "n2", annotations={"controller.kubernetes.io/pod-deletion-cost": "-1"}, creationTimestamp="2025-01-01T00:00:00Z"
        ),
    ]
    of = rollout("Deployment", 1, 3, rolling(0, 2), running=old)
    update = Update(of.strategy(), of.situation())
    assert ["team/old-c", "team/old-b"] == list(update._strategy.next_step(update.progress).delete)


def test_a_deployment_scales_its_old_pods_before_it_replaces_them():
    grown = told(rollout("Deployment", 1, 3, rolling(1, 0)), 3)
    assert (Outcome.HANGS, (0, 2, 3, 0, 0)) == (grown[0], grown[1][0])
    assert (Outcome.AT_ONCE, (0, 2, 3, 0, 0)) == (told(rollout("Deployment", 1, 3, rolling(1, 0)), 4)[0], grown[1][0])
    shrunk = told(rollout("Deployment", 4, 2, rolling(1, 0)), 4)
    assert (Outcome.AT_ONCE, (2, 0, 2, 0, 0)) == (shrunk[0], shrunk[1][0])


def test_old_pods_that_find_no_node_do_not_hold_the_update():
    result = played(rollout("Deployment", 1, 3, rolling(0, 1)), 2)
    assert (Outcome.HANGS, 1) == (result.outcome, result.last.waiting)


def test_a_stateful_set_replaces_the_highest_ordinal_first():
    outcome, steps = told(rollout("StatefulSet"), 4)
    assert (Outcome.AT_ONCE, [(1, 1, 3, 1, 0), (1, 1, 2, 2, 0), (1, 1, 1, 3, 0), (1, 1, 0, 4, 0)]) == (outcome, steps)


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"updateStrategy": {"rollingUpdate": {"partition": 2}}}, 2),
        ({"updateStrategy": {"type": "OnDelete"}}, 4),
        ({"updateStrategy": {"rollingUpdate": {"partition": 9}}}, 4),
        ({"podManagementPolicy": "Parallel"}, 0),
        ({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}}, 0),
    ],
)
def test_stateful_sets_keep_what_their_strategy_keeps(spec, left):
    result = played(rollout("StatefulSet", spec=spec), 4)
    assert (Outcome.AT_ONCE, left) == (result.outcome, result.last.old)


def test_a_stateful_set_grows_and_shrinks_before_it_is_updated():
    assert Outcome.HANGS is played(rollout("StatefulSet", 2, 4), 3).outcome
    grown = played(rollout("StatefulSet", 2, 3), 3)
    assert (Outcome.AT_ONCE, 3) == (grown.outcome, grown.last.new)
    shrunk = played(rollout("StatefulSet", 4, 2), 4)
    assert (Outcome.AT_ONCE, 0, 2) == (shrunk.outcome, shrunk.last.old, shrunk.last.new)


def test_a_pod_of_a_stateful_set_that_is_not_ready_blocks_it():
    running = [pod(f"w-{number}", "old", f"n{number}") for number in range(3)]
    running[0]["status"] = {"phase": "Pending"}
    assert Outcome.HANGS is played(rollout("StatefulSet", 3, 3, running=running), 3).outcome
    parallel = rollout("StatefulSet", 3, 3, {"podManagementPolicy": "Parallel"}, running=running)
    assert Outcome.AT_ONCE is played(parallel, 3).outcome


@pytest.mark.parametrize(
    ("rolling_update", "places", "outcome"),
    [
        ({}, 4, Outcome.AT_ONCE),
        ({"maxUnavailable": "50%"}, 4, Outcome.AT_ONCE),
        ({"maxSurge": 1, "maxUnavailable": 0}, 4, Outcome.HANGS),
        ({"maxSurge": 1, "maxUnavailable": 0}, 5, Outcome.AT_ONCE),
        ({"maxSurge": "100%", "maxUnavailable": 0}, 8, Outcome.AT_ONCE),
    ],
)
def test_daemon_sets(rolling_update, places, outcome):
    assert outcome is played(rollout("DaemonSet", spec={"updateStrategy": {"rollingUpdate": rolling_update}}), places).outcome


def test_a_quota_refuses_the_surge():
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": {"pods": "4"}}}
    result = played(rollout("Deployment", spec=rolling(1, 0), quotas=[quota]), 9)
    assert (Outcome.HANGS, 1, 0) == (result.outcome, result.last.refused, result.last.waiting)
    assert Outcome.AT_ONCE is played(rollout("Deployment", spec=rolling(0, 1), quotas=[quota]), 9).outcome
    used = {**quota, "status": {"hard": {"pods": "5"}, "used": {"pods": "5"}}}
    assert Outcome.HANGS is played(rollout("Deployment", spec=rolling(1, 0), quotas=[used]), 9).outcome


def owned(name: str, image: str, node: str, owner: str, created: str) -> Json:
    reference = {"kind": "ReplicaSet", "name": owner, "controller": True}
    return pod(name, image, node, ownerReferences=[reference], creationTimestamp=f"2026-01-01T00:00:{created}Z")


def test_a_deployment_scales_its_only_replica_set_before_it_replaces_pods():
    outcome, steps = told(rollout("Deployment", 4, 5, rolling("50%", 0)), 4)
    assert (Outcome.HANGS, [(0, 1, 5, 0, 0), (0, 3, 5, 0, 3)]) == (outcome, steps)
    outcome, steps = told(rollout("Deployment", 4, 3, rolling(1, 0)), 4)
    assert (Outcome.AT_ONCE, (1, 0, 3, 0, 0)) == (outcome, steps[0])


def test_old_pods_of_a_larger_number_are_refused_too():
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": {"pods": "4"}}}
    result = played(rollout("Deployment", 4, 5, rolling(0, 1), quotas=[quota]), 9)
    assert (Outcome.HANGS, 4, 0, 0, 1) == (result.outcome, result.last.old, result.last.new, result.last.waiting, result.last.refused)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("StatefulSet", {"podManagementPolicy": "Parallel", "updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}}}),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}}}),
    ],
)
def test_nothing_is_replaced_while_a_quota_refuses_missing_pods(kind, spec):
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": {"pods": "3"}}}
    result = played(rollout(kind, 3, 4, spec, quotas=[quota]), 9)
    assert (Outcome.HANGS, 3, 0, 0, 1) == (result.outcome, result.last.old, result.last.new, result.last.waiting, result.last.refused)


def replica_set(name: str, desired: int, most: int) -> Json:
    annotations = {"deployment.kubernetes.io/desired-replicas": str(desired), "deployment.kubernetes.io/max-replicas": str(most)}
    return {"kind": "ReplicaSet", "metadata": {"name": name, "namespace": "team", "annotations": annotations}}


def of_two_sets(old: int, new: int, number: int, surge: int, desired: int, **spec: Any) -> Rollout:
    """Return an update that is under way: with new pods that have no nodes, and the numbers of replicas before and now."""
    running = [owned(f"a-{each}", "old", f"n{each}", "a", "00") for each in range(old)]
    running += [owned(f"b-{each}", "new", "", "b", "01") for each in range(new)]
    sets = [replica_set(each, desired, desired + surge) for each in "ab"]
    return rollout("Deployment", 0, number, {**rolling(surge, 0), **spec}, running=running, sets=sets)


@pytest.mark.parametrize(
    ("of", "places", "want"),
    [
        # 4 * 7/5 = 5.6, and all that can be added goes to the larger one.
        (of_two_sets(4, 1, 6, 1, 4), 9, (0, 2, 6, 1, 0)),
        # 4 * 11/5 = 8.8, 1 * 11/5 = 2.2.
        (of_two_sets(4, 1, 10, 1, 4), 11, (0, 6, 9, 2, 0)),
        # 6 * 5/8 = 3.75, 2 * 5/8 = 1.25.
        (of_two_sets(6, 2, 3, 2, 6), 9, (3, 0, 4, 1, 0)),
        # Of two of one size, the newer one gets more first, and the older one loses more first.
        (of_two_sets(2, 2, 4, 1, 3), 9, (0, 1, 2, 3, 0)),
        (of_two_sets(2, 2, 2, 1, 3), 9, (1, 0, 1, 2, 0)),
        # The number stays.
        (of_two_sets(4, 1, 4, 1, 4), 4, (0, 0, 4, 0, 1)),
        # A paused one fills its surge.
        (of_two_sets(4, 1, 4, 2, 4, paused=True), 6, (0, 1, 5, 1, 0)),
    ],
)
def test_replica_sets_share_a_new_number_by_proportion(of, places, want):
    assert want == told(of, places)[1][0]


def test_a_paused_deployment_scales_its_old_pods():
    of = rollout("Deployment", 2, 4, {"paused": True})
    assert (Outcome.AT_ONCE, [(0, 2, 4, 0, 0)]) == told(of, 4)
    assert Outcome.HANGS is told(of, 3)[0]


def test_a_daemon_set_with_on_delete_has_a_pod_on_each_node():
    of = rollout("DaemonSet", 2, 3, {"updateStrategy": {"type": "OnDelete"}})
    assert (Outcome.AT_ONCE, [(0, 1, 2, 1, 0)]) == told(of, 3)
    assert Outcome.HANGS is told(of, 2)[0]
    fewer = rollout("DaemonSet", 3, 2, {"updateStrategy": {"type": "OnDelete"}})
    assert (Outcome.AT_ONCE, [(1, 0, 2, 0, 0)]) == told(fewer, 3)


def _changed(old: Json, new: Json, *, whole: bool = True) -> bool:
    running, created = pod("w-abc-0", "i", "n0", labels={"app": "w", "pod-template-hash": "abc", "added": "1"}), pod("w-def-0", "i")
    created["metadata"]["labels"] = {"app": "w", "pod-template-hash": "def"}
    running["spec"] |= {"dnsPolicy": "ClusterFirst"} if whole else {}
    running["spec"]["containers"][0] |= old
    created["spec"]["containers"][0] |= new
    return is_played("Deployment", [running], [created])


def test_an_update_can_change_what_no_placement_reads():
    env = [{"name": "A", "value": "1"}]
    assert not _changed({}, {})
    assert not _changed({"env": [*env, {"name": "ADDED", "value": "2"}], "args": ["-v"]}, {"env": env, "args": ["-v"]})
    assert _changed({"env": env}, {"env": [{"name": "A", "value": "2"}]})
    assert _changed({"args": ["-v"]}, {"args": []})
    assert _changed({}, {"command": ["run"]})
    assert not _changed({}, {"env": env}, whole=False)
    old, relabelled = (pod("w-0", "i", "n0", labels={"version": each}) for each in "12")
    assert is_played("StatefulSet", [old], [relabelled])
    assert not is_played("StatefulSet", [old], [old])


def test_two_replica_sets_are_not_scaled_at_once():
    running = [owned("a-0", "old", "n0", "a", "01"), owned("b-0", "older", "n1", "b", "00")]
    _, steps = told(rollout("Deployment", 2, 3, rolling(1, 0), running=running), 9)
    assert (0, 2, 2, 2, 0) == steps[0]


def test_an_update_goes_on_where_it_is():
    running = [owned("a-0", "old", "n0", "a", "00"), owned("a-1", "old", "n1", "a", "00"), owned("b-0", "new", "", "b", "01")]
    hangs = played(rollout("Deployment", 3, 2, rolling(1, 0), running=running), 2)
    assert (Outcome.HANGS, 2, 0, 1) == (hangs.outcome, hangs.last.old, hangs.last.new, hangs.last.waiting)
    outcome, steps = told(rollout("Deployment", 3, 2, rolling(0, 1), running=running), 2)
    assert (Outcome.AT_ONCE, [(1, 0, 1, 1, 0), (1, 1, 0, 2, 0)]) == (outcome, steps)


def test_an_update_that_is_taken_back_keeps_the_pods_that_run():
    running = [owned("a-0", "new", "n0", "a", "00"), owned("a-1", "new", "n1", "a", "00"), owned("b-0", "old", "", "b", "01")]
    outcome, steps = told(rollout("Deployment", 3, 2, rolling(1, 0), running=running), 2)
    assert (Outcome.AT_ONCE, [(1, 0, 0, 2, 0)]) == (outcome, steps)
    ordinals = [pod("w-0", "new", "n0"), pod("w-1", "old", "n1")]
    assert [(1, 1, 0, 2, 0)] == told(rollout("StatefulSet", 2, 2, running=ordinals), 2)[1]


def test_an_old_pod_that_gets_a_node_is_available():
    running = [owned(f"a-{number}", "old", "n0" if number else "", "a", "00") for number in range(3)]
    result = played(rollout("Deployment", 3, 3, rolling(1, 0), running=running), 3)
    assert (Outcome.HANGS, 3, 1) == (result.outcome, result.last.old, result.last.waiting)


def test_a_stateful_set_creates_old_pods_below_its_partition():
    partition = {"updateStrategy": {"rollingUpdate": {"partition": 3}}}
    result = played(rollout("StatefulSet", 2, 4, partition), 4)
    assert (Outcome.AT_ONCE, 3, 1) == (result.outcome, result.last.old, result.last.new)
    result = played(rollout("StatefulSet", 2, 4, {"updateStrategy": {"type": "OnDelete"}}), 4)
    assert (Outcome.AT_ONCE, 2, 2) == (result.outcome, result.last.old, result.last.new)


def test_a_partition_counts_from_the_first_ordinal():
    running, new = ([pod(f"w-{number}", image, f"n{number}") for number in range(5, 9)] for image in ("old", "new"))
    of = Rollout(Name("StatefulSet", "team", "w"), {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 3}}}}, running, new)
    assert (3, 1) == (played(of, 4).last.old, played(of, 4).last.new)


def test_a_daemon_set_deletes_surplus_pods_first():
    running = [owned(f"{image}-{number}", image, f"n{number}", "a", "00") for image in ("old", "older") for number in range(2)]
    surge = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    outcome, steps = told(rollout("DaemonSet", 2, 2, surge, running=running), 2)
    assert (Outcome.HANGS, [(2, 0, 2, 0, 0), (0, 1, 2, 0, 1)]) == (outcome, steps)


@pytest.mark.parametrize(
    ("surge", "wanted"), [(1, [(1, 1, 1, 2, 0), (1, 0, 0, 2, 0)]), (0, [(1, 0, 2, 0, 0), (1, 1, 1, 1, 0), (1, 1, 0, 2, 0)])]
)
def test_a_daemon_set_with_an_old_and_a_new_pod_on_a_node(surge, wanted):
    running = [owned("old-0", "old", "n0", "a", "00"), owned("new-0", "new", "n0", "a", "01"), owned("old-1", "old", "n1", "a", "00")]
    rolling_update = {"updateStrategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1 - surge}}}
    assert (Outcome.AT_ONCE, wanted) == told(rollout("DaemonSet", 3, 2, rolling_update, running=running), 4)


def test_an_old_pod_of_a_daemon_set_that_is_not_ready_gives_way_to_a_new_one():
    running = [owned("old-0", "old", "n0", "a", "00"), owned("new-0", "new", "", "a", "01")]
    running[0]["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    running[1]["spec"]["affinity"] = pinned("new-0", "n0")["spec"]["affinity"]
    surge = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    assert (Outcome.AT_ONCE, [(1, 0, 0, 1, 0)]) == told(rollout("DaemonSet", 1, 1, surge, running=running), 1)


def test_equal_pods_are_no_update():
    tolerations = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    same = pod("old", "new", "n0")
    same["spec"]["tolerations"] = tolerations
    assert not is_played("Deployment", [same], [pod("new")])
    assert is_played("Deployment", [pod("old", "old", "n0")], [pod("new")])
    assert not is_played("ReplicaSet", [pod("old", "old", "n0")], [pod("new")])
    assert not is_played("Deployment", [], [pod("new")])
    limits = pod("old", "new", "n0")
    limits["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    wanted = pod("new")
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    assert not is_played("Deployment", [limits], [wanted])


@pytest.mark.parametrize(
    ("written", "want"),
    [(3, 3), ("50%", 2), ("30%", 1), ("x", 1), (None, 1), (True, 1), (-1, 0), ("9" * 5000 + "%", 1), ("٣%", 1), ([], 1), ("%", 1)],
)
def test_numbers_and_percentages(written, want):
    assert want == int_or_percent(written, 4, default="25%", up=False)


def test_percentages_are_rounded_up_or_down():
    assert (1, 2) == (int_or_percent("25%", 5, default=0, up=False), int_or_percent("25%", 5, default=0, up=True))
