"""Pods that were pinned to nodes, and what their schedulers did with them: it is found, reported once, and undone only where that is wanted."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.causes.live import DeviatingPod, Deviation
from scheduler_core.sidecar.queue.deviations import INITIAL_SECONDS, deviating_pods
from scheduler_core.sidecar.scheduling.explanation import deviating_json
from scheduler_core.sidecar.writes import Deviations, RecordEvent, Ref, Remove, SetCondition, Ungate, WriteOutcome
from tests.scheduler_core.builders import HOST, composite, leaf, node, pod, racks
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_root_status import pinned
from tests.scheduler_core.sidecar.test_scheduler import GATED, TRUE, Scene, bound, of, said, told

MESSAGE = "0/4 nodes are available: 1 Insufficient cpu."


def scene(*objects: Json, undo: bool = False, **options: Any) -> Scene:
    treatment = Deviations.UNDO if undo else Deviations.REPORT
    return Scene(*racks({"a": 2, "b": 2}), *objects, **{"place": False, "ungate": True, "deviations": treatment, **options})


def opened(undo: bool = False, second: str = "a-1", **more: Any) -> Scene:
    """A gang of two in rack a, whose first pod is bound as planned."""
    return scene(leaf("g", 2, "rack"), bound(pinned("g-0", "a-0", "g"), "a-0"), pinned("g-1", second, "g"), undo=undo, **more)


def kinds(here: Scene, name: str = "g") -> list[tuple[str, str]]:
    result = here.scheduler.explain("default", name)
    found = deviating_json(result.deviating) if result is not None else {}
    return [(each["pod"].partition("/")[2], each["deviation"]) for each in found.get("deviating", [])]


def messages(writes: list[Any]) -> list[str]:
    return [each.condition.message for each in of(SetCondition, writes)]


def refused(each: Json) -> Json:
    """A pod that kube-scheduler has said that it does not fit."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": MESSAGE}
    return {**each, "status": {**each.get("status", {}), "conditions": [condition]}}


@pytest.mark.parametrize("undo", [False, True])
def test_pod_that_is_not_bound_in_time_is_reported_with_the_words_of_its_scheduler(undo):
    here = opened(undo)
    here.put(refused(pinned("g-1", "a-1", "g")))
    waiting = here.wait(0) + here.wait(2)
    then = "; then they are deleted" if undo else ""
    assert [f"waiting until 1970-01-01T00:05:00Z for the scheduler of its 2 pinned pods{then}"] == messages(waiting)
    assert [] == here.wait(297.5)
    late = here.wait(0.5) + here.wait(2)
    text = f"not bound as planned: pod default/g-1 is not bound to node a-1: {MESSAGE}"
    (event,) = [each for each in of(RecordEvent, late) if each.reason == "PlacementDeviated"]
    assert text == event.message
    if undo:
        assert ["g-0", "g-1"] == [write.pod.name for write in of(Remove, late)]
        return
    assert ([text], [], [("g-1", "not-bound")]) == (messages(late), of(Remove, late), kinds(here))
    assert [] == here.wait(3000), "it is reported once, and nothing is deleted"
    here.put(bound(pinned("g-1", "a-1", "g"), "a-1"))
    assert (TRUE, []) == (said(here.writes()), kinds(here))


def test_pod_that_is_bound_elsewhere_in_the_domain_is_reported_and_the_gang_is_scheduled():
    here = opened(undo=True, second="a-0")
    here.writes()
    here.put(bound(pinned("g-1", "a-0", "g"), "a-1"))
    writes = here.writes()
    assert (TRUE, {("g", "Scheduled"), ("g", "PlacementDeviated")}) == (said(writes), {*told(writes)})
    assert [("g-1", "bound-elsewhere")] == kinds(here)
    assert [] == here.end(writes) + here.wait(3000)


