"""Plans: what is one, what it holds, when it is proved no more, and what is written for it."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.model.decision import Decision, Eviction
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.queue.states import Preempting, PreemptionPlan
from scheduler_core.sidecar.scheduling.preemption_plan import PreemptionPlans
from scheduler_core.sidecar.writes import Evict, EvictionMethod, Nominate, RecordEvent, Ref, SetCondition
from tests import builders
from tests.scheduler_core.builders import composite, leaf, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json, Watched
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, G, of, said, told
from tests.scheduler_core.sidecar.world import TERMINATING


class Scarce(Watched):
    """A node that is full, a gang that needs half of it, and what makes plans."""

    def __init__(self, *more: Json, by: EvictionMethod = EvictionMethod.EVICT) -> None:
        low = [pod(f"low-{number}", on="n1", priority=0) for number in range(4)]
        super().__init__(node("n1", cpu="4"), *low, leaf("g", 2, priority=10), *pods("g", 2, priority=10, **MUSTER), *more)
        self.assumed = AssumedPods(self.store)
        self.preempting = PreemptionPlans(self.store, self.assumed, by, "muster")
        self.store.usage.placement_state()

    def goes(self, name: str, kind: str = "Pod") -> None:
        self.happens((kind, "default", name))

    def plan(self, *victims: str, **more: Any) -> PreemptionPlan:
        found = self.preempting.plan(decision(*(victims or ("low-1", "low-0")), **more), 5.0)
        assert found is not None
        return found

    def begin(self, *victims: str) -> list[Any]:
        _, writes = self.preempting.begin(self.plan(*victims))
        return [*writes]

    def leaving(self) -> list[str]:
        return sorted(each.name[1] for each in self.store.usage.pods.pods.values() if each.deletion_assumed and each.evicted)

    def nominated(self) -> dict[str, str]:
        return {each.name[1]: each.nominated for each in self.store.usage.pods.pods.values() if each.nominated}


BOTH = {"g-0": "n1", "g-1": "n1"}


def decision(*victims: str, nominated: dict[str, str] | None = None) -> Decision:
    """Return a decision that preempts *victims* for g."""
    where = BOTH if nominated is None else nominated
    return Decision(
        G,
        Status.UNSCHEDULABLE,
        nominations={f"default/{name}": node_ for name, node_ in where.items()},
        victims=tuple(f"default/{name}" for name in victims),
        preemption=Eviction(len(victims), len(victims)),
    )


@pytest.fixture
def scarce() -> Scarce:
    return Scarce()


@pytest.mark.parametrize(
    ("by", "allowed", "blocked"),
    [
        pytest.param(EvictionMethod.EVICT, 1, False, id="an eviction that breaks no budget"),
        pytest.param(EvictionMethod.EVICT, 0, True, id="one that does"),
        pytest.param(EvictionMethod.EVICT, None, False, id="without a budget"),
        pytest.param(EvictionMethod.DELETE, 0, False, id="deletions, which no budget forbids"),
    ],
)
def test_plan_that_the_api_server_would_refuse_is_blocked(by, allowed, blocked):
    labelled = pod("low-0", on="n1", priority=0, labels={"app": "a"})
    scarce = Scarce(labelled, *([] if allowed is None else [budget(allowed)]), by=by)
    assert blocked == (scarce.preempting.blocked(decision("low-0")) is not None)
    assert None is scarce.preempting.blocked(decision("low-1"))


@pytest.mark.parametrize("victims", [(), ("none",)], ids=["nobody", "nobody who is there"])
def test_decision_that_makes_nobody_leave_has_no_plan(scarce, victims):
    assert None is scarce.preempting.plan(decision(*victims), 0.0)
    assert {} == scarce.nominated()


def test_plan_names_victims_preemptor_and_start(scarce):
    plan = scarce.plan()
    assert (G, 5.0) == (plan.root, plan.since)
    assert {"default/low-0": "low-0", "default/low-1": "low-1"} == {key: ref.name for key, ref in plan.victims.items()}
    assert all(ref.uid for ref in plan.victims.values())


def test_victims_of_a_plan_count_as_terminating_and_their_resources_as_nominated(scarce):
    scarce.plan()
    assert (["low-0", "low-1"], BOTH) == (scarce.leaving(), scarce.nominated())


def test_promise_to_a_pod_that_is_gone_is_none():
    scarce = Scarce()
    scarce.goes("g-1")
    assert ["g-0"] == [write.pod.name for write in of(Nominate, scarce.begin())]
    assert {"g-0": "n1"} == scarce.nominated()


@pytest.mark.parametrize("by", list(EvictionMethod))
def test_evictions_are_sorted_by_name_and_name_the_preemptor_and_the_reason(by):
    scarce = Scarce(by=by)
    evictions = scarce.preempting.evictions(scarce.plan("low-2", "low-0", "low-1"))
    assert ["low-0", "low-1", "low-2"] == [each.pod.name for each in evictions]
    assert {("muster: preempting to accommodate a higher priority podgroup", by)} == {(each.message, each.method) for each in evictions}


def budget(allowed: int) -> Json:
    return builders.disruption_budget("b", "a", allowed)


def priority_class(value: int) -> Json:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "c"}, "value": value}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda scarce: scarce.happens(node("n2")), id="a node came"),
        pytest.param(lambda scarce: scarce.happens(node("n1", cpu="8")), id="a node grew"),
        pytest.param(lambda scarce: scarce.goes("low-3"), id="a pod went"),
        pytest.param(lambda scarce: scarce.happens(pod("new")), id="a pod came"),
        pytest.param(lambda scarce: scarce.happens(pod("low-3", on="n1", priority=20)), id="a pod became more important"),
        pytest.param(lambda scarce: scarce.goes("g-1"), id="a member went"),
        pytest.param(lambda scarce: scarce.happens(leaf("g", 1, priority=10)), id="its group changed"),
        pytest.param(lambda scarce: scarce.happens(leaf("other", 1)), id="a group came"),
        pytest.param(lambda scarce: scarce.happens(budget(0)), id="a budget came"),
        pytest.param(lambda scarce: scarce.happens(priority_class(7)), id="a priority class came"),
        pytest.param(lambda scarce: scarce.plan("low-3", nominated={}), id="another plan was made"),
        pytest.param(lambda scarce: scarce.assumed.cancel_deletion(Ref("Pod", "default", "low-0")), id="a victim stays after all"),
    ],
)
def test_plan_is_proved_until_anything_changes(scarce, change):
    plan = scarce.plan()
    assert scarce.preempting.is_proved(plan)
    change(scarce)
    assert not scarce.preempting.is_proved(plan)


def test_plan_stays_proved_over_what_does_not_matter(scarce):
    plan = scarce.plan()
    heartbeat = node("n1", cpu="4")
    heartbeat["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": TERMINATING}]
    why = pod("g-0", "g", priority=10, **MUSTER)
    why["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]}
    scarce.happens(heartbeat, why)
    assert scarce.preempting.is_proved(plan)


def test_plan_that_does_not_come_about_leaves_everything_as_it_was(scarce):
    plan = scarce.plan()
    scarce.preempting.release(plan)
    assert ([], {}) == (scarce.leaving(), scarce.nominated())
    assert not scarce.preempting.is_proved(plan)


def test_nomination_from_before_a_plan_is_kept_after_it():
    scarce = Scarce(node("n2"), pod("g-0", "g", nominated="n2", priority=10, **MUSTER))
    plan = scarce.plan()
    assert BOTH == scarce.nominated()
    scarce.preempting.release(plan)
    assert {"g-0": "n2"} == scarce.nominated()


@pytest.mark.parametrize(
    ("again", "want"),
    [
        pytest.param(("low-0", "low-1"), True, id="the same"),
        pytest.param(("low-1",), True, id="fewer"),
        pytest.param(("low-0", "low-2"), False, id="another besides"),
        pytest.param(("low-2",), False, id="another instead"),
        pytest.param((), False, id="nobody"),
    ],
)
def test_plan_that_is_proved_again_may_only_need_fewer(scarce, again, want):
    plan = scarce.plan()
    scarce.happens(pod("new"))
    scarce.preempting.release(plan)
    left = scarce.preempting.renew(plan, decision(*again, nominated={"g-0": "n1"}))
    assert want == (left is not None)
    assert (sorted(again) if want else []) == scarce.leaving()
    assert ({"g-0": "n1"} if want else {}) == scarce.nominated()
    if left is not None:
        assert scarce.preempting.is_proved(left)
        assert [*again] == [each.pod.name for each in scarce.preempting.evictions(left)]
    assert not scarce.preempting.is_proved(plan)


def test_pod_of_the_same_name_made_since_is_no_victim_of_the_plan(scarce):
    plan = scarce.plan()
    scarce.goes("low-0")
    scarce.happens(pod("low-0", on="n1", priority=0))
    scarce.preempting.release(plan)
    assert None is scarce.preempting.renew(plan, decision("low-0", "low-1"))
    assert [] == scarce.leaving()


def whole(name: str = "w", parent: str = "", **more: Any) -> list[Json]:
    """A group that leaves as a whole, of low-0 and low-1."""
    mode = {"disruptionMode": {"all": {}}}
    return [leaf(name, 2, parent=parent, priority=0, **mode, **more), *(pod(f"low-{each}", name, on="n1", priority=0) for each in range(2))]


def test_nominations_are_written_before_conditions_before_evictions_before_events():
    scarce = Scarce(*whole())
    kinds = [type(write) for write in scarce.begin()]
    assert [Nominate] * 2 + [SetCondition] + [Evict] * 2 + [RecordEvent] * 3 == kinds


def test_nominations_say_where_each_pod_of_the_root_goes_by_name(scarce):
    _, writes = scarce.preempting.begin(scarce.plan("low-0", nominated={"g-1": "n1", "g-0": "n1"}))
    assert [("g-0", "n1"), ("g-1", "n1")] == [(write.pod.name, write.node) for write in of(Nominate, [*writes])]


def test_plan_is_under_way_once_it_has_begun(scarce):
    plan = scarce.plan()
    preempting, _ = scarce.preempting.begin(plan)
    assert Preempting(plan) == preempting


def test_group_that_is_preempted_whole_is_reported_once_with_the_reason():
    writes = Scarce(*whole()).begin()
    (write,) = of(SetCondition, writes)
    condition = write.condition
    assert ("w", "DisruptionTarget", "True") == (write.target.name, condition.type, condition.status)
    message = "muster: preempting to accommodate a higher priority podgroup"
    assert ("PreemptionByScheduler", message) == (condition.reason, condition.message)
    assert write.target.uid


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [leaf("w", 2, priority=0), *(pod(f"low-{each}", "w", on="n1", priority=0) for each in range(2))], [], id="pods may leave alone"
        ),
        pytest.param([], [], id="pods without a group"),
        pytest.param(
            [composite("top", 1, priority=0, disruptionMode={"all": {}}), *whole(parent="top")], ["top"], id="the topmost group leaves"
        ),
        pytest.param([composite("top", 1, priority=0), *whole(parent="top")], ["w"], id="the group above may stay"),
    ],
)
def test_only_the_topmost_group_of_mode_all_is_reported(objects, want):
    assert want == [name for name, _, _ in said(Scarce(*objects).begin())]


def test_groups_are_reported_by_name():
    second = [leaf("a", 1, priority=0, disruptionMode={"all": {}}), pod("low-2", "a", on="n1", priority=0)]
    assert ["a", "w"] == [name for name, _, _ in said(Scarce(*whole(), *second).begin("low-0", "low-1", "low-2"))]


def test_events_of_groups_and_pods_name_the_preemptor_and_the_node():
    writes = Scarce(*whole()).begin("low-0")
    assert [("w", "Preempted"), ("low-0", "Preempted")] == told(writes)
    messages = [each.message for each in of(RecordEvent, writes)]
    assert ["Preempted by PodGroup default/g", "Preempted by PodGroup default/g on node n1"] == messages


def test_a_group_that_loses_some_pods_is_reported_with_their_number():
    members = [pod(f"low-{each}", group, on="n1", priority=0) for each, group in enumerate("wvw")]
    told = of(RecordEvent, Scarce(leaf("w", 1, priority=0), leaf("v", 1, priority=0), *members).begin("low-0", "low-1", "low-2", "low-3"))
    messages = [(each.target.name, each.message) for each in told if each.target.kind == "PodGroup"]

    by = "Preempted by PodGroup default/g"
    assert [("v", f"{by}: 1 of its pods"), ("w", f"{by}: 2 of its pods")] == messages


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(lambda scarce: None, ["low-0", "low-1"], id="nobody has left"),
        pytest.param(lambda scarce: scarce.goes("low-0"), ["low-1"], id="one is gone"),
        pytest.param(lambda scarce: (scarce.goes("low-0"), scarce.happens(pod("low-0", on="n1"))), ["low-1"], id="one is made again"),
        pytest.param(lambda scarce: scarce.happens(ended("low-0")), ["low-1"], id="one has ended"),
        pytest.param(lambda scarce: scarce.happens(deleted("low-0")), ["low-0", "low-1"], id="one is being deleted"),
        pytest.param(lambda scarce: (scarce.goes("low-0"), scarce.happens(ended("low-1"))), [], id="all have left"),
    ],
)
def test_plan_awaits_those_who_are_still_there(scarce, change, want):
    plan = scarce.plan()
    change(scarce)
    assert want == sorted(ref.name for ref in scarce.preempting.prune(plan).victims.values())


def ended(name: str) -> Json:
    each = pod(name, on="n1")
    return {**each, "status": {"phase": "Succeeded"}}


def deleted(name: str) -> Json:
    each = pod(name, on="n1", priority=0)
    return {**each, "metadata": {**each["metadata"], "deletionTimestamp": TERMINATING}}


def test_only_existing_victims_are_reported(scarce):
    assert {"low-0"} == {ref.name for ref in scarce.preempting.victims(decision("low-0", "none"))}


def test_nomination_that_the_watch_shows_is_not_written_again():
    scarce = Scarce(pod("g-0", "g", nominated="n1", priority=10, **MUSTER))
    plan = scarce.plan()
    assert [("g-1", "n1")] == [(write.pod.name, write.node) for write in scarce.preempting.nominate(plan.nominations)]
    assert [] == [*scarce.preempting.nominate(plan.nominations, {"default/g-1": "n1"})]


def test_nomination_in_removal_is_written_again_although_the_watch_shows_it():
    scarce = Scarce(pod("g-0", "g", nominated="n1", priority=10, **MUSTER))
    scarce.assumed.assume_nomination(scarce.store.usage.pods.pods["default/g-0"].ref, "")
    plan = scarce.plan()
    assert {"g-0", "g-1"} == {write.pod.name for write in scarce.preempting.nominate(plan.nominations)}
    scarce.happens(pod("g-0", "g", priority=10, **MUSTER))
    assert BOTH == scarce.nominated()


def test_capacity_of_terminating_pods_is_reserved_and_nominations_are_written(scarce):
    scarce.happens(pod("g-1", "g", nominated="n1", priority=10, **MUSTER))
    assert ["g-0"] == [write.pod.name for write in scarce.preempting.hold(decision())]
    assert BOTH == scarce.nominated()


def test_a_plan_stays_proved_in_its_cycle_only(scarce):
    before = scarce.store.reporter.change_count
    plan = scarce.plan("low-0")
    scarce.plan("low-1", nominated={})
    assert not scarce.preempting.is_proved(plan)
    scarce.preempting.end_cycle(before)
    assert scarce.preempting.is_proved(plan)
    before = scarce.store.reporter.change_count
    scarce.plan("low-2", nominated={})
    scarce.preempting.end_cycle(before)
    assert not scarce.preempting.is_proved(plan)


def test_earlier_nominations_of_pods_without_a_place_in_the_plan_are_taken_back(scarce):
    scarce.happens(node("n2"), pod("g-1", "g", nominated="n2", priority=10, **MUSTER))
    plan = scarce.plan(nominated={"g-0": "n1"})
    assert {"g-0": "n1"} == scarce.nominated()
    assert {("g-0", "n1"), ("g-1", "")} == {(write.pod.name, write.node) for write in scarce.preempting.nominate(plan.nominations)}
    scarce.preempting.release(plan)
    assert {"g-1": "n2"} == scarce.nominated()
