"""Kinds that are not listed yet, forbidden or not served: only roots wait whose pods need them, and they say so."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from kubeapi.controllers import CONTROLLERS
from kubeapi.versions.served_versions import resources
from scheduler_core.causes.live import ObjectsAwaited, Unlisted, UnlistedReason
from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.cache import FROM_START, RESOURCES, Cache
from scheduler_core.sidecar.cache.informers import Changed, Listed
from scheduler_core.sidecar.cache.optional_watches import ON_DEMAND, Reads
from scheduler_core.sidecar.queue.states import Gated
from scheduler_core.sidecar.scheduling.scheduler import Scheduler
from scheduler_core.sidecar.writes import Evict, RecordEvent, SetCondition, WriteOutcome
from tests.apiserver.fake import serving
from tests.cluster.waiting import until
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, leaf, message_of, node, pod, reasons_of
from tests.scheduler_core.plugins.test_delayed_claims import driver
from tests.scheduler_core.plugins.test_volumes import claim, csi_node, on, using, volume
from tests.scheduler_core.sidecar import test_loop
from tests.scheduler_core.sidecar.histories import raw, resource_of
from tests.scheduler_core.sidecar.test_informers import Watching, discovery
from tests.scheduler_core.sidecar.test_loop import Turning
from tests.scheduler_core.sidecar.test_optional_watches import (
    DISK,
    EPHEMERAL,
    EVERYTHING,
    LABELS,
    NO_VOLUME_PLUGIN,
    PLACING,
    VOLUMES,
    controlled,
    resolved,
    selecting,
)
from tests.scheduler_core.sidecar.test_scheduler import GATED, MUSTER, Scene, bound, nodes_of, of, told

OBJECTS = [node("n1", zone="a"), node("n2", zone="b"), claim(volume="pv"), volume("pv", on("zone", "b"))]
FORBIDDEN, NOT_SERVED, FAILED = Unlisted(UnlistedReason.FORBIDDEN), Unlisted(UnlistedReason.NOT_SERVED), Unlisted(error="HTTP 500: no")


MOSTLY_NEEDED = frozenset({"PriorityClass", "Service", "PodDisruptionBudget", "Namespace", "Workload"})
"""Kinds that many objects of these tests need."""


class Starting(Scene):
    """A process that has listed only the kinds that are watched from the start, and ``listed``."""

    listed: frozenset[str] = MOSTLY_NEEDED

    def __init__(self, *objects: Json, reads: Reads = EVERYTHING, **options: Any) -> None:
        super().__init__(*objects, reads=reads, **options)

    def restart(self) -> None:
        self.store = Cache(reads=self.reads)
        for name, resource in RESOURCES.items():
            if resource.kind not in ON_DEMAND - self.listed:
                self.store.replace(name, self.server.listed(name), str(self.server.version))
        self.heard = len(self.server.events)
        self.scheduler = Scheduler(self.store, self.options)

    def list(self, *kinds: str) -> None:
        for each in (each for kind in kinds for each in resources(kind)):
            self.store.replace(each.name, self.server.listed(each.name), str(self.server.version))

    def unserved(self, kind: str) -> None:
        for each in resources(kind):
            self.store.mark_unserved(each.name)

    def state(self, name: str = "p", kind: str = "Pod") -> Any:
        (entity,) = (each for root, each in self.scheduler._queue.entities.by_root.items() if (root.kind, root.name) == (kind, name))
        return entity.state


def member(name: str, *claims: str, **more: Any) -> Json:
    each = using(*claims, name=name, **MUSTER, **more)
    each["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    return each


def messages(writes: list[Any]) -> dict[tuple[str, str, str], str]:
    """Return the messages of conditions by object, type and reason."""
    return {(each.target.name, each.condition.type, each.condition.reason): each.condition.message for each in of(SetCondition, writes)}


def test_only_roots_that_need_a_kind_wait_for_it():
    scene = Starting(*OBJECTS, using("c", **MUSTER), pod("q", **MUSTER), leaf("g", 2), member("g-0"), member("g-1", "c"))
    assert {"q"} == nodes_of(scene.writes()).keys()
    scene.list(*VOLUMES - {"StorageClass"})
    assert {} == nodes_of(scene.writes())
    scene.list("StorageClass")
    assert {"p": "n2", "g-1": "n2"}.items() <= nodes_of(scene.writes()).items()


@pytest.mark.parametrize("source", [{"persistentVolumeClaim": {"claimName": "c"}}, EPHEMERAL, DISK], ids=lambda each: list(each)[-1])
def test_pod_with_a_volume_waits_for_no_kind_if_no_plugin_reads_volumes(source):
    objects = [node("n1"), pod("p", volumes=[{"name": "v", **source}], **MUSTER)]
    assert {} == nodes_of(Starting(*objects).writes())
    reads = dataclasses.replace(EVERYTHING, profile=NO_VOLUME_PLUGIN.profile)
    assert {"p": "n1"} == nodes_of(Starting(*objects, reads=reads, profile=reads.profile).writes())


def test_root_is_woken_by_the_kinds_that_it_needs_and_by_no_other():
    replicated = controlled("ReplicaSet", "apps/v1", **MUSTER)
    replicated["metadata"]["name"] = "q"
    scene = Starting(*OBJECTS, using("c", **MUSTER), replicated)
    scene.writes()
    assert (VOLUMES, {"ReplicaSet"}) == (scene.state().hint.kinds, scene.state("q").hint.kinds)
    surveyed = []
    survey = scene.scheduler._queue.status_of
    scene.scheduler._queue.status_of = lambda root: surveyed.append(root.name) or survey(root)
    scene.list("ReplicaSet")
    assert {"q"} == nodes_of(scene.writes()).keys()
    assert {"q"} == set(surveyed)
    scene.list("CSINode")
    assert {} == nodes_of(scene.writes())
    assert (Gated, VOLUMES - {"CSINode"}) == (type(scene.state()), scene.state().hint.kinds)


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(using("c"), id="a claim"),
        pytest.param(pod("p", volumes=[DISK]), id="an inline disk"),
        pytest.param(pod("p", volumes=[EPHEMERAL]), id="an ephemeral volume"),
    ],
)
@pytest.mark.parametrize("kind", sorted(VOLUMES))
def test_no_pod_with_volumes_is_placed_without_each_kind_about_volumes(each, kind):
    scene = Starting(*OBJECTS, {**each, "spec": {**each["spec"], **MUSTER}})
    scene.list(*VOLUMES - {kind})
    assert {} == nodes_of(scene.writes())
    assert {kind} == scene.state().hint.kinds


@pytest.mark.parametrize(
    ("added", "kind"),
    [
        pytest.param(driver(), "CSIStorageCapacity", id="a driver with storage capacity"),
        pytest.param(csi_node("n1", {"csi.example": 1}), "VolumeAttachment", id="an attach limit"),
    ],
)
def test_kind_that_other_objects_require_is_waited_for_too(added, kind):
    scene = Starting(*OBJECTS, using("c", **MUSTER), pod("q", **MUSTER), added)
    scene.list(*VOLUMES)
    assert {"q"} == nodes_of(scene.writes()).keys()
    assert {kind} == scene.state().hint.kinds
    scene.list(kind)
    assert {"p": "n2"} == nodes_of(scene.writes())


WAITS = "waiting for objects that pod default/p needs: "
FOUR = "CSIDriver, CSINode, PersistentVolumeClaim and StorageClass objects are not listed yet"
RULE = "PersistentVolume objects cannot be listed: allow the verbs list and watch for persistentvolumes in the sidecar's ClusterRole"


@pytest.mark.parametrize(
    ("listed", "failures", "want"),
    [
        pytest.param(VOLUMES - {"CSINode"}, {}, "CSINode objects are not listed yet", id="not yet"),
        pytest.param(
            VOLUMES - {"CSINode"}, {"CSINode": FAILED}, "CSINode objects are not listed yet: HTTP 500: no", id="not yet, with an error"
        ),
        pytest.param(VOLUMES - {"PersistentVolume"}, {"PersistentVolume": FORBIDDEN}, RULE, id="forbidden"),
        pytest.param((), {"PersistentVolume": FORBIDDEN}, f"{FOUR}; {RULE}", id="one is forbidden, others are not listed yet"),
        pytest.param(
            VOLUMES - {"CSINode", "StorageClass"},
            {"CSINode": FORBIDDEN, "StorageClass": FORBIDDEN},
            "CSINode and StorageClass objects cannot be listed: allow the verbs list and watch for csinodes.storage.k8s.io and "
            "storageclasses.storage.k8s.io in the sidecar's ClusterRole",
            id="two are forbidden",
        ),
        pytest.param(
            VOLUMES - {"CSINode"},
            {"CSINode": NOT_SERVED},
            "the API server does not serve CSINode objects: look at its flag --runtime-config",
            id="not served",
        ),
    ],
)
def test_root_says_which_kinds_it_waits_for_why_and_what_to_do(listed, failures, want):
    scene = Starting(*OBJECTS, using("c", **MUSTER), leaf("g", 1), member("g-0", "c"))
    scene.list(*listed)
    for kind, failure in failures.items():
        if failure is NOT_SERVED:
            scene.unserved(kind)
        else:
            scene.store.mark_unlisted(kind, failure)
    assert {} == messages(scene.writes())
    writes = scene.wait(2.0)
    of_group = f"waiting for objects that pod default/g-0 needs: {want}"
    assert {
        ("p", "PodScheduled", "SchedulerError"): WAITS + want,
        ("g", "PodGroupInitiallyScheduled", "Waiting"): of_group,
    } == messages(writes)
    assert {("p", "Waiting"): WAITS + want, ("g", "Waiting"): of_group} == {
        (each.target.name, each.reason): each.message for each in of(RecordEvent, writes)
    }
    for name, message in (("p", WAITS + want), ("g", of_group)):
        explained = scene.scheduler.explain("default", name)
        assert ("Wait", message, "gated") == (explained.decision.status, message_of(explained.decision), explained.writes["queue"])
        kinds = tuple((kind, failures.get(kind, Unlisted())) for kind in sorted({*VOLUMES} - {*listed}))
        assert (ObjectsAwaited(Name("Pod", "default", name if name == "p" else "g-0"), kinds),) == explained.decision.causes
    assert {"default/p": WAITS + want} == reasons_of(scene.scheduler.explain("default", "p").decision)
    scene.end(writes)
    assert [] == scene.wait(1000)
    scene.list(*VOLUMES)
    assert {"p": "n2", "g-0": "n2"} == nodes_of(scene.writes())


def test_new_reason_is_reported_after_ten_seconds():
    scene = Starting(*OBJECTS, using("c", **MUSTER))
    scene.list(*VOLUMES - {"CSINode"})
    scene.writes()
    scene.end(scene.wait(2.0))
    scene.store.mark_unlisted("CSINode", FORBIDDEN)
    assert {} == messages(scene.writes()) | messages(scene.wait(9.75))
    (message,) = messages(scene.wait(0.25)).values()
    assert "csinodes.storage.k8s.io" in message


def test_report_that_cannot_be_written_is_repeated():
    scene = Starting(*OBJECTS, using("c", **MUSTER))
    scene.writes()
    writes = scene.wait(2.0)
    assert [("p", "Waiting")] == told(writes)
    scene.end(of(SetCondition, writes), WriteOutcome.FAILED)
    assert messages(writes) == messages(scene.wait(10.0))


def test_pod_behind_a_gate_is_reported_by_the_api_server():
    other = {"schedulingGates": [{"name": "quota"}]}
    scene = Starting(*OBJECTS, using("c", **MUSTER, **other), using("c", name="q", **GATED), ungate=True)
    scene.writes()
    writes = scene.wait(100.0)
    assert ({}, [("q", "Waiting")]) == (messages(writes), told(writes))


def test_kind_that_is_not_served_any_more_holds_back_roots_that_need_it():
    scene = Starting(*OBJECTS, using("c", **MUSTER))
    scene.list(*VOLUMES)
    scene.unserved("PersistentVolume")
    assert {} == nodes_of(scene.writes())
    scene.put(pod("q", **MUSTER))
    assert {"q"} == nodes_of(scene.writes()).keys()
    scene.list("PersistentVolume")
    assert {"p": "n2"} == nodes_of(scene.writes())


@pytest.mark.parametrize("kind", sorted(CONTROLLERS))
def test_pod_of_a_controller_whose_kind_is_not_served_is_placed(kind):
    each = controlled(kind, "v1" if kind == "ReplicationController" else "apps/v1", **MUSTER)
    scene = Starting(*OBJECTS, each)
    assert {} == nodes_of(scene.writes())
    scene.unserved(kind)
    assert {"p"} == nodes_of(scene.writes()).keys()


def test_partially_bound_gang_that_waits_for_a_kind_is_undone_in_time():
    scene = Starting(*OBJECTS, leaf("g", 2), bound(member("g-0", "c"), "n1"), member("g-1", "c"))
    scene.list(*VOLUMES - {"CSINode"})
    writes = scene.writes()
    (message,) = messages(writes).values()
    assert "partially bound: waiting until 1970-01-01T00:00:30Z for the missing pods" in message
    assert "waiting for objects that pod default/g-1 needs: CSINode objects are not listed yet" in message
    assert "PlacementUndone" in {reason for _, reason in told(scene.wait(30.0))}


def test_plan_of_a_root_that_needs_another_kind_by_now_evicts_nobody():
    victim = pod("low", on="n1", cpu="2", priority=-1)
    scene = Starting(node("n1", cpu="2"), victim, leaf("g", 1), member("g-0", cpu="2"), preempt=True)
    (attempt,) = [each for each in scene.scheduler.attempt(0.0) if each.plan]
    scene.put(member("g-1", "c"))
    assert [] == of(Evict, scene.scheduler.approve(attempt.root, 0.0))
    assert (Gated, VOLUMES) == (type(scene.state("g", "PodGroup")), scene.state("g", "PodGroup").hint.kinds)


def test_capacity_is_used_by_pods_with_volumes_before_their_kinds_are_listed():
    running = bound(using("c", cpu="3"), "n2")
    scene = Starting(node("n1", cpu="1"), node("n2", cpu="4"), running, pod("q", cpu="2", **MUSTER), pod("r", cpu="1", **MUSTER))
    assert {"r"} == nodes_of(scene.writes()).keys()


NEVER = {"priority": 0, "preemptionPolicy": "Never", **MUSTER}


def grouped(name: str) -> Json:
    """Return a group with a Workload, of pods as ``NEVER``."""
    return leaf(name, 1, priority=0, preemptionPolicy="Never", workloadRef={"workloadName": "w", "templateName": "t"})


RUNNING = pod("run", on="n1", priority=0, affinity=selecting(team="a"))
MEMBER = pod("p", "g", **NEVER)


@pytest.mark.parametrize(
    ("objects", "kind", "user"),
    [
        pytest.param([pod("p", labels=LABELS, **NEVER)], "Service", "pod default/p", id="labels"),
        pytest.param([pod("p", affinity=selecting(team="a"), **NEVER)], "Namespace", "pod default/p", id="a namespace selector"),
        pytest.param([pod("p", priority=0, **MUSTER)], "PodDisruptionBudget", "pod default/p", id="preemption"),
        pytest.param([grouped("g"), MEMBER], "Workload", "PodGroup default/g", id="a Workload"),
    ],
)
def test_only_roots_that_need_a_kind_wait_for_it_and_name_the_object(objects, kind, user):
    scene = Starting(node("n1"), *objects, pod("q", **NEVER))
    scene.store.needed.mark_unlisted(kind, FORBIDDEN)
    assert {"q"} == nodes_of(scene.writes()).keys()
    (message,) = set(messages(scene.wait(2.0)).values())
    assert message.startswith(
        f"waiting for objects that {user} needs: {kind} objects cannot be listed: allow the verbs list and watch for "
    )
    scene.list(kind)
    assert {"p"} == nodes_of(scene.writes()).keys()


@pytest.mark.parametrize("kind", ["Namespace", "PriorityClass", "PodDisruptionBudget", "Service", "Workload"])
def test_kind_that_is_not_served_has_no_objects(kind):
    each = member("p", labels=LABELS, affinity=selecting(team="a"))
    scene = Starting(node("n1"), leaf("g", 1, workloadRef={"workloadName": "w", "templateName": "t"}), each)
    scene.store.needed.mark_unlisted(kind, FORBIDDEN)
    assert {} == nodes_of(scene.writes())
    scene.unserved(kind)
    assert {"p": "n1"} == nodes_of(scene.writes())


@pytest.mark.parametrize(
    ("needing", "kind", "user"),
    [
        pytest.param(RUNNING, "Namespace", "pod default/run", id="terms of a pod with a node"),
        pytest.param(pod("run", on="n1"), "PriorityClass", "pod default/run", id="priority of a pod with a node"),
        pytest.param(leaf("other"), "PriorityClass", "PodGroup default/other", id="priority of a group"),
    ],
)
def test_every_root_waits_for_a_kind_that_decides_about_every_root(needing, kind, user):
    scene = Starting(node("n1"), needing, pod("p", **NEVER))
    scene.store.needed.mark_unlisted(kind, FAILED)
    assert {} == nodes_of(scene.writes())
    (message,) = set(messages(scene.wait(2.0)).values())
    assert message == f"waiting for objects that {user} needs: {kind} objects are not listed yet: HTTP 500: no"
    scene.delete(needing["kind"], needing["metadata"]["name"])
    assert {"p"} == nodes_of(scene.writes()).keys()


def test_victims_are_selected_only_when_budgets_are_listed():
    low = [pod(name, on="n1", cpu="2", priority=-1, labels={"app": name}) for name in ("a", "b")]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "minAvailable": 1},
        "status": {"disruptionsAllowed": 0},
    }
    scene = Starting(node("n1", cpu="4"), *low, budget, pod("p", cpu="2", priority=0, **MUSTER), preempt=True)
    scene.store.needed.mark_unlisted("PodDisruptionBudget", Unlisted())
    assert [] == [each for each in scene.scheduler.attempt(0.0) if each.plan]
    scene.list("PodDisruptionBudget")
    ((eviction,),) = [each.plan for each in scene.scheduler.attempt(0.0) if each.plan]
    assert "b" == eviction.pod.name


class Fresh(Starting):
    """A process that has listed nothing else."""

    listed = frozenset[str]()


class _Random:
    """Pods of some kinds and kinds that are listed, in any order."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        driven = [each for each in (driver(), csi_node("n1", {"csi.example": 2})) if self.chance.random() < 0.5]
        self.scene = Fresh(*OBJECTS[2:], *driven, *(node(name, cpu="99", zone=zone) for name, zone in (("n1", "a"), ("n2", "b"))))
        self.kinds = {"CSIStorageCapacity"} if driver() in driven else set()
        self.kinds |= {"VolumeAttachment"} if len(driven) > len(self.kinds) else set()
        self.needs: dict[str, set[str]] = {}
        self.listed: set[str] = set()

    def add_pod(self, number: int) -> None:
        name, group = f"p{number}", grouped(f"g{number}")
        each, needs = self.chance.choice(
            [
                (pod(name, **NEVER), set()),
                (controlled("StatefulSet", "apps/v1", **NEVER), {"StatefulSet"}),
                (using("c", name=name, **NEVER), VOLUMES | self.kinds),
                (pod(name, labels=LABELS, **NEVER), {"Service"}),
                (pod(name, affinity=selecting(team="a"), **NEVER), {"Namespace"}),
                (pod(name, priority=0, **MUSTER), {"PodDisruptionBudget"}),
                (pod(name, preemptionPolicy="Never", **MUSTER), {"PriorityClass"}),
                (pod(name, f"g{number}", **NEVER), {"Workload", "PodDisruptionBudget"}),
            ]
        )
        each["metadata"]["name"] = name
        self.needs[name] = needs
        self.scene.put(*([group] if "schedulingGroup" in each["spec"] else []), each)

    def run(self) -> None:
        steps = [*range(8), *sorted(ON_DEMAND)]
        self.chance.shuffle(steps)
        for step in steps:
            if isinstance(step, int):
                self.add_pod(step)
            else:
                self.scene.list(step)
                self.listed.add(step)
            for name in nodes_of(self.scene.wait(0.1)):
                assert self.needs.pop(name) <= self.listed
            assert all(needs - self.listed for needs in self.needs.values())
        assert {} == self.needs


