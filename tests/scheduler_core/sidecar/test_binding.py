"""What is written for a decision, in which order, and what is not written again."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.causes.attempts import PluginReason
from scheduler_core.model.decision import Decision, GroupCondition, GroupDecision
from scheduler_core.model.names import HOSTNAME, Domain, Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import SCHEDULED
from scheduler_core.sidecar.queue.root_status import OurPods, RootStatus, root_status
from scheduler_core.sidecar.scheduling.binding import Binder
from scheduler_core.sidecar.writes import Bind, Condition, Nominate, RecordEvent, Ref, Remove, SetCondition, Ungate
from scheduler_core.wording.conditions import conditions, scheduled
from tests.scheduler_core.builders import composite, leaf, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json, Server
from tests.scheduler_core.sidecar.test_scheduler import GATED, MUSTER, G, bound, of, said, told

NO_ROOM = "0/1 nodes are available"
SINCE = "2026-08-01T00:00:00Z"


class Placing:
    """A store with two nodes and these objects, and what writes decisions on one root of it."""

    def __init__(self, *objects: Json, root: Name = G, ungates: bool = False) -> None:
        self.root, self.whose = root, OurPods("" if ungates else "muster", ungates)
        server, self.store = Server(), Cache()
        for each in (node("n1"), node("n2"), *objects):
            server.put(each)
        server.fill(self.store)
        self.store.usage.set_options(ungates=ungates)
        self.assumed = AssumedPods(self.store)
        self.placer = Binder(self.store, self.assumed, self.whose)

    @property
    def survey(self) -> RootStatus:
        found = root_status(self.store, self.root, self.whose)
        assert found is not None
        return found

    def nominated(self, name: str) -> str:
        return self.store.usage.pods.pods[f"default/{name}"].nominated

    def told(self, decision: Decision, *, update_message: bool = True) -> list[Any]:
        return [*self.placer.report_failure(decision, self.survey, update_message=update_message)]

    def committed(self, decision: Decision | None = None) -> list[Any]:
        return [*self.placer.commit(self.survey, decision)]


def placed(**nodes: str) -> Decision:
    """*nodes* by pod, with ``_`` for ``-``."""
    return Decision(G, Status.SUCCESS, assignments={f"default/{name.replace('_', '-')}": where for name, where in nodes.items()})


def failed(*pending: str, status: Status = Status.UNSCHEDULABLE, why: str = NO_ROOM, group: Name = G, **more: Any) -> Decision:
    """That *group* and the pods *pending* found no place."""
    reason = PluginReason(why)
    verdict = GroupDecision(group, status, (reason,), reason=reason)
    return Decision(G, status, (reason,), groups=(verdict,), pending={f"default/{name}": (reason,) for name in pending}, **more)


def conditioned(each: Json, condition: Condition) -> Json:
    """*each* as it says so of itself."""
    fields = {"type": condition.type, "status": condition.status, "reason": condition.reason, "message": condition.message}
    return {**each, "status": {"conditions": [{**fields, "lastTransitionTime": condition.since or SINCE}]}}


def standing(status: str = "False", why: str = NO_ROOM) -> Condition:
    """The condition of a PodGroup as it comes to be written."""
    decision = failed(why=why)
    (found,) = (scheduled("PodGroup"),) if status == "True" else conditions(decision, decision.groups[0])
    return Condition(found.type, found.status, found.reason, found.message)


def names(writes: Any) -> list[str]:
    return [write.pod.name for write in writes]


def live(placing: Placing, name: str = "g") -> Any:
    return placing.store.group("PodGroup", "default", name)


def test_binds_come_leaf_by_leaf_and_in_each_by_name_whatever_came_first():
    top = Name("CompositePodGroup", "default", "top")
    members = [pod(name, name[0], **MUSTER) for name in ("b-1", "a-2", "b-0", "a-1")]
    placing = Placing(*members, leaf("b", 2, parent="top"), leaf("a", 2, parent="top"), composite("top", 2), root=top)
    decision = placed(b_0="n1", a_2="n2", a_1="n1", b_1="n1")
    binds = placing.placer.binds(decision, placing.survey)
    assert [("a-1", "n1"), ("a-2", "n2"), ("b-0", "n1"), ("b-1", "n1")] == [(bind.pod.name, bind.node) for bind in binds]
    assert {Bind} == {type(bind) for bind in binds}


def test_pod_without_an_assignment_is_not_bound():
    placing = Placing(leaf("g", 1), *pods("g", 3, **MUSTER))
    assert ["g-1"] == names(placing.placer.binds(placed(g_1="n1"), placing.survey))


def test_what_is_bound_is_assumed_there_and_not_bound_again():
    placing = Placing(leaf("g", 2), *pods("g", 2, **MUSTER))
    before, decision = placing.survey, placed(g_0="n1", g_1="n2")
    placing.placer.binds(decision, before)
    assert ["n1", "n2"] == [placing.store.usage.node_of(each) for each in sorted(placing.survey.placed, key=lambda each: each.key)]
    assert () == placing.placer.binds(decision, before)


def test_pod_that_left_since_it_was_decided_on_is_not_bound():
    placing = Placing(leaf("g", 2), *pods("g", 2, **MUSTER))
    before = placing.survey
    placing.assumed.expect_deletion(before.to_place[0].ref, evicted=False)
    assert [each.key for each in before.to_place[1:]] == [bind.pod.key for bind in placing.placer.binds(placed(g_0="n1", g_1="n1"), before)]


def test_pod_that_our_gate_holds_is_pinned_by_the_host_name_of_its_node():
    other = node("machine")
    other["metadata"]["labels"][HOSTNAME] = "machine.example"
    placing = Placing(other, leaf("g", 1), pod("g-0", "g", **GATED), ungates=True)
    (write,) = placing.placer.binds(placed(g_0="machine"), placing.survey)
    assert isinstance(write, Ungate)
    assert ("machine", "machine.example") == (write.node, write.hostname)


def bare(name: str) -> Json:
    """A node without a host name."""
    each = node(name)
    del each["metadata"]["labels"][HOSTNAME]
    return each


@pytest.mark.parametrize(
    ("pod_", "where", "want"),
    [
        pytest.param(GATED, {"g_0": "z", "g_1": "y"}, "y", id="the first by name"),
        pytest.param(GATED, {"g_0": "n1", "g_1": "z"}, "z", id="one beside a node that has one"),
        pytest.param(GATED, {"g_0": "n1"}, "", id="none that is used"),
        pytest.param({}, {"g_0": "z", "g_1": "y"}, "", id="none where pods are bound"),
    ],
)
def test_node_that_a_pod_cannot_be_pinned_to_is_found(pod_, where, want):
    members = pods("g", 2, **(pod_ or MUSTER))
    placing = Placing(bare("z"), bare("y"), leaf("g", 1), *members, ungates=bool(pod_))
    assert want == placing.placer.unpinnable(placed(**where), placing.survey)


@pytest.mark.parametrize(("where", "want"), [("n1", "n1"), ("z", ""), ("n9", "")], ids=["it has one", "it has none", "it is not there"])
def test_host_name_of_a_node_is_that_of_its_label(where, want):
    assert want == Placing(bare("z"), leaf("g", 1)).placer.host(where)


def deep(*bound_: str) -> Placing:
    """Three levels, of which these pods are bound."""
    top = Name("CompositePodGroup", "default", "top")
    groups = [composite("top", 2), composite("mid", 1, parent="top"), leaf("low", 1, parent="mid"), leaf("side", 1, parent="top")]
    members = [pod("low-0", "low", **MUSTER), pod("side-0", "side", **MUSTER)]
    return Placing(*groups, *(bound(each, "n1") if each["metadata"]["name"] in bound_ else each for each in members), root=top)


def test_children_are_recorded_as_placed_before_parents_and_the_roots_event():
    writes = deep("low-0", "side-0").committed()
    order = [name for name, _, _ in said(writes)]
    assert ({"top", "mid", "low", "side"}, "top") == (set(order), order[-1])
    assert order.index("low") < order.index("mid")
    assert {"True"} == {status for _, _, status in said(writes)}
    assert [("top", "Scheduled")] == told(writes)
    assert isinstance(writes[-1], RecordEvent)


def test_groups_below_a_root_that_lacks_members_are_not_said_to_be_placed():
    assert [] == deep("low-0").committed()


def test_group_that_completes_after_its_root_is_placed_without_an_event_on_the_root():
    top = Name("CompositePodGroup", "default", "top")
    first = conditioned(composite("top", 1), Condition(INITIALLY_SCHEDULED["CompositePodGroup"], "True", "Scheduled", ""))
    members = [leaf("a", 1, parent="top"), bound(pod("a-0", "a", **MUSTER), "n1")]
    writes = Placing(first, *members, root=top).committed()
    assert ([("a", INITIALLY_SCHEDULED["PodGroup"], "True")], []) == (said(writes), told(writes))


def test_group_is_said_to_be_placed_once():
    placing = Placing(leaf("g", 1), bound(pod("g-0", "g", **MUSTER), "n1"))
    assert 2 == len(placing.committed())
    assert [] == placing.committed()


def test_group_that_was_not_placed_before_has_the_moment_of_writing():
    placing = Placing(conditioned(leaf("g", 1), standing()), bound(pod("g-0", "g", **MUSTER), "n1"))
    (write, _) = placing.committed()
    assert ("True", "") == (write.condition.status, write.condition.since)


@pytest.mark.parametrize(
    ("decision", "want"),
    [
        pytest.param(None, "2 pods are bound", id="nothing is known of where"),
        pytest.param(Decision(G, Status.SUCCESS), "2 pods are bound", id="no group has a decision"),
        pytest.param(
            Decision(G, Status.SUCCESS, groups=(GroupDecision(G, Status.SUCCESS, domain=Domain("rack", "r1")),)),
            "2 pods are bound, in rack r1",
            id="in a domain",
        ),
    ],
)
def test_event_reports_how_many_pods_and_where(decision, want):
    placing = Placing(leaf("g", 2), *(bound(each, "n1") for each in pods("g", 2, **MUSTER)))
    assert [want] == [each.message for each in of(RecordEvent, placing.committed(decision))]


@pytest.mark.parametrize(
    "say",
    [
        pytest.param(
            lambda placing: placing.assumed.assume_condition(Ref("PodGroup", "default", "g"), standing("True")), id="it is being written"
        ),
        pytest.param(lambda placing: setattr(live(placing), "binds_acknowledged", True), id="all its binds were acknowledged"),
    ],
)
def test_condition_that_is_or_will_be_true_is_not_overwritten(say):
    placing = Placing(conditioned(leaf("g", 1), standing(why="an older reason")), *pods("g", 1, **MUSTER))
    say(placing)
    writes = placing.told(failed())
    assert ([], [("g", "FailedScheduling")]) == (said(writes), told(writes))


def test_true_condition_is_not_overwritten():
    placing = Placing(conditioned(leaf("g", 1), standing("True")), *pods("g", 1, **MUSTER))
    assert [] == said(placing.told(failed()))


def test_written_condition_is_not_written_again_before_the_watch_shows_it():
    placing = Placing(conditioned(leaf("g", 1), standing()), *pods("g", 1, **MUSTER))
    assert [] == said(placing.told(failed()))
    other = failed(why="no node is left")
    assert ["g"] == [name for name, _, _ in said(placing.told(other))]
    assert [] == said(placing.told(other))


def test_condition_with_another_reason_keeps_the_time_since_when_it_is_so():
    placing = Placing(conditioned(leaf("g", 1), standing(why="an older reason")), *pods("g", 1, **MUSTER))
    (write,) = of(SetCondition, placing.told(failed()))
    assert (standing().message, SINCE) == (write.condition.message, write.condition.since)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param(Status.UNSCHEDULABLE, ["Unschedulable"], id="no room"),
        pytest.param(Status.UNRESOLVABLE, ["Unschedulable"], id="no room even if others left"),
        pytest.param(Status.ERROR, ["SchedulerError"], id="an error"),
        pytest.param(Status.WAIT, [], id="waiting"),
    ],
)
def test_groups_pods_and_an_event_report_the_failure(status, want):
    placing = Placing(leaf("g", 1), *pods("g", 1, **MUSTER))
    writes = placing.told(failed("g-0", status=status))
    assert [want, want] == [
        [each.condition.reason for each in of(SetCondition, writes) if each.target.kind == kind] for kind in ("PodGroup", "Pod")
    ]
    assert [("g", "FailedScheduling")] * len(want) == told(writes)


def test_invalid_tree_is_reported_on_pods_and_groups_and_by_an_event():
    placing = Placing(leaf("g", 1), *pods("g", 1, **MUSTER))
    writes = placing.told(failed("g-0", status=Status.INVALID))
    assert [("Pod", "SchedulerError")] == [(each.target.kind, each.condition.reason) for each in of(SetCondition, writes)]
    assert [("g", "FailedScheduling")] == told(writes)


def test_deleted_group_gets_no_report():
    placing = Placing(leaf("g", 1), *pods("g", 1, **MUSTER))
    assert [] == said(placing.told(failed(group=Name("PodGroup", "default", "h"))))


def test_placed_group_of_a_tree_that_is_not_placed_is_not_reported_as_failed():
    placing = Placing(leaf("g", 1), *pods("g", 1, **MUSTER))
    group = GroupDecision(G, Status.SUCCESS, present=GroupCondition(INITIALLY_SCHEDULED["PodGroup"], "False", "Unschedulable", NO_ROOM))
    decision = Decision(G, Status.UNSCHEDULABLE, (PluginReason(NO_ROOM),), groups=(group,))
    assert [] == said(placing.told(decision))


@pytest.mark.parametrize(
    ("before", "update_message", "want"),
    [
        pytest.param(None, False, True, id="what was told nothing"),
        pytest.param(("False", "Unschedulable", "another reason"), False, False, id="the same in other words, too soon"),
        pytest.param(("False", "Unschedulable", "another reason"), True, True, id="the same in other words, in time"),
        pytest.param(("False", "Unschedulable", NO_ROOM), True, False, id="what stands"),
        pytest.param(("False", "SchedulerError", "another reason"), False, True, id="another kind of failure"),
        pytest.param(("False", "SchedulingGated", "another reason"), False, True, id="a gate that is gone"),
    ],
)
def test_pod_gets_the_reason_why_it_is_pending(before, update_message, want):
    member = pod("g-0", "g", **MUSTER)
    if before is not None:
        member = conditioned(member, Condition(SCHEDULED, *before))
    placing = Placing(leaf("g", 1), member)
    writes = [each for each in of(SetCondition, placing.told(failed("g-0"), update_message=update_message)) if each.target.kind == "Pod"]
    assert want == bool(writes)


def test_pod_with_our_gate_gets_no_reason():
    placing = Placing(leaf("g", 1), pod("g-0", "g", **GATED), ungates=True)
    assert ["g"] == [name for name, _, _ in said(placing.told(failed("g-0")))]


def test_only_the_leftover_pod_of_a_placed_group_is_reported():
    placing = Placing(leaf("g", 1), *pods("g", 2, **MUSTER))
    writes = placing.told(Decision(G, Status.SUCCESS, pending={"default/g-1": (PluginReason(NO_ROOM),)}))
    assert [("g-1", SCHEDULED, "False")] == said(writes)
    assert len(writes) == 1


@pytest.mark.parametrize(
    ("message", "want"),
    [pytest.param("of the root", "of the root", id="the root's"), pytest.param("", NO_ROOM, id="the pod's, where the root has none")],
)
def test_event_of_a_single_pod_has_a_reason(message, want):
    root = Name("Pod", "default", "one")
    placing = Placing(pod("one", **MUSTER), root=root)
    causes = (PluginReason(message),) if message else ()
    decision = Decision(root, Status.UNSCHEDULABLE, causes, pending={"default/one": (PluginReason(NO_ROOM),)})
    assert [want] == [each.message for each in of(RecordEvent, placing.told(decision))]


def test_nomination_that_the_decision_does_not_renew_is_taken_back():
    members = [pod("g-0", "g", nominated="n1", **MUSTER), pod("g-1", "g", nominated="n2", **MUSTER), pod("g-2", "g", **MUSTER)]
    placing = Placing(leaf("g", 3), *members)
    decision = failed(nominations={"default/g-1": "n2"})
    writes = placing.placer.nominations(decision, placing.survey)
    assert [("g-0", "")] == [(write.pod.name, write.node) for write in writes if isinstance(write, Nominate)]
    assert ("", "n2") == (placing.nominated("g-0"), placing.nominated("g-1"))
    assert () == placing.placer.nominations(decision, placing.survey)


@pytest.mark.parametrize("status", [Status.SUCCESS, Status.WAIT, Status.INVALID])
def test_nomination_is_kept_where_the_root_did_not_fail(status):
    placing = Placing(leaf("g", 1), pod("g-0", "g", nominated="n1", **MUSTER))
    assert () == placing.placer.nominations(failed(status=status) if status is not Status.SUCCESS else placed(), placing.survey)
    assert "n1" == placing.nominated("g-0")


def test_gang_is_undone_by_deleting_what_of_it_is_loose_and_nothing_else():
    top = Name("CompositePodGroup", "default", "top")
    settled = conditioned(leaf("a", 1, parent="top"), standing("True"))
    members = [bound(pod(name, name[0], **MUSTER), "n1") for name in ("a-0", "b-1", "b-0")]
    foreign = bound(pod("b-2", "b"), "n1")
    placing = Placing(composite("top", 0), settled, leaf("b", 9, parent="top"), *members, foreign, pod("b-3", "b", **MUSTER), root=top)
    writes = placing.placer.undo(placing.survey, "no room is left")
    assert ["b-0", "b-1"] == names(of(Remove, [*writes]))
    assert [("top", "PlacementUndone")] == told([*writes])
    assert (True, True) == ("no room is left" in writes[-1].message, "2 pods are deleted" in writes[-1].message)  # type: ignore[union-attr]


def test_pods_of_an_undone_gang_count_as_terminating_and_are_deleted_once():
    placing = Placing(leaf("g", 3), *(bound(each, "n1") for each in pods("g", 2, **MUSTER)), pod("g-2", "g", **MUSTER))
    placing.placer.undo(placing.survey, "so it is")
    found = placing.survey
    assert ((), (), True) == (found.partially_bound, found.placed, found.terminating)
    assert {(True, False)} == {
        (each.deletion_assumed, each.evicted) for each in placing.store.members("default", "g") if each.parsed_pod.node
    }


def test_gang_without_loose_pods_is_undone_by_deleting_those_of_ours():
    placing = Placing(leaf("g", 2), bound(pod("g-0", "g", **MUSTER), "n1"), bound(pod("g-1", "g"), "n1"))
    assert ["g-0"] == names(of(Remove, [*placing.placer.undo(placing.survey, "so it is")]))


def test_event_of_one_pod_is_in_the_singular():
    placing = Placing(leaf("g", 1), *(bound(each, "n1") for each in pods("g", 1, **MUSTER)))
    assert ["1 pod is bound"] == [each.message for each in of(RecordEvent, placing.committed(None))]
