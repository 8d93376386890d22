from __future__ import annotations

import pytest

from kubeapi.groups import PROTECTION_FINALIZERS
from scheduler_core.sidecar.controllers.finalizers import Finalizers
from scheduler_core.sidecar.controllers.pending_writes import RETRY_SECONDS
from scheduler_core.sidecar.writes import AddFinalizer, RemoveFinalizer
from validators.model.objects import decode_kind

LEAF, INNER = PROTECTION_FINALIZERS["PodGroup"], PROTECTION_FINALIZERS["CompositePodGroup"]


class Pods:
    """PodGroups that have members, by namespace and name."""

    def __init__(self, *groups, hidden=()):
        self.groups, self.hidden = groups, hidden

    def has_members(self, namespace, group):
        return (namespace, group) in self.groups

    def hides_children(self, namespace):
        return namespace in self.hidden


def group(name, *, kind="PodGroup", finalizers=(), deleting=False, parent=None, namespace="a"):
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "finalizers": list(finalizers)}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"schedulingPolicy": {"basic": {}}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return decode_kind(kind, {"metadata": metadata, "spec": spec})


def wanted(*groups, pods=None, protection=None, now=0.0):
    found = (protection or Finalizers()).wanted(groups, pods or Pods(), now)
    return [(type(each).__name__, each.target.name, each.finalizer) for each in found]


def test_a_group_without_protection_is_given_it():
    inner = group("top", kind="CompositePodGroup")

    assert [("AddFinalizer", "top", INNER), ("AddFinalizer", "leaf", LEAF)] == wanted(group("leaf"), inner)


def test_a_group_that_has_it_is_left_alone():
    assert [] == wanted(group("leaf", finalizers=["x", LEAF]))


def test_a_group_that_is_being_deleted_gets_none():
    assert [] == wanted(group("leaf", deleting=True, finalizers=["x"]))


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param(Pods(), [("RemoveFinalizer", "leaf", LEAF)], id="none left"),
        pytest.param(Pods(("a", "leaf")), [], id="one left"),
        pytest.param(Pods(("b", "leaf")), [("RemoveFinalizer", "leaf", LEAF)], id="one in another namespace"),
    ],
)
def test_a_pod_group_is_let_go_when_no_member_is_left(pods, want):
    assert want == wanted(group("leaf", deleting=True, finalizers=[LEAF]), pods=pods)


def test_deletion_runs_from_the_leaf_to_the_root():
    top = group("top", kind="CompositePodGroup", deleting=True, finalizers=[INNER])
    middle = group("middle", kind="CompositePodGroup", deleting=True, finalizers=[INNER], parent="top")
    leaf = group("leaf", deleting=True, finalizers=[LEAF], parent="middle")

    assert [("RemoveFinalizer", "leaf", LEAF)] == wanted(top, middle, leaf)
    assert [("RemoveFinalizer", "middle", INNER)] == wanted(top, middle)
    assert [("RemoveFinalizer", "top", INNER)] == wanted(top)


def composites(*names, deleting=True):
    """Each the parent of the one before, and the first of the last."""
    made = {"kind": "CompositePodGroup", "finalizers": [INNER]}
    return [group(name, **made, parent=names[(at + 1) % len(names)], deleting=deleting) for at, name in enumerate(names)]


@pytest.mark.parametrize("names", [["x"], ["x", "y"], ["x", "y", "z"]], ids=["of one", "of two", "of three"])
def test_a_circle_that_is_deleted_as_a_whole_is_let_go(names):
    assert [("RemoveFinalizer", name, INNER) for name in names] == wanted(*composites(*names))


def test_groups_below_a_cycle_are_released_first():
    leaf = group("leaf", deleting=True, finalizers=[LEAF], parent="x")

    assert [] == wanted(*composites("x", "y"), leaf, pods=Pods(("a", "leaf")))
    assert [("RemoveFinalizer", "leaf", LEAF)] == wanted(*composites("x", "y"), leaf)


def test_a_circle_of_which_one_stays_is_kept():
    going, staying = composites("x", "y")[0], composites("x", "y", deleting=False)[1]

    assert [] == wanted(going, staying)


def test_a_circle_of_another_namespace_is_none():
    one, other = (group(name, kind="CompositePodGroup", deleting=True, finalizers=[INNER], parent="x", namespace=name) for name in "xy")

    assert [("RemoveFinalizer", "x", INNER), ("RemoveFinalizer", "y", INNER)] == wanted(one, other)


@pytest.mark.parametrize(("namespace", "want"), [("a", []), ("b", [("RemoveFinalizer", "top", INNER)])], ids=["there", "elsewhere"])
def test_a_group_that_cannot_be_read_may_be_a_child(namespace, want):
    top = group("top", kind="CompositePodGroup", deleting=True, finalizers=[INNER])

    assert want == wanted(top, pods=Pods(hidden=(namespace,)))


def test_a_parent_of_the_same_name_elsewhere_is_none():
    top = group("top", kind="CompositePodGroup", deleting=True, finalizers=[INNER])
    child = group("leaf", finalizers=[LEAF], parent="top", namespace="b")

    assert [("RemoveFinalizer", "top", INNER)] == wanted(top, child)


def test_a_write_not_seen_yet_is_not_repeated_before_its_time():
    protection = Finalizers()
    assert 1 == len(wanted(group("leaf"), protection=protection))
    assert [] == wanted(group("leaf"), protection=protection, now=RETRY_SECONDS - 0.1)
    assert 1 == len(wanted(group("leaf"), protection=protection, now=RETRY_SECONDS))


def test_a_write_names_the_uid():
    writes = Finalizers().wanted([group("leaf"), group("gone", deleting=True, finalizers=[LEAF])], Pods(), 0.0)

    assert [(RemoveFinalizer, "uid-gone"), (AddFinalizer, "uid-leaf")] == [(type(each), each.target.uid) for each in writes]