@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("leaf_key", ["rack", ""], ids=["its own domain", "the domain of its tree"])
def test_gang_that_is_bound_in_two_domains_is_not_scheduled(undo, leaf_key):
    members = [bound(pinned("g-0", "a-0", "g"), "a-0"), bound(pinned("g-1", "a-1", "g"), "b-1")]
    here = scene(composite("top", 1, "" if leaf_key else "rack"), leaf("g", 2, leaf_key, parent="top"), *members, undo=undo)
    writes = here.wait(0) + here.wait(2)
    assert "not bound as planned: pod default/g-1 is bound to node b-1, not to a-1" in messages(writes)[0]
    assert ("top", "PlacementDeviated") in told(writes)
    assert [] == [each for each in said(writes) if each[2] == "True"]
    late = here.wait(298)
    assert (["g-0", "g-1"] if undo else []) == [write.pod.name for write in of(Remove, late)]


@pytest.mark.parametrize("undo", [False, True])
def test_pod_whose_node_is_deleted_is_reported_at_once_and_undone_with_its_gang(undo):
    here = opened(undo)
    here.writes()
    here.delete("Node", "a-1")
    assert ("g", "PlacementDeviated") in told(here.writes())
    assert [("g-1", "node-gone")] == kinds(here)
    assert (["g-0", "g-1"] if undo else []) == [write.pod.name for write in of(Remove, here.wait(30) + here.wait(300))]


def test_pod_that_is_gone_is_reported_where_nothing_replaces_it():
    here = opened()
    here.writes()
    here.delete("Pod", "g-0")
    assert [] == [each for each in here.wait(0) + here.wait(29.5) if isinstance(each, RecordEvent) and each.reason == "PlacementDeviated"]
    late = here.wait(0.5)
    (event,) = [each for each in of(RecordEvent, late) if each.reason == "PlacementDeviated"]
    assert "not bound as planned: pod default/g-0 of node a-0 no longer exists" == event.message
    assert [] == of(Remove, late + here.wait(1000))


def test_pod_that_is_replaced_in_time_or_has_ended_is_none():
    here = opened()
    here.writes()
    ended = bound(pinned("g-0", "a-0", "g"), "a-0")
    ended["status"] = {"phase": "Succeeded"}
    here.put(ended)
    assert [] == [each for each in told(here.wait(60)) if each[1] == "PlacementDeviated"]
    again = opened()
    again.writes()
    again.delete("Pod", "g-0")
    again.put(pod("g-0", "g", **GATED))
    again.end(of(Ungate, again.wait(1)))
    assert [] == [each for each in told(again.wait(100)) if each[1] == "PlacementDeviated"]


def test_gang_that_was_scheduled_is_not_undone_and_a_deleted_gang_is_not_missed():
    here = opened(undo=True)
    here.put(bound(pinned("g-1", "a-1", "g"), "a-1"))
    here.end(here.writes())
    here.delete("Pod", "g-1")
    assert [] == of(Remove, here.wait(1000))
    gone = opened()
    gone.writes()
    gone.delete("Pod", "g-0", "g-1")
    assert [] == told(gone.wait(1000))


def test_each_undoing_of_a_gang_makes_the_next_attempt_wait_longer():
    here = opened(undo=True)
    here.writes()
    for count in range(3):
        removals = of(Remove, here.wait(300))
        assert ["g-0", "g-1"] == sorted(write.pod.name for write in removals)
        here.end(removals)
        here.delete("Pod", "g-0", "g-1")
        here.put(*(pod(f"g-{number}", "g", **GATED) for number in range(2)))
        backoff = INITIAL_SECONDS * 2**count
        assert [] == of(Ungate, here.wait(0) + here.wait(backoff - 0.5)), "it comes again only after its backoff"
        writes = of(Ungate, here.wait(0.5))
        assert 2 == len(writes)
        here.end(writes)
        here.put(*(pinned(write.pod.name, write.node, "g") for write in writes))
        here.writes()


def test_gang_that_is_partly_opened_and_finds_no_capacity_is_kept_and_completed_later():
    """Without the option no pod of another scheduler is deleted; the rest follows once there is capacity."""
    full = [pod(f"full-{name}", cpu="4", on=name) for name in ("a-1", "b-0", "b-1")]
    members = [pinned("g-0", "a-0", "g", cpu="4"), pod("g-1", "g", cpu="4", **GATED)]
    for undo in (False, True):
        here = scene(leaf("g", 2, "rack"), *full, *copy.deepcopy(members), undo=undo)
        writes = here.wait(0) + here.wait(100)
        assert (["g-0"] if undo else []) == [write.pod.name for write in of(Remove, writes)]
        if not undo:
            here.delete("Pod", "full-a-1")
            assert ["a-1"] == [write.node for write in of(Ungate, here.wait(100))]


