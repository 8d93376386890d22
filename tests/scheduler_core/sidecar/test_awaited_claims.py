"""Claims and devices that victims leave to a root: no root of a later batch takes them."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.causes.claims import DevicesAwaited
from scheduler_core.causes.live import ClaimsUnreleased
from scheduler_core.model.device_claims import claim_of
from scheduler_core.sidecar.writes import AllocateClaim, Nominate
from scheduler_core.wording.conditions import conditions
from tests.scheduler_core.builders import Json, leaf, message_of, node, pod
from tests.scheduler_core.plugins.device_objects import claim_spec, device, device_class, device_slice, request, resource_claim, wanting
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, of
from tests.scheduler_core.sidecar.world import TERMINATING

ON_N = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
OLDER = wanting("late")["metadata"]
NEW, FREE = resource_claim("new", request()), resource_claim("used", request())


def pending(claim: str = "used", *, priority: int, cpu: str = "2", name: str = "p", group: str = "", **more: Any) -> Json:
    return wanting(name, f"x={claim}", priority=priority, cpu=cpu, group=group, **MUSTER, **more)


class Evicting(Scene):
    """The pod low, which uses all of node n, the pod p for which it is evicted, and a device on node m if p can use another one."""

    def __init__(self, *objects: Json, **options: Any) -> None:
        nodes = [node("n", cpu="2", on="n"), node("m", cpu="2", on="m")]
        low = wanting("low", "x=used", on="n", cpu="2", priority=0)
        super().__init__(device_class(), device_slice("n", "a"), *nodes, FREE, low, *objects, **{"preempt": True, **options})
        # Only node n reaches its device.
        self.put(resource_claim("used", request(), devices=["gpu=n/a"], users=["low"], nodes=ON_N))
        self.change("ResourceClaim", "used", status={"reservedFor": [{"resource": "pods", "name": "low", "uid": self.uid("low")}]})

    def uid(self, pod: str) -> str:
        return str(self.server.objects["Pod", "default", pod]["metadata"]["uid"])

    def evict(self) -> list[str]:
        """Return the pods that are evicted now; they terminate, and the nominations are written."""
        found = []
        while (due := self.scheduler.due(self.now)) is not None and due <= self.now:
            for attempt in self.scheduler.attempt(self.now):
                found += [each.pod.name for each in attempt.plan]
                self.end(self.apply([*attempt.writes, *(self.scheduler.approve(attempt.root, self.now) if attempt.plan else ())]))
        for name in found:
            self.change("Pod", name, metadata={"deletionTimestamp": TERMINATING})
        return found

    def apply(self, writes: list[Any]) -> list[Any]:
        for each in of(Nominate, writes):
            self.change("Pod", each.pod.name, status={"nominatedNodeName": each.node})
        return writes

    def change(self, kind: str, name: str, **parts: Json) -> None:
        """Change fields of an object."""
        before = self.server.objects[kind, "default", name]
        self.put({**before, **{part: {**before.get(part, {}), **fields} for part, fields in parts.items()}})

    def allocated(self, seconds: float = 10.0) -> list[tuple[str, str, str]]:
        """Return the claims that are written within *seconds*, with the nodes of their devices and their first consumer."""
        writes = of(AllocateClaim, self.wait(seconds))
        return [(each.target.name, each.allocation.devices[0].id[1], each.consumers[0].name) for each in writes]

    def victims_end(self) -> None:
        """The victim is gone, and then its reservation."""
        self.delete("Pod", "low")
        assert [] == [each for each in self.allocated() if each[2] != "p"]
        self.put(FREE)


CASES = {
    "to allocate on the nominated node": (
        "new",
        [device_slice("m", "a"), NEW, pending("new", priority=9, nodeSelector={"on": "n"})],
    ),
    "freed, so that another claim gets its device": ("used", [NEW, pending("new", priority=9)]),
    "freed, so that it gets another device": ("used", [device_slice("m", "a"), pending(priority=9, nodeSelector={"on": "m"})]),
}
ANOTHER, ELSEWHERE = [*CASES.values()][1][1], [*CASES.values()][2][1]
LATER = {
    "an older pod of the same priority": lambda claim: [{**pending(claim, priority=9, cpu="0"), "metadata": OLDER}],
    "a pod": lambda claim: [pending(claim, priority=1, cpu="0", name="late")],
    "a gang": lambda claim: [leaf("late", 1, priority=9), pending(claim, priority=9, cpu="0", name="member", group="late")],
}


@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("case", CASES)
def test_claim_freed_by_an_eviction_is_not_used_by_roots_of_later_batches(case, later, restarted):
    claim, objects = CASES[case]
    scene = Evicting(*objects)
    assert ["low"] == scene.evict()
    if restarted:
        scene.restart()
        scene.wait(1)
    scene.put(*LATER[later](claim))
    assert [] == scene.allocated()
    name = scene.server.objects.get(("PodGroup", "default", "late"), {}).get("metadata", {}).get("name", "late")
    explained = scene.scheduler.explain("default", name)
    assert explained is not None
    assert [(DevicesAwaited(claim_of(f"default/{claim}")),)] == [*explained.decision.pending.values()]
    for group in explained.decision.groups:
        why = f"waiting for claims that get devices when evicted pods are gone: default/{claim}"
        assert [True] == [each.message.endswith(why) for each in conditions(explained.decision, group)]
    scene.victims_end()
    own = objects[-1]["spec"]["resourceClaims"][0]["resourceClaimName"]
    assert (own, "m" if "another device" in case else "n", "p") == scene.allocated()[0]


def late(claim: str = "new", **more: Any) -> Json:
    return pending(claim, cpu="0", name="late", **{"priority": 1, **more})


@pytest.mark.parametrize("end", ["it is deleted", "it does not fit when the victims are gone", "it needs another pod"])
def test_claim_is_for_others_once_the_root_that_awaited_it_gives_up(end):
    gang = [leaf("g", 1, priority=9), pending("new", priority=9, group="g", nodeSelector={"on": "n"})]
    scene = Evicting(device_slice("m", "a"), NEW, *gang)
    assert ["low"] == scene.evict()
    scene.put(late(nodeSelector={"on": "m"}))
    assert [] == scene.allocated()
    if end == "it is deleted":
        scene.delete("Pod", "p")
    else:
        scene.put(node("n", cpu="1", on="n") if "fit" in end else leaf("g", 2, priority=9))
        scene.delete("Pod", "low")
        assert [] == scene.allocated(0)
        scene.put(FREE)
    seconds = scene.options.flush_seconds if end == "it needs another pod" else 10.0
    assert [("new", "m", "late")] == scene.allocated(seconds)


def test_claim_is_not_kept_from_a_root_of_higher_priority():
    scene = Evicting(device_slice("m", "a"), NEW, pending("new", priority=9, nodeSelector={"on": "n"}))
    assert ["low"] == scene.evict()
    scene.put(late(priority=10, nodeSelector={"on": "m"}))
    assert [("new", "m", "late")] == scene.allocated()


def test_claim_is_not_kept_for_a_root_that_has_failed_and_keeps_its_nomination():
    """A pod that must not preempt keeps it: another scheduler can have set it."""
    kept = pending("new", priority=9, nominated="n", preemptionPolicy="Never", nodeSelector={"on": "n"})
    other = pending("new", priority=0, name="other", nodeSelector={"on": "none"})
    scene = Evicting(device_slice("m", "a"), NEW, kept, other)
    assert [] == scene.allocated()
    scene.put(late(nodeSelector={"on": "m"}))
    assert [("new", "m", "late")] == scene.allocated()


def other_claim(scene: Evicting, on: str, *pods: str, kind: str = "pods", **more: Any) -> None:
    """Put the claim "other", which *pods* have reserved, or the PodGroup g; only node *on* reaches its device z."""
    scene.put(*(wanting(each, "x=other", on=on, cpu="0", priority=20, **more) for each in pods))
    nodes = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]}
    scene.put(
        device_slice(on, "z", pool="z", name="z"), resource_claim("other", request(), devices=["gpu=z/z"], users=["none"], nodes=nodes)
    )
    users = [{"resource": kind, "name": each, "uid": scene.uid(each)} for each in pods]
    group = [{"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "g", "uid": "g"}]
    scene.change("ResourceClaim", "other", status={"reservedFor": users or group})


@pytest.mark.parametrize(
    ("own", "on", "users", "ending", "awaited"),
    [
        pytest.param(ANOTHER, "n", ["a", "b"], ["a", "b"], True, id="all users terminate"),
        pytest.param(ANOTHER, "n", ["a", "b"], ["a"], False, id="a user stays"),
        pytest.param(ANOTHER, "m", ["a"], ["a"], False, id="its devices are elsewhere"),
        pytest.param(ELSEWHERE, "m", ["a"], ["a"], True, id="a claim that is freed can take its devices"),
        pytest.param(ANOTHER, "n", [], [], False, id="it is reserved for a PodGroup"),
    ],
)
def test_claim_of_terminating_pods_is_awaited_if_the_nominated_pod_can_use_it(own, on, users, ending, awaited):
    scene = Evicting(*own)
    other_claim(scene, on, *users)
    assert ["low"] == scene.evict()
    for each in ending:
        scene.change("Pod", each, metadata={"deletionTimestamp": TERMINATING})
    scene.put(late("other"))
    assert ([] if awaited else [("other", "z", "late")]) == scene.allocated()


def test_claim_is_awaited_before_the_victims_terminate():
    scene = Evicting(*ANOTHER)
    assert ["low"] == [each.pod.name for attempt in scene.scheduler.attempt(scene.now) for each in attempt.plan]
    scene.put(late("used"))
    assert [] == scene.allocated()


def test_claim_of_an_earlier_pod_of_the_same_name_is_awaited():
    scene = Evicting(NEW, pending("new", priority=9))
    other_claim(scene, "n", "a")
    assert ["low"] == scene.evict()
    scene.delete("Pod", "a")
    scene.put(wanting("a", on="n", cpu="0"), late("other"))
    assert [] == scene.allocated()


def test_claims_of_victims_are_not_awaited_by_pods_that_do_not_need_them():
    scene = Evicting(pending("used", priority=9))
    assert ["low"] == scene.evict()
    other_claim(scene, "n", "a")
    scene.change("Pod", "a", metadata={"deletionTimestamp": TERMINATING})
    scene.put(late("used"), late("other") | {"metadata": {"name": "late-2", "namespace": "default"}})
    assert [("other", "z", "late-2"), ("used", "n", "late")] == sorted(scene.allocated())


def test_claim_that_a_root_of_higher_priority_is_reserving_can_be_shared():
    scene = Evicting(NEW, pending("new", priority=9))
    assert ["low"] == scene.evict()
    scene.put(pending("used", priority=10, cpu="0", name="first"))
    assert [("used", "n", "first")] == scene.allocated()
    scene.put(late("used"))
    assert [("used", "n", "late")] == scene.allocated()


def test_root_is_attempted_when_the_pod_that_awaited_its_claim_gives_up():
    scene = Evicting(device_slice("m", "a"), NEW)
    scene.delete("Pod", "low")
    scene.put(FREE, pod("low", on="n", cpu="2", priority=0))
    scene.put(pending("new", priority=9, nodeSelector={"on": "n"}))
    assert ["low"] == scene.evict()
    scene.put(node("n", cpu="1", on="n"), late(nodeSelector={"on": "m"}))
    assert [] == scene.allocated()
    scene.delete("Pod", "low")
    assert [("new", "m", "late")] == scene.allocated()


@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_no_pod_is_evicted_while_reservations_of_gone_victims_are_removed(restarted):
    """The pods are gone before the resourceclaim controller learns of it."""
    scene = Evicting(NEW, pending("new", priority=9))
    assert ["low"] == scene.evict()
    other = wanting("low-2", "x=other", on="m", cpu="2", priority=0)
    scene.put(device_slice("m", "a"), resource_claim("other", request(), devices=["gpu=m/a"], users=["low-2"]), other)
    scene.change("ResourceClaim", "other", status={"reservedFor": [{"resource": "pods", "name": "low-2", "uid": scene.uid("low-2")}]})
    if restarted:
        scene.restart()
        assert [] == scene.evict()
    before = scene.scheduler.explain("default", "p")
    assert before is not None
    assert message_of(before.decision).startswith("pod p ")
    scene.delete("Pod", "low")
    if restarted:
        scene.restart()
    for _ in range(3):
        assert [] == scene.evict()
        scene.now += 30 * restarted
    if restarted:
        scene.put(node("n", cpu="2", on="n"), pod("other", cpu="2", priority=5, nodeSelector={"on": "m"}, **MUSTER))
        scene.restart()
        assert ["low-2"] == scene.evict(), "the same pod can be evicted for another root of the batch"
        explained = scene.scheduler.explain("default", "p")
        assert explained is not None
        assert message_of(explained.decision).startswith(
            "waiting until the claims of pods that are gone are released: default/used; pod p "
        )
        assert ClaimsUnreleased((claim_of("default/used"),)) == explained.decision.causes[0]
    scene.put(FREE)
    assert [("new", "n", "p")] == scene.allocated(10.0 * restarted), "a root is attempted at once when its plan is done"


def test_claim_with_a_reservation_in_flight_is_not_freed_by_evicting_other_users():
    scene = Evicting(NEW, pending("used", priority=1, cpu="0", name="late"))
    assert [("used", "n", "late")] == scene.allocated()
    scene.put(pending("new", priority=9))
    assert [] == scene.evict()


COUNTED = resource_claim("mine", request())
PICKED = COUNTED | {"spec": claim_spec(request(), constraints=[{"requests": ["gpu"], "matchAttribute": "example.com/numa"}])}


@pytest.mark.parametrize("mine", [pytest.param(COUNTED, id="counted"), pytest.param(PICKED, id="chosen one by one")])
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_device_for_a_claim_that_victims_free_is_kept_from_later_batches(mine, restarted):
    free = device("a", {"example.com/numa": 1})
    scene = Evicting(device_slice("m", free), mine, pending(priority=9, nodeSelector={"on": "m"}))
    assert ["low"] == scene.evict()
    if restarted:
        scene.restart()
        scene.wait(1)
    scene.put(late("mine"))
    assert [] == scene.allocated()
    scene.put(device_slice("m", free, device("b", {"example.com/numa": 1})))
    assert [("mine", "m", "late")] == scene.allocated(), "there is another device"
    scene.victims_end()
    assert ("used", "m", "p") == scene.allocated()[0]


@pytest.mark.parametrize("mine", [pytest.param(COUNTED, id="counted"), pytest.param(PICKED, id="chosen one by one")])
def test_device_that_victims_free_is_available_to_a_root_of_higher_priority(mine):
    scene = Evicting(device_slice("m", device("a", {"example.com/numa": 1})), mine, pending(priority=9, nodeSelector={"on": "m"}))
    assert ["low"] == scene.evict()
    scene.put(late("mine", priority=10))
    assert [("mine", "m", "late")] == scene.allocated()


def test_only_claims_of_victims_hold_devices_beside_those_of_the_nominated_pod():
    both = wanting("p", "x=used", "y=new", priority=9, cpu="2", nodeSelector={"on": "m"}, **MUSTER)
    scene = Evicting(device_slice("m", "a", "b"), NEW, COUNTED, both)
    assert ["low"] == scene.evict()
    scene.put(late("mine"))
    assert [] == scene.allocated()
    scene.put(device_slice("m", "a", "b", "c"))
    assert [("mine", "m", "late")] == scene.allocated()


def test_devices_are_held_beside_those_that_another_victim_of_the_plan_frees():
    """The claim gets two devices of node m, of which one is in use."""
    two = resource_claim("used", request(count=2), devices=["gpu=n/a", "gpu=n/b"], users=["low"], nodes=ON_N)
    scene = Evicting(device_slice("n", "a", "b"), device_slice("m", "a", "b"), COUNTED)
    scene.put(two, resource_claim("other", request(), devices=["gpu=m/b"], users=["low-2"]), wanting("low-2", "x=other", on="m", cpu="2"))
    for claim, user in (("used", "low"), ("other", "low-2")):
        scene.change("ResourceClaim", claim, status={"reservedFor": [{"resource": "pods", "name": user, "uid": scene.uid(user)}]})
    scene.put(pending(priority=9, nodeSelector={"on": "m"}))
    assert ["low", "low-2"] == scene.evict()
    scene.put(late("mine", nodeSelector={"on": "m"}))
    assert [] == scene.allocated()
