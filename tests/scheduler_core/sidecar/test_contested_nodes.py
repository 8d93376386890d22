"""Nodes that another scheduler filled while a gang was bound: a kubelet can reject a pod, so the gang is not recorded too early."""

from __future__ import annotations

from typing import Any

from scheduler_core.sidecar.writes import Bind, Remove, SetCondition
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, gang, of

REJECTED = "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1000, capacity: 1000"


def contested() -> tuple[Scene, list[Any]]:
    """A gang on two nodes that it fills, one of which got another pod while the gang was bound; and the writes after its binds."""
    scene = Scene(node("a", cpu="1"), node("b", cpu="1"), *gang("g", 2))
    binds = of(Bind, scene.writes())
    scene.put(pod("fast", cpu="1", on="a"))
    writes = scene.end(binds)
    for number, write in enumerate(sorted(binds, key=lambda each: each.pod.name)):
        scene.put(pod(f"g-{number}", "g", on=write.node, **MUSTER))
    return scene, writes


def recorded(writes: list[Any]) -> list[str]:
    return [each.condition.status for each in of(SetCondition, writes)]


def rejected(name: str) -> Any:
    return {**pod(name, "g", on="a", **MUSTER), "status": {"phase": "Failed", "reason": "OutOfcpu", "message": REJECTED}}


def test_gang_on_an_overcommitted_node_is_recorded_after_a_while():
    scene, writes = contested()
    assert [] == recorded(writes)
    assert [] == recorded(scene.wait(9.0))
    assert ["True"] == recorded(scene.wait(1.5))


def test_gang_is_recorded_at_once_when_the_other_pod_is_gone():
    scene, writes = contested()
    assert [] == recorded(writes)
    scene.delete("Pod", "fast")
    assert ["True"] == recorded(scene.wait(1.5))


def test_gang_whose_pod_is_rejected_is_undone_and_not_counted_as_having_run():
    scene, _ = contested()
    scene.put(rejected("g-0"))
    # A controller creates the pod again; it does not fit.
    scene.delete("Pod", "g-0")
    scene.put(pod("g-0", "g", **MUSTER))
    writes = scene.wait(5.0)
    assert ["default/g-1"] == [each.pod.key for each in of(Remove, writes)]
    assert "True" not in recorded(writes)


def test_pod_that_failed_after_it_ran_still_counts():
    scene, _ = contested()
    failed = rejected("g-0")
    failed["status"] = {"phase": "Failed", "message": "The node was low on resource: memory."}
    scene.put(failed)
    assert ["True"] == recorded(scene.wait(1.5))


def test_gang_that_was_recorded_before_is_not_held_back():
    true = {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "x"}]}
    scene = Scene(node("a", cpu="1"), {**leaf("g", 1), "status": true}, pod("g-0", "g", on="a", **MUSTER), pod("x", cpu="1", on="a"))
    assert [] == recorded(scene.wait(20.0))