def test_pods_that_we_bind_are_undone_all_the_same():
    members = [pod("g-0", "g", on="a-0", schedulerName="muster")]
    here = scene(leaf("g", 2), *members, place=True, scheduler_name="muster")
    assert ["g-0"] == [write.pod.name for write in of(Remove, here.wait(0) + here.wait(30))]


def test_gang_with_pods_of_both_kinds_is_undone_as_a_whole_or_not_at_all():
    for undo in (False, True):
        ours = pod("g-0", "g", on="a-0", schedulerName="muster")
        here = scene(leaf("g", 2), ours, pinned("g-1", "a-1", "g"), undo=undo, place=True, scheduler_name="muster")
        assert (["g-0", "g-1"] if undo else []) == [write.pod.name for write in of(Remove, here.wait(0) + here.wait(400))]


def test_member_that_a_complete_gang_does_not_need_is_not_missed():
    here = scene(leaf("g", 1), bound(pinned("g-0", "a-0", "g"), "a-0"), pinned("g-1", "a-1", "g"))
    assert [("g", "Scheduled")] == told(here.wait(0) + here.wait(3000))


def test_a_restart_finds_the_same():
    here = opened()
    here.put(bound(pinned("g-1", "a-1", "g"), "b-1"))
    before = [each for each in told(here.writes()) if each[1] == "PlacementDeviated"]
    here.restart()
    assert before == [each for each in told(here.writes()) if each[1] == "PlacementDeviated"] == [("g", "PlacementDeviated")]


def test_what_cannot_be_deleted_is_tried_again_only_after_the_whole_time():
    here = opened(undo=True)
    here.writes()
    removals = of(Remove, here.wait(300))
    here.end(removals, WriteOutcome.REFUSED)
    assert [] == of(Remove, here.wait(299.5))
    assert 2 == len(of(Remove, here.wait(0.5)))


NAMES = st.sampled_from(["n1", "n2", "n3"])


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["", "n1", "n2", "n3"]))),
    st.sets(NAMES),
    st.dictionaries(st.sampled_from(["x", "y"]), NAMES),
    st.booleans(),
)
def test_each_pod_deviates_at_most_once_and_never_where_it_is_as_planned(planned, nodes, gone, late):
    store = Scene(*(node(name) for name in ("n1", "n2", "n3")), place=False, ungate=True)
    store.put(*(bound(each, on) if on else each for each, on in ((pinned(f"p{at}", where), on) for at, (where, on) in enumerate(planned))))
    live = list(store.store.usage.pods.pods.values())
    missing = {Ref("Pod", "default", name, "1"): where for name, where in gone.items()}
    found = deviating_pods(live, missing, nodes, late=late)
    by_pod = {each.pod: each for each in found}
    assert len(found) == len(by_pod)
    assert [*found] == sorted(found)
    for at, (where, on) in enumerate(planned):
        result = by_pod.pop(f"default/p{at}", None)
        as_planned = on == where or (not on and where in nodes and not late)
        assert as_planned == (result is None)
        assert result is None or (result.planned_node, result.node) == (where, on)
    assert {f"default/{name}" for name in gone} == {*by_pod}
    assert all(each == DeviatingPod(each.pod, each.planned_node, Deviation.POD_GONE) for each in by_pod.values())


def test_mark_of_a_pod_that_selects_no_host_counts_too():
    """An annotation is the plan, whatever became of the selector."""
    stray = bound(pod("g-0", "g", nodeSelector={HOST: "a-1"}), "a-1")
    stray["metadata"]["annotations"] = {PLACEMENT_GATE: "a-0"}
    here = scene(leaf("g", 1), stray)
    here.writes()
    assert [("g-0", "bound-elsewhere")] == kinds(here)
