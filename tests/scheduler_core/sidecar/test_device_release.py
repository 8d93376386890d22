"""Devices of claims while their reservations are removed, or while it is unknown what was written: given to no second claim, bound by no pod."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.sidecar.client.extended_claim import extended_claim_name
from scheduler_core.sidecar.writes import AllocateClaim, AllocateExtended, Bind, DeleteExtended, ReleaseClaim, WriteOutcome
from tests.scheduler_core.builders import leaf, node
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, only_on, resource_claim, wanting
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_device_binder import RESOURCE, requesting
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, of

CLAIM_WRITES = (AllocateClaim, ReleaseClaim, AllocateExtended, DeleteExtended)


def one_device(*objects: Json) -> Scene:
    """Return a node with the device d, and *objects*."""
    return Scene(node("n"), device_class(), device_slice("n", "d"), *objects)


def reserved(claim: str, *users: str, on: str = "d") -> Json:
    """Return *claim*, allocated to a device of node n and reserved for *users*."""
    return resource_claim(claim, devices=[f"gpu=n/{on}"], users=users, nodes=only_on("n"))


def uid(scene: Scene, pod: str) -> str:
    return scene.server.objects["Pod", "default", pod]["metadata"]["uid"]


def targets(kind: type, writes: list[Any]) -> list[str]:
    return [each.target.name for each in of(kind, writes)]


def failed_beside_a_refused_claim() -> tuple[Scene, Any]:
    """Return a pod whose claim c was allocated and whose claim e was refused, and the release of c, which has not ended."""
    scene = Scene(node("n"), device_class(), device_slice("n", "d", "e"), *map(resource_claim, "ce"), wanting("p", "g=c", "h=e", **MUSTER))
    first, second = of(AllocateClaim, scene.writes())
    scene.put(reserved("c", uid(scene, "p"), on=first.allocation.devices[0].id[2]))
    assert [] == of(ReleaseClaim, scene.end([first]))
    (release,) = of(ReleaseClaim, scene.end([second], WriteOutcome.REFUSED))
    assert "c" == release.target.name
    return scene, release


def test_reservation_that_is_being_removed_is_made_again_by_the_next_attempt():
    scene, release = failed_beside_a_refused_claim()
    writes = scene.wait(30)
    assert (["c", "e"], []) == (targets(AllocateClaim, writes), of(Bind, writes))
    assert [False, False] == [each.only_reserve for each in of(AllocateClaim, writes)], "the release takes the devices from c"
    scene.put(resource_claim("c"))
    assert [] == of(Bind, scene.end([release]))
    for write in of(AllocateClaim, writes):
        scene.put(reserved(write.target.name, uid(scene, "p"), on=write.allocation.devices[0].id[2]))
    assert ["p"] == [each.pod.name for each in of(Bind, scene.end(of(AllocateClaim, writes)))]


def test_pod_is_not_bound_while_its_cached_reservation_is_being_removed():
    scene = one_device(reserved("c", "other"), wanting("g-0", "g=c", group="g", **MUSTER), leaf("g", 1))
    (before,) = of(AllocateClaim, scene.writes())
    scene.delete("PodGroup", "g")
    scene.writes()
    scene.put(leaf("g", 1))
    (current,) = of(AllocateClaim, [*scene.writes(), *scene.wait(30)])
    # It is unknown whether the write of the earlier attempt was carried out.  Its release follows the write of the current attempt.
    (release,) = of(ReleaseClaim, scene.end([before], WriteOutcome.FAILED))
    scene.put(reserved("c", "other", uid(scene, "g-0")))
    writes = scene.end([current])
    assert ([], [release]) == (of(Bind, writes), of(ReleaseClaim, writes))
    scene.put(reserved("c", "other"))
    scene.end([release, release])
    (again,) = of(AllocateClaim, scene.wait(30))
    scene.put(reserved("c", "other", uid(scene, "g-0")))
    assert ["g-0"] == [each.pod.name for each in of(Bind, scene.end([again]))]


def extended(scene: Scene, *more: str) -> Json:
    """Return the claim for the extended resources of pod p on the device d, reserved for p and *more*."""
    owner = {"kind": "Pod", "name": "p", "uid": uid(scene, "p"), "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    content: dict[str, Any] = {"devices": ["container-0-request-1=n/d"], "users": [uid(scene, "p"), *more], "nodes": only_on("n")}
    name = extended_claim_name("p", uid(scene, "p"))
    return resource_claim(name, annotations=annotations, ownerReferences=[owner], **content)


def test_extended_claim_that_is_being_deleted_is_neither_written_nor_used():
    scene = Scene(node("n"), device_class(extendedResourceName=RESOURCE), device_slice("n", "d"), requesting())
    (write,) = of(AllocateExtended, scene.writes())
    scene.put(extended(scene))
    # The claim exists, but the status of the pod could not be written.
    (delete,) = of(DeleteExtended, scene.end([write], WriteOutcome.FAILED))
    found = [each for _ in range(3) for each in scene.wait(30)]
    assert [] == [each for each in found if isinstance(each, (Bind, *CLAIM_WRITES))]
    scene.delete("ResourceClaim", write.claim)
    scene.end([delete])
    assert [write.claim] == [each.claim for each in of(AllocateExtended, [*scene.wait(30), *scene.wait(30)])]


def test_pod_whose_claim_is_refused_keeps_no_devices_of_an_earlier_process():
    scene = Scene(node("n"), device_class(), device_slice("n", "d", "e"), *map(resource_claim, "ce"), wanting("p", "g=c", "h=e", **MUSTER))
    scene.put(reserved("c", uid(scene, "p")))
    (write,) = of(AllocateClaim, scene.writes())
    assert "e" == write.target.name
    assert ["c"] == targets(ReleaseClaim, scene.end([write], WriteOutcome.REFUSED))


def test_devices_of_a_write_with_unknown_result_are_given_to_no_other_claim():
    scene = one_device(resource_claim("c"), wanting("p", "g=c", **MUSTER))
    (write,) = of(AllocateClaim, scene.writes())
    (release,) = of(ReleaseClaim, scene.end([write], WriteOutcome.FAILED))
    scene.put(resource_claim("e"), wanting("q", "g=e", **MUSTER))
    assert [] == [each for each in targets(AllocateClaim, scene.wait(30)) if each == "e"]
    # The release can fail as well.
    assert [release] == of(ReleaseClaim, scene.end([release], WriteOutcome.FAILED))
    assert [] == [each for each in targets(AllocateClaim, scene.wait(30)) if each == "e"]
    scene.delete("Pod", "p")
    scene.end([release])
    assert ["e"] == targets(AllocateClaim, scene.wait(30))


@pytest.mark.parametrize("others", [(), ("unknown",)])
def test_claim_of_an_unplaced_pod_is_released_unless_an_unknown_consumer_has_it(others):
    scene = one_device(resource_claim("c"), wanting("p", "g=c", cpu="9999", **MUSTER))
    scene.put(reserved("c", uid(scene, "p"), *others))
    writes = scene.writes()
    assert ([] if others else ["c"]) == targets(ReleaseClaim, writes)
    assert [("p",)] * (not others) == [tuple(each.name for each in write.consumers) for write in of(ReleaseClaim, writes)]


@pytest.mark.parametrize("others", [(), ("unknown",)])
def test_claim_for_extended_resources_is_deleted_unless_another_consumer_has_it(others):
    scene = Scene(node("n"), device_class(extendedResourceName=RESOURCE), device_slice("n", "d"), requesting(cpu="9999"))
    scene.put(extended(scene, *others))
    assert ([] if others else [extended_claim_name("p", uid(scene, "p"))]) == targets(DeleteExtended, scene.writes())


def test_devices_of_writes_that_a_former_leader_did_not_send_are_free():
    scene = one_device(resource_claim("c"), wanting("p", "g=c", **MUSTER))
    assert ["c"] == targets(AllocateClaim, scene.writes())
    scene.delete("Pod", "p")
    scene.put(resource_claim("e"), wanting("q", "g=e", **MUSTER))
    assert [] == targets(AllocateClaim, scene.wait(30))
    scene.scheduler.restart()
    assert ["e"] == targets(AllocateClaim, scene.wait(30))
