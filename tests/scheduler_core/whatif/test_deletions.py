"""Pods and groups that are being deleted: roots wait for them, nobody else is evicted, and reasons are about what is left."""

from __future__ import annotations

import pytest

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.status import Status
from scheduler_core.wording.decision_words import message
from tests.scheduler_core.whatif.cluster import RACK, decided, gang, helped, node, not_placed, pod, tree, waiting

LATER = "2026-01-01T00:05:00Z"
GREEDY = CycleOptions()
APART = [{"labelSelector": {"matchLabels": {"noisy": "yes"}}, "topologyKey": RACK}]
QUIET = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": APART}}}
NODES = [node("a1"), node("a2"), node("b1", "r2"), node("b2", "r2")]


def leaving(made, **labels):
    return {**made, "metadata": {**made["metadata"], "labels": labels, "deletionTimestamp": LATER}}


def labelled(made, **labels):
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


AWAITED = {
    "a pod of a lower priority, on a node without a nomination": (
        [
            *(*NODES, leaving(pod("va", on="a2", priority=0), noisy="yes"), labelled(pod("vb", on="b2", priority=0), noisy="yes")),
            *(gang("g", 2, priority=9), *waiting("g", 2, priority=9, **QUIET)),
        ],
        "group g fits when 1 pod that is being deleted (default/va on a2) is gone",
        "wait for 1 pod that is being deleted: Pod default/va",
    ),
    "pods of the same priority, and others that are not in the way": (
        [
            *(node("a1"), node("a2"), leaving(pod("x", on="a1")), leaving(pod("y", on="a2", cpu=3)), pod("z", on="a2", cpu=1)),
            *(gang("g", 2, ""), *waiting("g", 2, cpu=3)),
        ],
        "group g fits when 2 pods that are being deleted (default/x on a1, default/y on a2) are gone".replace(
            ", default/y", " and default/y"
        ),
        "wait for 2 pods that are being deleted: Pod default/x and Pod default/y",
    ),
    "only one of several": (
        [node("a1"), node("a2"), leaving(pod("x", on="a1", cpu=4)), leaving(pod("y", on="a2")), pod("z", on="a2"), pod("big", cpu=4)],
        "pod big fits when 1 pod that is being deleted (default/x on a1) is gone",
        "wait for 1 pod that is being deleted: Pod default/x",
    ),
    "only one of two on its node": (
        [node("a1"), leaving(pod("x", on="a1", cpu=3)), leaving(pod("y", on="a1", cpu=1)), pod("big", cpu=3)],
        "pod big fits when 1 pod that is being deleted (default/x on a1) is gone",
        "wait for 1 pod that is being deleted: Pod default/x",
    ),
    "a member of a gang that is being deleted": (
        [
            *(
                node("a1"),
                node("b1", "r2", cpu=1),
                gang("old", 2),
                leaving(pod("old-0", "old", on="a1")),
                leaving(pod("old-1", "old", on="a1")),
            ),
            *(tree("t", 1), gang("g", 2, parent="t"), *waiting("g", 2)),
        ],
        "group t fits when 2 pods that are being deleted (default/old-0 on a1 and default/old-1 on a1) are gone",
        "wait for 2 pods that are being deleted: Pod default/old-0 and Pod default/old-1",
    ),
}


@pytest.mark.parametrize(("objects", "reason", "change"), AWAITED.values(), ids=AWAITED)
def test_a_root_that_fits_later_waits_and_nobody_else_is_evicted(objects, reason, change):
    assert [change] == helped(objects)
    for options in (CycleOptions(strategy="complete"), GREEDY):
        (decision,) = not_placed(objects, options)
        assert message(decision) == reason
        assert not decision.victims


LEFT = {
    "too little is left": (
        [node("a1"), leaving(pod("x", on="a1", cpu=3)), pod("y", on="a1", cpu=1), pod("big", cpu=4)],
        "short of 1 cpu: 3 free, 4 needed",
        {"Pod default/y evicted (1 running pod)": False, "1 more node like a1": True},
    ),
    "a gang": (
        [
            *NODES,
            *(leaving(pod(f"x{n}", on=each)) for n, each in enumerate(("a1", "b1"))),
            pod("s", on="a1", cpu=1),
            gang("g", 3),
            *waiting("g", 3, cpu=3),
        ],
        "rack r2 can hold 2",
        {"minCount of PodGroup default/g lowered from 3 to 2": False},
    ),
}


@pytest.mark.parametrize(("objects", "reason", "changes"), LEFT.values(), ids=LEFT)
def test_the_reason_and_the_changes_are_about_what_is_left(objects, reason, changes):
    (decision,) = not_placed(objects)
    text = message(decision)
    assert reason in text
    assert "Counted as gone: " in text
    found = helped(objects)
    for change, now in changes.items():
        assert (change in found) is now, found
        assert any(each.startswith("wait for ") and each.endswith(f", and {change}") for each in found) is not now, found


def test_a_change_that_helps_now_does_not_wait_for_deletions():
    objects = [node("a1"), node("b1", cpu=1), leaving(pod("x", on="b1", cpu=1)), pod("y", on="a1"), pod("big", cpu=4)]
    found = helped(objects)
    assert "Pod default/y evicted (1 running pod)" in found
    assert not any("wait for" in each for each in found)


def test_deletions_that_make_no_difference_are_not_named():
    (decision,) = not_placed([node("a1"), leaving(pod("x", on="a1")), pod("picky", nodeSelector={"disk": "ssd"})])
    assert message(decision)
    assert "gone" not in message(decision)


def deleted(group):
    metadata = {**group["metadata"], "deletionTimestamp": LATER, "finalizers": ["scheduling.k8s.io/podgroup-protection"]}
    return {**group, "metadata": metadata}


NEVER = {
    "a gang without a member": (
        [deleted(gang("g", 3)), *waiting("g", 2)],
        'PodGroup "g" is being deleted: the missing pod can never be created',
    ),
    "several members": ([deleted(gang("g", 4)), *waiting("g", 2)], 'PodGroup "g" is being deleted: the missing pods can never be created'),
    "a tree": (
        [deleted(tree("t", 3)), *(each for name in "xy" for each in (gang(name, 1, parent="t"), *waiting(name, 1)))],
        'CompositePodGroup "t" is being deleted: the missing child group can never be created',
    ),
}


@pytest.mark.parametrize(("objects", "reason"), NEVER.values(), ids=NEVER)
def test_a_group_that_is_being_deleted_never_gets_its_members_and_has_no_remedy(objects, reason):
    (decision,) = decided([*NODES, *objects]).values()
    assert decision.status is Status.WAIT
    assert message(decision).endswith(f"; {reason}")
    assert [] == helped([*NODES, *objects])


@pytest.mark.parametrize("cpu", [1, 4], ids=["placed", "not placed"])
def test_a_whole_group_that_is_being_deleted_is_said_to_be(cpu):
    (decision,) = decided([node("a1"), deleted(gang("g", 2)), *waiting("g", 2, cpu=cpu)]).values()
    assert (decision.status is Status.SUCCESS) is (cpu == 1)
    assert message(decision).endswith('PodGroup "g" is being deleted: no more pods can be created')
