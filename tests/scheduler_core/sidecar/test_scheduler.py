"""What is written for roots, when, and what follows from how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.causes.pre_enqueue import PodGroupAwaited
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.node_usage import NodeUsage
from scheduler_core.sidecar.cache.optional_watches import NOTHING, Reads
from scheduler_core.sidecar.cache.pod_cache import SCHEDULED
from scheduler_core.sidecar.queue.states import Active, Gated, Preempting, Unschedulable
from scheduler_core.sidecar.scheduling import scheduler
from scheduler_core.sidecar.scheduling.explanation import notes_json
from scheduler_core.sidecar.scheduling.plan_steps import MAX_IMMEDIATE_RETRIES
from scheduler_core.sidecar.scheduling.scheduler import Scheduler, SchedulerOptions
from scheduler_core.sidecar.writes import Bind, Deviations, Evict, Nominate, RecordEvent, Remove, SetCondition, Ungate, WriteOutcome
from tests.scheduler_core.builders import HOST, composite, leaf, message_of, node, pod, pods, racks
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import Json, Server

MUSTER = {"schedulerName": "muster"}
GATED = {"schedulingGates": [{"name": PLACEMENT_GATE}]}


JOB_INDEX = "batch.kubernetes.io/job-completion-index"
G = Name("PodGroup", "default", "g")


class Scene:
    """A server, a scheduler that has heard of all that is there, and a clock."""

    def __init__(self, *objects: Json, reads: Reads = NOTHING, **options: Any) -> None:
        self.server, self.reads = Server(), reads
        self.options = SchedulerOptions(**{"settle_seconds": 0.0, **options})
        self.now = 0.0
        for each in objects:
            self.server.put(each)
        self.restart()

    def restart(self) -> None:
        """A new process."""
        self.store = Cache(reads=self.reads)
        self.server.fill(self.store)
        self.heard = len(self.server.events)
        self.scheduler = Scheduler(self.store, self.options)

    def put(self, *objects: Json) -> None:
        for each in objects:
            self.server.put(each)
        self.handle_changes()

    def delete(self, kind: str, *names: str) -> None:
        for name in names:
            self.server.delete((kind, "" if kind == "Node" else "default", name))
        self.handle_changes()

    def handle_changes(self) -> None:
        histories.feed(self.store, self.server.events[self.heard :])
        self.heard = len(self.server.events)

    def writes(self) -> list[Any]:
        """Everything that is to be written now."""
        found: list[Any] = []
        while (due := self.scheduler.due(self.now)) is not None and due <= self.now:
            for each in self.scheduler.attempt(self.now):
                found += each.writes
        return found

    def end(self, writes: list[Any], outcome: WriteOutcome = WriteOutcome.DONE) -> list[Any]:
        """Tell how *writes* ended; what is to be written then."""
        found: list[Any] = []
        for write in writes:
            found += self.scheduler.done(write, outcome, "so it is", self.now)
        return found

    def approve(self, root: Name = G) -> list[Any]:
        """What is to be written when the plan of *root* has passed its dry run, with what follows once nominations are written."""
        found: list[Any] = []
        more = [*self.scheduler.approve(root, self.now)]
        while more:
            found += more
            more = self.end(of(Nominate, more))
        return found

    def wait(self, seconds: float) -> list[Any]:
        """What is to be written after so long."""
        self.now += seconds
        return self.writes()


def of(kind: type, writes: list[Any]) -> list[Any]:
    return [write for write in writes if isinstance(write, kind)]


def nodes_of(writes: list[Any]) -> dict[str, str]:
    return {write.pod.name: write.node for write in writes if isinstance(write, Bind | Ungate)}


def said(writes: list[Any]) -> list[tuple[str, str, str]]:
    return [(write.target.name, write.condition.type, write.condition.status) for write in of(SetCondition, writes)]


def told(writes: list[Any]) -> list[tuple[str, str]]:
    return [(write.target.name, write.reason) for write in of(RecordEvent, writes)]


def gang(name: str, count: int, cpu: str = "1", *, minimum: int = 0, key: str = "", **more: Any) -> list[Json]:
    return [leaf(name, minimum or count, key), *pods(name, count, cpu, **{**MUSTER, **more})]


def bound(each: Json, where: str) -> Json:
    return {**each, "spec": {**each["spec"], "nodeName": where}}


TRUE = [("g", INITIALLY_SCHEDULED["PodGroup"], "True")]


def test_gang_is_said_to_be_placed_once_every_bind_is_acknowledged():
    scene = Scene(node("n1"), *gang("g", 3))
    writes = scene.writes()
    assert {"g-0": "n1", "g-1": "n1", "g-2": "n1"} == nodes_of(writes)
    assert [] == said(writes)
    one, two, three = of(Bind, writes)
    assert [] == scene.end([one, two])
    after = scene.end([three])
    assert (TRUE, [("g", "Scheduled")]) == (said(after), told(after))


def test_a_pod_with_a_share_of_a_device_is_not_bound_before_the_annotation_is_gone():
    share = pod("one", **MUSTER)
    share["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    scene = Scene(node("n1"), share)
    writes = scene.writes()
    assert {} == nodes_of(writes)
    assert any("the annotation gpu-fraction requests a share" in write.condition.message for write in of(SetCondition, writes))
    scene.put(pod("one", **MUSTER))
    assert {"one": "n1"} == nodes_of(scene.wait(1000))


def test_children_are_said_to_be_placed_before_their_parents():
    scene = Scene(node("n1"), composite("top", 2), leaf("a", 1, parent="top"), leaf("b", 1, parent="top"))
    scene.put(pod("a-0", "a", **MUSTER), pod("b-0", "b", **MUSTER))
    after = scene.end(of(Bind, scene.writes()))
    assert ["a", "b", "top"] == sorted(name for name, _, _ in said(after))
    assert "top" == said(after)[-1][0]


def test_nothing_is_bound_twice_while_binds_are_under_way_and_after():
    scene = Scene(node("n1"), *gang("g", 2))
    binds = of(Bind, scene.writes())
    assert [] == scene.wait(1000)
    scene.end(binds)
    assert [] == of(Bind, scene.wait(1000))
    scene.put(*(bound(each, "n1") for each in pods("g", 2, **MUSTER)))
    assert [] == of(Bind, scene.wait(1000))


def test_bound_pods_use_resources_before_the_watch_shows_them():
    scene = Scene(node("n1", cpu="2"), *gang("g", 2))
    scene.writes()
    scene.put(*gang("h", 1))
    assert {} == nodes_of(scene.writes())


def test_no_cycle_starts_while_many_binds_are_in_flight_and_urgent_ones_are_next():
    scene = Scene(node("n1", cpu="16"), *gang("a", 3), *gang("b", 3), *gang("c", 1), max_binds_in_flight=4, batch_roots=1)
    binds = of(Bind, scene.writes())
    assert {"a-0", "a-1", "a-2", "b-0", "b-1", "b-2"} == {*nodes_of(binds)}
    scene.put(leaf("urgent", 1, priority=5), pod("urgent-0", "urgent", priority=5, **MUSTER))
    assert ({}, None) == (nodes_of(scene.wait(1)), scene.scheduler.due(scene.now))
    scene.end(binds[:3])
    assert {"urgent-0": "n1"} == nodes_of(scene.writes())
    scene.end(binds[3:])
    assert {"c-0": "n1"} == nodes_of(scene.writes())


def test_what_time_brings_is_seen_while_many_binds_are_under_way():
    scene = Scene(node("n1"), *gang("big", 1, "9"), max_binds_in_flight=1, batch_roots=1, flush_seconds=50.0)
    scene.writes()
    scene.put(*gang("a", 1), *gang("b", 1))
    assert {"a-0": "n1"} == nodes_of(scene.writes())
    assert 50.0 == scene.scheduler.due(scene.now)


def test_pod_whose_bind_failed_frees_its_resources():
    scene = Scene(node("n1", cpu="1"), *gang("g", 1))
    binds = of(Bind, scene.writes())
    scene.put(*gang("h", 1))
    assert {} == nodes_of(scene.writes())
    scene.delete("Pod", "g-0")
    scene.end(binds, WriteOutcome.GONE)
    assert {"h-0": "n1"} == nodes_of(scene.wait(10))


def test_only_pods_of_our_scheduler_are_bound():
    scene = Scene(node("n1"), *gang("g", 1, schedulerName="other"), pod("lone"), *gang("h", 1), pod("ours", **MUSTER))
    assert {"h-0": "n1", "ours": "n1"} == nodes_of(scene.writes())


def test_gang_that_waits_for_its_members_gets_no_report():
    scene = Scene(node("n1"), leaf("g", 2), pod("g-0", "g", **MUSTER))
    assert [] == [*of(Bind, writes := scene.wait(1000)), *of(RecordEvent, writes)]
    assert 1 == scene.scheduler.counts()[Gated, "PodGroup"]
    found = scene.scheduler.explain("default", "g")
    assert found is not None
    assert (Status.WAIT, True) == (found.decision.status, "1 of 2 pods" in message_of(found.decision))


def test_gate_of_another_holds_the_whole_gang():
    scene = Scene(node("n1"), *gang("g", 2))
    gated = pod("g-1", "g", schedulingGates=[{"name": "other"}], **MUSTER)
    scene.put(gated)
    assert [] == scene.writes()
    scene.put(pod("g-1", "g", **MUSTER))
    assert {"g-0": "n1", "g-1": "n1"} == nodes_of(scene.writes())


def test_failure_is_reported_on_the_group_its_pods_and_by_an_event_once():
    scene = Scene(node("n1", cpu="1"), *gang("g", 2))
    writes = scene.writes()
    assert [("g", INITIALLY_SCHEDULED["PodGroup"], "False"), ("g-0", SCHEDULED, "False"), ("g-1", SCHEDULED, "False")] == said(writes)
    assert [("g", "FailedScheduling")] == told(writes)
    assert ["Unschedulable"] * 3 == [write.condition.reason for write in of(SetCondition, writes)]
    assert [] == said(scene.wait(scene.options.flush_seconds + 1))


def test_existing_condition_is_not_written_again_after_a_restart():
    scene = Scene(node("n1", cpu="1"), *gang("g", 2))
    for write in of(SetCondition, scene.writes()):
        each = scene.server.objects[write.target.kind, "default", write.target.name]
        condition = {name: getattr(write.condition, name) for name in ("type", "status", "reason", "message")}
        scene.server.put({**each, "status": {"conditions": [{**condition, "lastTransitionTime": "2026-08-01T00:00:00Z"}]}})
    scene.restart()
    assert [] == said(scene.writes())
    scene.put(*gang("g", 3)[1:])
    (again, *_) = [write.condition for write in of(SetCondition, scene.wait(100)) if write.target.kind == "PodGroup"]
    assert "2026-08-01T00:00:00Z" == again.since


def test_condition_that_says_true_is_final():
    scene = Scene(node("n1", cpu="1"), *gang("g", 1))
    after = scene.end(of(Bind, scene.writes()))
    scene.end(of(SetCondition, after))
    scene.put(pod("g-1", "g", **MUSTER))
    writes = scene.wait(1)
    assert ([], True) == ([each for each in said(writes) if each[0] == "g"], ("g", "FailedScheduling") in told(writes))


def test_root_that_failed_is_left_alone_until_something_could_help_it():
    scene = Scene(*racks({"a": 1}, cpu="1"), node("b-0", "4", rack="b", taints=[{"key": "x", "effect": "NoSchedule"}]), *gang("g", 2))
    filler = pod("filler", on="b-0")
    scene.put(filler)
    assert [("g", "FailedScheduling")] == told(scene.writes())
    assert [] == scene.wait(50)
    scene.delete("Pod", "filler")
    assert [] == scene.wait(50), "room was freed where it may not run"
    scene.put(node("c-0", "500m", rack="c"))
    assert [] == scene.wait(50), "a node came that is too small"
    scene.put(node("b-0", "4", rack="b"))
    assert {"g-0": "b-0", "g-1": "b-0"} == nodes_of(scene.wait(0))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda scene: scene.put(node("n2")), id="a node that came"),
        pytest.param(lambda scene: scene.put(node("n1", cpu="4")), id="a node that grew"),
        pytest.param(lambda scene: scene.delete("Pod", "filler"), id="a pod that went"),
        pytest.param(lambda scene: scene.put(leaf("g", 1)), id="its own group"),
        pytest.param(lambda scene: scene.put(pod("filler", on="n1", cpu="1")), id="a pod that shrank"),
        pytest.param(lambda scene: scene.delete("Node", "n1") or scene.put(node("n1", cpu="4")), id="a node that came again"),
    ],
)
def test_root_is_retried_when_a_change_could_help_and_not_before_its_backoff(change):
    scene = Scene(node("n1", cpu="3"), pod("filler", on="n1", cpu="2"), *gang("g", 2))
    assert {} == nodes_of(scene.writes())
    change(scene)
    assert {} == nodes_of(scene.wait(0.5))
    assert nodes_of(scene.wait(0.6))


def test_root_is_tried_again_after_a_long_time_though_nothing_happened():
    scene = Scene(node("n1", cpu="1"), *gang("g", 2), flush_seconds=300.0)
    scene.writes()
    assert ([], 1) == (told(scene.wait(299)), scene.scheduler.counts()[Unschedulable, "PodGroup"])
    assert [("g", "FailedScheduling")] == told(scene.wait(1))


def test_back_off_grows_with_each_failure():
    scene = Scene(node("n1", cpu="1"), *gang("g", 2))
    scene.writes()
    for seconds in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        scene.put(node("n1", cpu="1", change=str(scene.now)))
        assert [] == told(scene.wait(seconds - 0.01))
        assert [("g", "FailedScheduling")] == told(scene.wait(0.01))


def test_bind_that_is_refused_is_made_elsewhere_and_the_rest_stays():
    scene = Scene(node("n1", cpu="1"), node("n2", cpu="1"), node("n3", cpu="1"), *gang("g", 2))
    one, two = of(Bind, scene.writes())
    scene.end([one])
    after = scene.end([two], WriteOutcome.REFUSED)
    assert ["False", "False"] == [status for _, _, status in said(after)]
    assert [("g-1", "FailedScheduling"), ("g", "FailedScheduling")] == told(after)
    scene.put(bound(pod("g-0", "g", **MUSTER), one.node), node(two.node, cpu="1", unschedulable=True))
    again = scene.wait(2)
    assert {"g-1": "n3"} == nodes_of(again)
    assert TRUE == said(scene.end(of(Bind, again)))


def test_bind_with_unknown_result_is_repeated_on_its_node_and_keeps_resources():
    scene = Scene(node("n1", cpu="1"), node("n2", cpu="1"), *gang("g", 2))
    binds = of(Bind, scene.writes())
    assert [] == of(Bind, scene.end(binds, WriteOutcome.FAILED))
    scene.put(*gang("h", 1))
    again = scene.wait(2)
    assert nodes_of(binds) == nodes_of(again)
    assert TRUE == said(scene.end(of(Bind, again)))


def test_single_pod_of_whose_bind_nothing_is_known_is_bound_again():
    scene = Scene(node("n1"), pod("lone", **MUSTER))
    binds = of(Bind, scene.writes())
    scene.end(binds, WriteOutcome.FAILED)
    again = scene.wait(2)
    assert {"lone": "n1"} == nodes_of(again)
    assert [("lone", "Scheduled")] == told(scene.end(of(Bind, again)))


def test_gang_that_is_bound_in_part_after_a_restart_comes_first_and_is_finished():
    there = bound(pod("g-0", "g", **MUSTER), "a-0")
    scene = Scene(*racks({"a": 1, "b": 1}, cpu="2"), *gang("first", 2, key="rack"), *gang("g", 2, key="rack"), batch_roots=1)
    scene.put(there)
    scene.restart()
    (attempt, *_) = scene.scheduler.attempt(0.0)
    assert Name("PodGroup", "default", "g") == attempt.root
    assert {"g-1": "a-0"} == nodes_of(list(attempt.writes))


def test_gang_that_is_bound_in_part_and_cannot_be_finished_is_undone():
    scene = Scene(node("n1", cpu="2"), pod("other", on="n1"), *gang("g", 2))
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    writes = scene.writes()
    assert ["g-0"] == [write.pod.name for write in of(Remove, writes)]
    assert ("g", "PlacementUndone") in told(writes)
    assert [] == of(Remove, scene.wait(1000)), "while it leaves nobody else is told"
    scene.end(of(Remove, writes))
    scene.delete("Pod", "g-0", "other")
    scene.put(pod("g-0", "g", **MUSTER))
    assert {"g-0": "n1", "g-1": "n1"} == nodes_of(scene.wait(1000))


def test_gang_that_was_placed_once_is_never_undone():
    placed = leaf("g", 2)
    placed["status"] = {"conditions": [{"type": INITIALLY_SCHEDULED["PodGroup"], "status": "True", "reason": "Scheduled", "message": ""}]}
    scene = Scene(node("n1", cpu="1"), placed, bound(pod("g-0", "g", **MUSTER), "n1"), pod("g-1", "g", **MUSTER))
    assert [] == of(Remove, scene.wait(1000) + scene.wait(1000))


def test_gang_of_which_a_child_was_placed_once_is_never_undone():
    placed = leaf("a", 1, parent="top")
    placed["status"] = {"conditions": [{"type": INITIALLY_SCHEDULED["PodGroup"], "status": "True", "reason": "Scheduled", "message": ""}]}
    scene = Scene(node("n1", cpu="1"), composite("top", 2), placed, leaf("b", 1, parent="top"))
    scene.put(bound(pod("a-0", "a", **MUSTER), "n1"), pod("b-0", "b", **MUSTER))
    assert [] == of(Remove, scene.wait(1000) + scene.wait(1000))


def test_pods_that_another_scheduler_has_bound_are_not_taken_back():
    scene = Scene(node("n1", cpu="1"), leaf("g", 2), bound(pod("g-0", "g"), "n1"), pod("g-1", "g"))
    assert [] == scene.wait(1000) + scene.wait(1000)


def test_incomplete_gang_that_lost_a_member_waits_for_another_before_it_is_undone():
    scene = Scene(node("n1"), *gang("g", 2), partial_seconds=30.0)
    binds = of(Bind, scene.writes())
    scene.delete("Pod", "g-1")
    scene.end(binds[:1])
    scene.end(binds[1:], WriteOutcome.GONE)
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    assert [] == of(Remove, scene.wait(29))
    assert ["g-0"] == [write.pod.name for write in of(Remove, scene.wait(1))]


def test_member_that_comes_in_time_completes_the_gang():
    scene = Scene(node("n1"), leaf("g", 2), bound(pod("g-0", "g", **MUSTER), "n1"), partial_seconds=30.0)
    assert [] == of(Remove, scene.wait(20))
    scene.put(pod("g-1", "g", **MUSTER))
    binds = of(Bind, scene.wait(1))
    assert {"g-1": "n1"} == nodes_of(binds)
    assert TRUE == said(scene.end(binds))
    assert [] == of(Remove, scene.wait(1000))


def test_gang_whose_binds_fail_again_and_again_is_undone():
    scene = Scene(node("n1"), *gang("g", 2), max_bind_failures=3)
    scene.put(bound(pod("g-0", "g", **MUSTER), "n1"))
    removed: list[Any] = []
    for _ in range(4):
        writes = scene.wait(20)
        removed += of(Remove, writes)
        scene.end(of(Bind, writes), WriteOutcome.REFUSED)
    assert ["g-0"] == [write.pod.name for write in removed]


def test_gang_that_cannot_be_recorded_as_placed_is_not_undone_and_recorded_later():
    scene = Scene(node("n1"), *gang("g", 2))
    after = scene.end(of(Bind, scene.writes()))
    scene.end(of(SetCondition, after), WriteOutcome.REFUSED)
    scene.put(*(bound(each, "n1") for each in pods("g", 2, **MUSTER)))
    assert TRUE == said(scene.wait(10))
    scene.delete("Pod", "g-0")
    assert [] == of(Remove, scene.wait(1000))


def test_member_that_has_run_already_counts_as_placed():
    scene = Scene(node("n1"), *gang("g", 2))
    one, two = of(Bind, scene.writes())
    scene.end([one])
    done = bound(pod("g-0", "g", **MUSTER), "n1")
    done["status"] = {"phase": "Succeeded"}
    scene.put(done)
    assert TRUE == said(scene.end([two]))


def test_gang_that_was_bound_whole_before_a_restart_is_recorded_as_placed():
    scene = Scene(node("n1"), leaf("g", 2), *(bound(each, "n1") for each in pods("g", 2, **MUSTER)))
    writes = scene.writes()
    assert (TRUE, [("g", "Scheduled")]) == (said(writes), told(writes))
    assert [] == scene.wait(1000)


def test_gang_on_a_node_that_returned_during_binding_is_recorded_as_placed():
    scene = Scene(node("n1"), *gang("g", 2))
    binds = of(Bind, scene.writes())
    scene.put(*(bound(each, "n1") for each in pods("g", 2, **MUSTER)))
    scene.delete("Node", "n1")
    assert [] == said([*scene.writes(), *scene.end(binds), *scene.writes()])
    scene.put(node("n1"))
    assert TRUE == said(scene.writes())


def test_member_that_came_while_the_others_node_was_away_is_placed_on_return():
    scene = Scene(node("n1"), *gang("g", 2))
    scene.end(of(Bind, scene.writes()))
    scene.put(*(bound(each, "n1") for each in pods("g", 2, **MUSTER)))
    scene.delete("Node", "n1")
    scene.put(pod("g-2", "g", **MUSTER))
    assert {} == nodes_of(scene.wait(1000))
    scene.put(node("n1"))
    assert {"g-2": "n1"} == nodes_of(scene.writes())


def test_lost_leadership_forgets_what_was_assumed():
    scene = Scene(node("n1", cpu="1"), *gang("g", 1))
    binds = of(Bind, scene.writes())
    scene.end(binds, WriteOutcome.DROPPED)
    scene.scheduler.restart()
    assert nodes_of(binds) == nodes_of(scene.wait(0))


def test_gated_pods_are_pinned_and_opened_whatever_their_scheduler_is():
    scene = Scene(node("n1"), leaf("g", 2), *pods("g", 2, **GATED), place=False, ungate=True)
    writes = scene.writes()
    assert [("n1", "n1"), ("n1", "n1")] == [(write.node, write.hostname) for write in of(Ungate, writes)]
    assert [] == said(scene.end(of(Ungate, writes))), "until they are bound"
    for each in pods("g", 2, nodeSelector={HOST: "n1"}):
        each["metadata"]["annotations"] = {PLACEMENT_GATE: "n1"}
        scene.put(each)
    assert [] == scene.wait(1)
    scene.put(*(bound({**each, "metadata": {**each["metadata"], "annotations": {PLACEMENT_GATE: "n1"}}}, "n1") for each in pods("g", 2)))
    assert TRUE == said(scene.wait(1))


def test_our_gate_beside_another_holds_the_pod():
    two = {"schedulingGates": [{"name": PLACEMENT_GATE}, {"name": "other"}]}
    scene = Scene(node("n1"), leaf("g", 1), pod("g-0", "g", **two), place=False, ungate=True)
    assert [] == scene.wait(1000)


def test_rest_of_a_gang_follows_to_where_a_restart_finds_the_first_pinned():
    first = pod("g-0", "g", nodeSelector={HOST: "b-0"})
    first["metadata"]["annotations"] = {PLACEMENT_GATE: "b-0"}
    scene = Scene(*racks({"a": 2, "b": 2}, cpu="1"), leaf("g", 2, key="rack"), first, pod("g-1", "g", **GATED), place=False, ungate=True)
    assert {"g-1": "b-1"} == nodes_of(scene.writes())


def test_pinned_gang_that_is_not_bound_in_time_is_undone():
    first = pod("g-0", "g", nodeSelector={HOST: "n1"})
    first["metadata"]["annotations"] = {PLACEMENT_GATE: "n1"}
    scene = Scene(node("n1"), leaf("g", 1), first, place=False, ungate=True, deviations=Deviations.UNDO)
    assert [] == of(Remove, scene.wait(0) + scene.wait(299))
    assert ["g-0"] == [write.pod.name for write in of(Remove, scene.wait(1))]


def test_node_without_a_host_name_cannot_be_pinned_to():
    bare = node("n1")
    del bare["metadata"]["labels"][HOST]
    scene = Scene(bare, leaf("g", 1), pod("g-0", "g", **GATED), place=False, ungate=True)
    writes = scene.writes()
    assert ([], True) == (of(Ungate, writes), "kubernetes.io/hostname" in of(RecordEvent, writes)[0].message)


class Crowded(Scene):
    """A node that is full of pods of low priority, and a gang of a higher one."""

    def __init__(self, *more: Json, **options: Any) -> None:
        low = [pod(f"low-{number}", on="n1", priority=0) for number in range(4)]
        urgent = [{**leaf("g", 2, priority=10)}, *pods("g", 2, priority=10, **MUSTER)]
        super().__init__(node("n1", cpu="4"), *low, *urgent, *more, **{"preempt": True, **options})

    def plan(self) -> tuple[Any, ...]:
        """The plan of the one attempt that is made now."""
        (attempt,) = [each for each in self.scheduler.attempt(self.now) if each.plan]
        return attempt.plan


def surveyed(scene: Scene, do: Any) -> list[Name]:
    """The roots that are surveyed while *do* is done, after everything was heard."""
    queue, found = scene.scheduler._queue, []
    queue.handle_changes(scene.now)
    survey = queue.status_of

    def counted(root: Name) -> Any:
        found.append(root)
        return survey(root)

    queue.status_of = counted  # type: ignore[method-assign]
    do()
    queue.status_of = survey  # type: ignore[method-assign]
    return found


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([node("n1"), *gang("g", 2)], [G], id="it is placed"),
        pytest.param([node("n1", cpu="1"), *gang("g", 2)], [G], id="it is not"),
        pytest.param([node("n1", cpu="1"), pod("low", on="n1", priority=0), *gang("g", 1, priority=9)], [G], id="others are to leave"),
        pytest.param([node("n1"), leaf("g", 1), bound(pod("g-0", "g", **MUSTER), "n1")], [G], id="it is recorded as placed"),
        pytest.param(
            [node("n1", cpu="1"), leaf("g", 2), bound(pod("g-0", "g", **MUSTER), "n1"), pod("g-1", "g", **MUSTER)],
            [G, G],
            id="it is undone, which changes it",
        ),
    ],
)
def test_root_is_surveyed_once_an_attempt(objects, want):
    scene = Scene(*objects, preempt=True)
    assert want == surveyed(scene, lambda: scene.scheduler.attempt(scene.now))


def test_root_is_surveyed_once_when_its_binds_have_ended():
    scene = Scene(node("n1"), *gang("g", 2))
    binds = of(Bind, scene.writes())
    assert [G] == surveyed(scene, lambda: scene.end(binds))


@pytest.mark.parametrize("refused", [True, False], ids=["a victim must not leave", "it is out of date"])
def test_root_is_surveyed_once_when_its_plan_comes_to_nothing(refused):
    scene = Crowded()
    plan = scene.plan()
    scene.put(node("n2", cpu="4"))
    end = (lambda: scene.scheduler.eviction_refused(G, plan[0].pod, "", 0.0)) if refused else scene.approve
    assert [G] == surveyed(scene, end)


def desk_plans(scene: Scene) -> tuple[Evict, ...]:
    """The evictions of all plans that are not under way."""
    queue = scene.scheduler._queue
    return tuple(write for plan in queue.entities.plans.values() for write in scene.scheduler._preemption.evictions(plan))


def of_plans(scene: Scene, seconds: float) -> list[Any]:
    """The attempts with a plan after so long."""
    scene.now += seconds
    return [each for each in scene.scheduler.attempt(scene.now) if each.plan]


def test_victims_are_evicted_once_their_evictions_passed_the_dry_run():
    scene = Crowded()
    plan = scene.plan()
    assert 2 == len({write.pod.name for write in plan})
    writes = scene.approve()
    assert plan == tuple(of(Evict, writes))
    assert [("g-0", "n1"), ("g-1", "n1")] == [(write.pod.name, write.node) for write in of(Nominate, writes)]
    assert 2 == len([each for each in told(writes) if each[1] == "Preempted"])
    assert isinstance(writes[0], Nominate), "the room is promised before anybody leaves"


def test_root_is_left_alone_until_its_victims_are_gone_and_then_placed_at_once():
    scene = Crowded()
    victims = [write.pod.name for write in scene.plan()]
    scene.end(scene.approve())
    assert ([], 1) == (scene.wait(100), scene.scheduler.counts()[Preempting, "PodGroup"])
    scene.delete("Pod", victims[0])
    assert [] == scene.wait(0)
    scene.delete("Pod", victims[1])
    assert {"g-0": "n1", "g-1": "n1"} == nodes_of(scene.wait(0))


@pytest.mark.parametrize("priority", [pytest.param(5, id="of lower priority"), pytest.param(10, id="of the same priority")])
def test_no_other_pod_takes_the_capacity_meanwhile(priority):
    scene = Crowded()
    victims = [write.pod.name for write in scene.plan()]
    thief = leaf("thief", 1, priority=priority), pod("thief-0", "thief", priority=priority, **MUSTER)
    scene.put(*thief)
    (attempt,) = scene.scheduler.attempt(scene.now)
    assert set() == {write.pod.name for write in attempt.plan} & set(victims)
    scene.end(scene.approve())
    scene.delete("Pod", *victims)
    placed = nodes_of(scene.wait(0))
    assert "thief-0" not in placed
    scene.end(scene.approve(Name("PodGroup", "default", "thief")))
    scene.delete("Pod", *(write.pod.name for write in attempt.plan))
    placed |= nodes_of(scene.wait(0)) | nodes_of(scene.wait(20))
    assert {"g-0": "n1", "g-1": "n1", "thief-0": "n1"} == placed


def test_two_plans_have_no_victim_in_common():
    scene = Crowded(leaf("h", 2, priority=10), *pods("h", 2, priority=10, **MUSTER))
    plans = [each.plan for each in scene.scheduler.attempt(0.0)]
    names = [write.pod.name for plan in plans for write in plan]
    assert (2, 4) == (len(plans), len(set(names)))


def test_eviction_that_the_server_refuses_in_the_dry_run_drops_the_plan():
    scene = Crowded()
    plan = scene.plan()
    writes = list(scene.scheduler.eviction_refused(G, plan[0].pod, "a budget", scene.now))
    assert [("g", "FailedScheduling")] == told(writes)
    assert ([], []) == (scene.approve(), of(Nominate, writes))
    scene.put(node("n2", cpu="4"))
    assert {"g-0": "n2", "g-1": "n2"} == nodes_of(scene.wait(10))


def test_plan_that_is_not_needed_any_more_is_dropped_before_anybody_leaves():
    scene = Crowded()
    scene.plan()
    scene.put(node("n2", cpu="4"))
    assert [] == scene.approve()
    assert {"g-0": "n2", "g-1": "n2"} == nodes_of(scene.wait(0))


def test_plan_is_proved_again_and_needs_no_more_than_it_still_needs():
    scene = Crowded()
    plan = scene.plan()
    scene.delete("Pod", plan[0].pod.name)
    writes = scene.approve()
    assert [plan[1]] == of(Evict, writes)


def test_plan_of_a_root_that_is_gone_evicts_nobody():
    scene = Crowded()
    scene.plan()
    scene.delete("Pod", "g-0", "g-1")
    assert [] == scene.approve()


def test_plan_that_breaks_a_budget_is_retried_when_the_budget_allows_it():
    labels = {"app": "low"}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": 0},
    }
    low = [pod(f"low-{number}", on="n1", priority=0, labels=labels) for number in range(4)]
    scene = Crowded(budget, *low)
    assert [()] == [each.plan for each in scene.scheduler.attempt(scene.now)]
    scene.now = 100.0
    scene.put({**budget, "status": {"disruptionsAllowed": 4}})
    assert 2 == len(scene.plan())


def test_resources_of_a_refused_preemption_are_free_for_the_roots_of_the_same_cycle():
    kept = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": 0},
    }
    low = pod("low", cpu="2", on="n1", priority=0, labels={"app": "low"})
    large = [leaf("g", 1, priority=10), pod("g-0", "g", cpu="3", priority=10, **MUSTER)]
    scene = Scene(node("n1", cpu="3"), low, kept, *large, pod("small", priority=5, **MUSTER), preempt=True)
    assert {"small": "n1"} == nodes_of(scene.writes())


def test_dry_run_of_an_earlier_plan_is_not_waited_for():
    scene = Crowded()
    plan = scene.plan()
    assert scene.scheduler.awaits(G, plan)
    assert not scene.scheduler.awaits(G, plan[:1])
    scene.approve()
    assert not scene.scheduler.awaits(G, plan), "its evictions are sent"
    assert not scene.scheduler.awaits(Name("PodGroup", "default", "h"), plan)


def test_root_whose_plans_are_out_of_date_again_and_again_is_left_alone_for_a_while():
    scene = Crowded()
    planned = 0
    for number in range(MAX_IMMEDIATE_RETRIES + 2):
        planned += len([each for each in scene.scheduler.attempt(scene.now) if each.plan])
        # Who was to leave first is not there any more, and another has its place.
        for write in desk_plans(scene):
            scene.delete("Pod", write.pod.name)
            scene.put(pod(f"new-{number}-{write.pod.name}", on="n1", priority=0))
        scene.approve()
    assert MAX_IMMEDIATE_RETRIES == planned
    assert of_plans(scene, 60)


def test_victims_that_would_not_leave_stay_and_the_rest_is_planned_anew():
    scene = Crowded()
    plan = scene.plan()
    scene.approve()
    scene.end([plan[0]])
    scene.end([plan[1]], WriteOutcome.REFUSED)
    assert [] == scene.wait(100)
    scene.delete("Pod", plan[0].pod.name)
    (again,) = [each.plan for each in scene.scheduler.attempt(scene.now) if each.plan]
    assert 1 == len(again)


def test_group_that_is_preempted_whole_is_reported():
    whole = [leaf("w", 4, priority=0, disruptionMode={"all": {}})]
    members = [pod(f"low-{number}", "w", on="n1", priority=0) for number in range(4)]
    scene = Crowded(*whole, *members)
    assert 4 == len(scene.plan())
    writes = scene.approve()
    assert [("w", "DisruptionTarget", "True")] == said(writes)
    assert ("w", "Preempted") in told(writes)


def test_nobody_leaves_where_preemption_is_off():
    scene = Crowded(preempt=False)
    (attempt,) = scene.scheduler.attempt(0.0)
    assert ((), (), {}) == (attempt.plan, attempt.decision.victims, attempt.decision.nominations)


def test_nomination_that_leads_nowhere_is_taken_back():
    scene = Scene(
        node("n1", cpu="1"), pod("other", on="n1", priority=100), leaf("g", 1), pod("g-0", "g", nominated="n1", **MUSTER), preempt=True
    )
    assert [("g-0", "")] == [(write.pod.name, write.node) for write in of(Nominate, scene.writes())]


def test_explain_finds_the_root_by_the_name_of_any_group_or_pod_in_it():
    scene = Scene(node("n1"), composite("top", 1), leaf("a", 1, parent="top"), pod("a-0", "a", **MUSTER), pod("stray", "none", **MUSTER))
    scene.writes()
    found = {name: scene.scheduler.explain("default", name) for name in ("top", "a", "a-0")}
    assert {("CompositePodGroup", "top", Status.SUCCESS)} == {
        (each.decision.root.kind, each.decision.root.name, each.decision.status) for each in found.values() if each
    }
    stray = scene.scheduler.explain("default", "stray")
    assert stray is not None
    assert (Status.WAIT, (PodGroupAwaited(Name("PodGroup", "default", "none"), exists=False),)) == (
        stray.decision.status,
        stray.decision.causes,
    )
    assert None is scene.scheduler.explain("default", "nothing")


def test_decisions_are_reported_while_the_root_exists():
    scene = Scene(node("n1"), pod("alone", **MUSTER), *gang("g", 1))
    scene.end(scene.writes())
    scene.put(bound(pod("alone", **MUSTER), "n1"), bound(pod("g-0", "g", **MUSTER), "n1"))
    scene.writes()
    assert [Status.SUCCESS] * 2 == [found.decision.status for name in ("alone", "g") if (found := scene.scheduler.explain("default", name))]

    scene.delete("Pod", "alone", "g-0")
    scene.delete("PodGroup", "g")
    scene.writes()
    assert 0 == len(scene.scheduler._queue.decisions)


def test_batch_is_bounded_and_the_rest_keeps_its_turn():
    scene = Scene(node("n1", cpu="100"), *(each for number in range(5) for each in gang(f"g{number}", 2)), batch_pods=3)
    first = scene.scheduler.attempt(0.0)
    assert (2, 3) == (len(first), scene.scheduler.counts()[Active, "PodGroup"])
    assert 10 == len(nodes_of([write for each in first for write in each.writes])) + len(nodes_of(scene.writes()))


def test_cycle_ends_when_its_time_is_spent_and_the_rest_keeps_its_turn():
    scene = Scene(node("n1", cpu="100"), *(each for number in range(5) for each in gang(f"g{number}", 1)), seconds=1.0)
    ticks = iter(range(100))
    first = scene.scheduler.attempt(0.0, lambda: float(next(ticks)))
    assert (2, 3) == (len(first), scene.scheduler.counts()[Active, "PodGroup"])
    assert 3 == len(nodes_of(scene.writes()))


def test_cycle_prepares_no_more_roots_than_the_last_one_had_time_for(monkeypatch):
    prepared, original = [], scheduler.decide
    monkeypatch.setattr(
        scheduler, "decide", lambda cache, roots, *more, **named: prepared.append(len(roots)) or original(cache, roots, *more, **named)
    )
    scene = Scene(node("n1", cpu="100"), *(each for number in range(20) for each in gang(f"g{number:02d}", 1)), seconds=1.0, batch_roots=8)
    slow = iter(range(0, 100, 2))
    scene.scheduler.attempt(0.0, lambda: float(next(slow)))
    for _ in range(5):
        scene.scheduler.attempt(0.0, lambda: 0.0)

    assert [8, 1, 2, 4, 8, 4] == prepared


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_victims_are_evicted_for_the_group_that_is_placed_and_not_its_sibling(strategy):
    below = [leaf("a", 2, parent="top", priority=10), leaf("b", 1, parent="top", priority=10)]
    members = [*pods("a", 2, priority=10, **MUSTER), *pods("b", 1, priority=10, **MUSTER)]
    tree = (composite("top", 1, priority=10), *below, *members)
    scene = Scene(node("n1", cpu="1"), pod("low", on="n1", priority=0), *tree, preempt=True, strategy=strategy)
    (attempt,) = [each for each in scene.scheduler.attempt(scene.now) if each.plan]
    scene.end(scene.approve(attempt.root))
    scene.delete("Pod", "low")
    assert {"b-0": "n1"} == nodes_of(scene.wait(0))


@pytest.mark.parametrize("group", [pytest.param("g", id="of a gang"), pytest.param("", id="alone")])
def test_gated_pod_of_our_own_scheduler_is_opened_and_then_bound_where_it_is_pinned(group):
    groups = [leaf("g", 1)] if group else []
    scene = Scene(node("n1"), node("n2"), *groups, pod("g-0", group, **GATED, **MUSTER), ungate=True)
    (opened,) = of(Ungate, scene.writes())
    scene.end([opened])
    pinned = pod("g-0", group, nodeSelector={HOST: opened.hostname}, **MUSTER)
    pinned["metadata"]["annotations"] = {PLACEMENT_GATE: opened.node}
    scene.put(pinned)
    assert {"g-0": opened.node} == nodes_of(of(Bind, scene.wait(1)))


def test_bind_of_which_nothing_is_known_is_not_repeated_to_a_node_that_is_gone():
    scene = Scene(node("n1", cpu="1"), node("n2", cpu="1"), node("n3", cpu="1"), *gang("g", 2))
    one, two = of(Bind, scene.writes())
    scene.end([one])
    scene.end([two], WriteOutcome.FAILED)
    scene.put(bound(pod("g-0", "g", **MUSTER), one.node))
    scene.delete("Node", two.node)
    (spare,) = {"n1", "n2", "n3"} - {one.node, two.node}
    assert {"g-1": spare} == nodes_of(scene.wait(20))


def test_rest_of_our_own_gang_follows_where_a_crash_left_the_first_ungated():
    first = pod("g-0", "g", nodeSelector={HOST: "b-0"}, **MUSTER)
    first["metadata"]["annotations"] = {PLACEMENT_GATE: "b-0"}
    scene = Scene(*racks({"a": 2, "b": 2}, cpu="1"), leaf("g", 2, key="rack"), first, pod("g-1", "g", **GATED, **MUSTER), ungate=True)
    writes = scene.writes()
    assert ({"g-0": "b-0", "g-1": "b-1"}, ["g-0"]) == (nodes_of(writes), [write.pod.name for write in of(Bind, writes)])


CLAIM = {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}
TEMPLATE = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]}


def requesting(resource: str, where: str = "containers") -> Json:
    each = pod("p", **MUSTER)
    each["spec"].setdefault(where, []).append({"name": "more", "resources": {"requests": {resource: "1"}}})
    return each


@pytest.mark.parametrize(
    ("waiting", "message"),
    [
        pytest.param(pod("p", **MUSTER, **CLAIM), 'could not find ResourceClaim "default/c"', id="a claim"),
        pytest.param(pod("p", **MUSTER, **TEMPLATE), 'pod "default/p": ResourceClaim not created yet', id="a template"),
        pytest.param(
            {**pod("p", **MUSTER, **TEMPLATE), "status": {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}]}},
            'could not find ResourceClaim "default/p-g"',
            id="a claim of a template",
        ),
    ],
)
def test_pod_waits_until_its_claims_exist(waiting: Json, message: str) -> None:
    scene = Scene(node("n1"), waiting)
    assert () == tuple(scene.writes())
    explained = scene.scheduler.explain("default", "p")
    assert explained is not None
    assert message == message_of(explained.decision)
    grouped = {**waiting, "spec": {**waiting["spec"], "schedulingGroup": {"podGroupName": "g"}}}
    (condition,) = of(SetCondition, Scene(node("n1"), leaf("g", 1), grouped).wait(20))
    assert ("Waiting", f"waiting for resource claims of members: default/p [{message}]") == (
        condition.condition.reason,
        condition.condition.message,
    )
    gated = {**waiting, "spec": {**waiting["spec"], **GATED}}
    assert {} == nodes_of(Scene(node("n1"), gated).writes())


@pytest.mark.parametrize(
    ("waiting", "message"),
    [
        pytest.param(requesting("example.com/gpu"), "Insufficient example.com/gpu", id="an extended resource"),
        pytest.param(requesting("example.com/gpu", "initContainers"), "Insufficient example.com/gpu", id="of an init container"),
        pytest.param(
            requesting("deviceclass.resource.kubernetes.io/gpu"),
            "Insufficient deviceclass.resource.kubernetes.io/gpu",
            id="the resource of a class",
        ),
    ],
)
def test_a_pod_that_needs_devices_is_not_bound(waiting: Json, message: str) -> None:
    writes = Scene(node("n1"), waiting).writes()
    assert [] == of(Bind, writes) + of(Ungate, writes) + of(Evict, writes)
    (condition,) = of(SetCondition, writes)
    assert message in condition.condition.message
    gated = {**waiting, "spec": {**waiting["spec"], **GATED}}
    assert {} == nodes_of(Scene(node("n1"), gated).writes())


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param({}, ["r0", "r0", "r1", "r1"], id="rank order"),
        pytest.param({"rank_order": False}, ["r0", "r1", "r0", "r1"], id="off"),
        pytest.param({"strategy": "greedy"}, ["r0", "r1", "r0", "r1"], id="greedy"),
    ],
)
def test_pods_of_a_gang_are_bound_in_the_order_of_their_indexes(options: dict[str, str], want: list[str]) -> None:
    machines = [node(f"n{number}", "1", rack=f"r{number % 2}") for number in range(4)]
    members = [pod(f"g-{number}", "g", labels={JOB_INDEX: str(number)}, **MUSTER) for number in range(4)]
    scene = Scene(*machines, leaf("g", 4), *members, **options)

    binds = {each.target.name: each.node for each in scene.writes() if isinstance(each, Bind)}

    assert want == [f"r{int(binds[f'g-{number}'][1:]) % 2}" for number in range(4)]


def test_a_group_unlike_its_template_is_bound_by_its_own_values_and_explained_with_a_note():
    templates = [{"name": "g", "schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": {"all": {}}}]
    template = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"podGroupTemplates": templates},
    }
    group = leaf("g", 2, workloadRef={"workloadName": "w", "templateName": "g"})
    scene = Scene(node("n1"), template, group, *pods("g", 2, **MUSTER))
    assert {"g-0", "g-1"} == {each.pod.name for each in of(Bind, scene.writes())}
    explained = scene.scheduler.explain("default", "g")
    assert explained is not None
    assert notes_json(explained.notes) == {
        "notes": [
            {
                "object": "PodGroup default/g",
                "message": "spec.schedulingPolicy, spec.disruptionMode are not as in template g; the values of the group count",
            }
        ]
    }
    templates[0] |= {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"single": {}}}
    scene.put(template)
    assert (again := scene.scheduler.explain("default", "g")) is not None
    assert {} == notes_json(again.notes)


def test_a_group_is_placed_without_records_of_all_running_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full cluster these take ten times as long as the placement."""
    read: list[int] = []
    records = NodeUsage.records
    monkeypatch.setattr(NodeUsage, "records", lambda self: read.append(1) or records(self))
    running = [pod(f"r{number}", on=f"n{number}", **MUSTER) for number in range(4)]
    scene = Scene(*(node(f"n{number}") for number in range(4)), *running, leaf("g", 2), *pods("g", 2, **MUSTER))
    assert 2 == len(of(Bind, scene.writes()))
    assert read == []
    scene.put(leaf("large", 20), *pods("large", 20, **MUSTER))
    assert [] == of(Bind, scene.writes())
    assert read != []
