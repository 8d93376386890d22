"""Groups in two API groups at once: of those with one name the built-in one counts, and the other one again when it is gone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeapi.problem import Problem, SeveralApiGroups
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37
from scheduler_core.cluster.load import load
from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.process.enabled_controllers import enabled_controllers
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import AddFinalizer, RecordEvent, Ref, RemoveFinalizer
from scheduler_core.wording.problem_words import problem_words
from tests.scheduler_core.builders import composite, leaf, node, pod
from tests.scheduler_core.sidecar.histories import GroupsServer, Json, feed, in_other_group, raw
from validators.gates import Gates

KEY, BUILT_IN, OTHER = ("PodGroup", "default", "g"), "PodGroup", f"PodGroup.{CUSTOM}"
LEAF = "scheduling.k8s.io/podgroup-protection"


class Both:
    """A server with groups of both API groups, and a cache that hears of it."""

    def __init__(self, *objects: Json) -> None:
        self.server, self.heard = GroupsServer(), 0
        for each in objects:
            self.server.put(each)
        self.cache = Cache()
        self.server.fill(self.cache)
        self.heard = len(self.server.events)

    def happens(self, *changes: Json | str) -> None:
        """Objects are put; a PodGroup is deleted whose resource is named."""
        for each in changes:
            if isinstance(each, str):
                self.server.delete((each, "default", "g"))
            else:
                self.server.put(each)
        feed(self.cache, self.server.events[self.heard :])
        self.heard = len(self.server.events)

    def counting(self) -> tuple[int, Ref] | None:
        """The minimum of the group that counts, and the reference to it; the same as a file of the objects has."""
        assert load([raw(each) for each in self.server.objects.values()]).groups == self.cache.snapshot().groups
        if (live := self.cache.group(*KEY)) is None:
            return None
        policy: Any = live.group.spec.scheduling_policy
        return policy.gang.min_count, live.ref


def ours(count: int, **more: Any) -> Json:
    return in_other_group(leaf("g", count, **more))


def uid(both: Both, resource: str) -> str:
    found: str = both.server.objects[resource, "default", "g"]["metadata"]["uid"]
    return found


@pytest.mark.parametrize("first", [False, True], ids=["the built-in one first", "the custom one first"])
def test_the_built_in_group_counts_and_the_other_one_when_it_is_gone(first: bool) -> None:
    both = Both()
    both.happens(*[leaf("g", 1), ours(2)][:: -1 if first else 1])
    assert both.counting() == (1, Ref(*KEY, uid(both, BUILT_IN)))
    both.happens(ours(3))
    assert both.counting() == (1, Ref(*KEY, uid(both, BUILT_IN)))
    both.happens(BUILT_IN)
    assert both.counting() == (3, Ref(*KEY, uid(both, OTHER), CUSTOM))
    both.happens(leaf("g", 4))
    assert both.counting() == (4, Ref(*KEY, uid(both, BUILT_IN)))
    both.happens(OTHER)
    assert both.counting() == (4, Ref(*KEY, uid(both, BUILT_IN)))
    both.happens(BUILT_IN)
    assert both.counting() is None
    assert () == tuple(both.cache.ignored())


def test_after_a_restart_the_same_counts() -> None:
    both = Both(ours(2), leaf("g", 1))
    assert both.counting() == (1, Ref(*KEY, uid(both, BUILT_IN)))
    both.happens(BUILT_IN)
    assert both.counting() == (2, Ref(*KEY, uid(both, OTHER), CUSTOM))


def test_an_api_group_that_vanishes_leaves_the_other_one_and_comes_again() -> None:
    both = Both(leaf("g", 1), ours(2), in_other_group(composite("top")))
    both.cache.mark_unserved(BUILT_IN)
    live = both.cache.group(*KEY)
    assert live is not None
    assert CUSTOM == live.ref.group
    both.cache.mark_unserved(OTHER)
    assert both.cache.group(*KEY) is None
    assert both.cache.group("CompositePodGroup", "default", "top") is not None
    for name in (OTHER, BUILT_IN):
        both.cache.replace(name, both.server.listed(name), "99")
    assert both.counting() == (1, Ref(*KEY, uid(both, BUILT_IN)))


def test_a_change_of_an_ignored_group_wakes_nothing() -> None:
    both = Both(leaf("g", 1), ours(2))
    both.cache.reporter.pop_changes()
    both.happens(ours(3), OTHER)
    assert not both.cache.reporter.pop_changes()
    both.happens(ours(3), BUILT_IN)
    assert {Name(*KEY)} == both.cache.reporter.pop_changes().roots


def test_an_ignored_object_is_a_problem_in_files_as_in_a_live_cluster() -> None:
    both = Both(leaf("g", 1), ours(2))
    want = Problem.about(Name(*KEY), SeveralApiGroups(SCHEDULING, CUSTOM))
    assert (want,) == both.cache.problems() == load([raw(each) for each in both.server.objects.values()]).problems
    assert f"is in the API groups {SCHEDULING} and {CUSTOM}: the object of {SCHEDULING} counts, the other one is ignored" == problem_words(
        want
    ).removeprefix("PodGroup default/g: ")


def test_a_built_in_group_that_cannot_be_used_counts_too() -> None:
    broken = {**leaf("g", 1), "spec": {"schedulingPolicy": 3}}
    both = Both(broken, ours(2))
    assert both.counting() is None
    assert load([raw(each) for each in both.server.objects.values()]).problems == both.cache.problems()
    both.happens(BUILT_IN)
    assert both.counting() == (2, Ref(*KEY, uid(both, OTHER), CUSTOM))


def test_which_of_several_objects_is_used_does_not_depend_on_their_order() -> None:
    objects = [raw(each) for each in (ours(2), leaf("g", 1), ours(3))]
    want = load(objects)
    for number in range(3):
        got = load([*objects[number:], *objects[:number]])
        assert (want.groups, want.problems) == (got.groups, got.problems)
    assert (Problem.about(Name(*KEY), SeveralApiGroups(SCHEDULING, CUSTOM)),) == want.problems


def controllers(both: Both, mode: Mode) -> Any:
    settings = Settings(modes=frozenset({mode}), gates=Gates())
    begun = [each.begin() for each in enabled_controllers(settings, both.cache, SidecarMetrics(), KUBERNETES_1_37)]
    return lambda: [write for reconcile in begun for write in reconcile(0.0)[0]]


def test_an_ignored_group_is_reported_once_in_an_event() -> None:
    both = Both(leaf("g", 1), ours(2), node("n"), pod("p", "g"))
    run = controllers(both, Mode.VALIDATE)
    (event,) = run()
    message = "ignored: scheduling.k8s.io has a PodGroup of the same name, and that one counts; delete one of the two"
    assert RecordEvent(Ref(*KEY, uid(both, OTHER), CUSTOM), "Warning", "Ignored", message) == event
    assert [] == run()
    both.happens(BUILT_IN)
    assert [] == run()
    both.happens(leaf("g", 1))
    assert [event] == run()


def leaving(group: Json) -> Json:
    metadata = {**group["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [LEAF]}
    return json.loads(json.dumps({**group, "metadata": metadata}))


def test_an_ignored_group_gets_no_finalizer_and_keeps_none() -> None:
    """Its pods are those of the group that counts, which protects them."""
    both = Both(leaf("g", 1), ours(2), pod("p", "g"))
    run = controllers(both, Mode.PROTECT)
    assert [AddFinalizer(Ref(*KEY, uid(both, BUILT_IN)), LEAF)] == run()
    both.happens(leaving(ours(2)))
    assert [RemoveFinalizer(Ref(*KEY, uid(both, OTHER), CUSTOM), LEAF)] == run()


def test_a_custom_group_alone_is_protected_as_a_built_in_one() -> None:
    both = Both(ours(1), pod("p", "g"))
    run = controllers(both, Mode.PROTECT)
    assert [AddFinalizer(Ref(*KEY, uid(both, OTHER), CUSTOM), LEAF)] == run()
    both.happens(leaving(ours(1)))
    assert [] == run()
    both.server.delete(("Pod", "default", "p"))
    both.happens()
    assert [RemoveFinalizer(Ref(*KEY, uid(both, OTHER), CUSTOM), LEAF)] == run()