@pytest.mark.parametrize("seed", range(sampled(200)))
def test_pods_are_placed_exactly_when_all_kinds_are_listed_that_they_need(seed):
    _Random(seed).run()


clock = test_loop.clock
"""The fixture, used here too."""


def of_kinds(*kinds: str) -> list[Listed]:
    return [Listed(kind, [raw(each) for each in OBJECTS if resource_of(each) == kind]) for kind in kinds]


def test_forbidden_list_of_a_scripted_api_server_is_reported_and_tried_again(monkeypatch, clock):
    """The watch, the informer and the loop together: a role lacks persistent volumes, and is then completed."""
    monkeypatch.setattr("apiserver.watch.FIRST_WAIT", 0.01)
    granted: list[bool] = []
    volumes = [each for each in OBJECTS if each["kind"] == "PersistentVolume"]

    def answer(method: str, path: str, body: bytes) -> Any:
        if not path.startswith("/api/v1/persistentvolumes?"):
            return discovery(method, path, body)
        if not granted:
            return 403, {}, {"kind": "Status", "message": 'persistentvolumes is forbidden: User "u" cannot list it', "reason": "Forbidden"}
        return 200, {}, b"" if "watch=true" in path else {"metadata": {"resourceVersion": "9"}, "items": volumes}

    def turned(wanted: Any) -> Any:
        loop.turn()
        clock.now += 0.5
        return wanted()

    loop = Turning(real=True, synced=False, reads=PLACING)
    pod_of_claim = Changed("Pod", "ADDED", raw(resolved(using("c", schedulerName="default-scheduler"))))
    loop.turn(*of_kinds(*sorted(FROM_START)), pod_of_claim, *of_kinds(*sorted(VOLUMES - {"PersistentVolume"})))
    with serving(answer) as (_, api):
        watching = Watching(api)
        watching.feed.receiver = loop.inbox
        watcher = watching.watchers["PersistentVolume"]
        watcher.start()
        until(lambda: turned(lambda: {WAITS + RULE} == set(messages(loop.publisher.written).values())), told=lambda: loop.publisher.written)
        ((kind, reason),) = watching.logged
        assert ("PersistentVolume", True) == (kind, reason.endswith(RULE.partition(": ")[2]))
        assert f"PersistentVolume objects are not listed yet: {reason}" in watching.feed.unsynced()
        granted.append(True)
        until(lambda: turned(lambda: nodes_of(loop.publisher.written)), told=lambda: loop.publisher.written)
        watcher.stop()
    assert {"p": "n2"} == nodes_of(loop.publisher.written)
