"""Changes of claims to devices, and of the devices that nodes have."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from scheduler_core.causes import changes
from scheduler_core.causes.changes import Change
from scheduler_core.cluster.group_store import Key
from scheduler_core.model.names import Domain, Name
from scheduler_core.whatif.edits.edits import MORE_STORAGE, RELAXED, Rewritten
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book

MOST_IN_SLICE = 64
"""Maximum number of devices of a ResourceSlice to which devices are added; the API server allows more, but not for all devices."""
_ADDED = "added"


class ClaimSource(Record, frozen=True):
    """Objects from which pods get one of their claims: a template, or ResourceClaims of equal pods.

    Attributes:
        objects: their kinds, namespaces and names.

    """

    objects: tuple[Key, ...]

    @property
    def claim(self) -> Name:
        """Return the name of the template, or of the first claim."""
        return Name(*self.objects[0])

    def edit(self, change: Change, rewrite: Callable[[Content], bool]) -> Rewritten:
        """Return the edit by which *rewrite* changes the ``devices`` of all objects; it returns whether it did."""

        def changed(book: Book) -> list[Content] | None:
            result = []
            for key in self.objects:
                if (content := book.get(*key)) is None or not rewrite(_devices(content)):
                    return None
                result.append(content)
            return result

        return Rewritten(change, changed, (RELAXED, len(self.objects)))

    def devices(self, book: Book) -> Content:
        """Return a copy of ``devices`` of the first object."""
        return _devices(book.get(*self.objects[0]) or {})

    def tolerating(self, request: str, taint: Taint) -> Rewritten:
        """Return the edit by which *request* tolerates *taint*."""
        toleration = {"key": taint.key, "effect": taint.effect, **_operator(taint.value)}

        def rewrite(devices: Content) -> bool:
            return _change_request(devices, request, lambda each: each.setdefault("tolerations", []).append(toleration))

        return self.edit(changes.ToleratedDeviceTaint(taint, changes.RequestOfClaim(request, self.claim)), rewrite)

    def without_selectors(self, request: str) -> Rewritten:
        """Return the edit that drops the selectors of *request*."""

        def rewrite(devices: Content) -> bool:
            return _change_request(devices, request, lambda each: each.pop("selectors", None))

        return self.edit(changes.DroppedDeviceSelectors(changes.RequestOfClaim(request, self.claim)), rewrite)

    def with_class(self, request: str, before: str, name: str) -> Rewritten:
        """Return the edit by which *request* has the class *name*."""

        def rewrite(devices: Content) -> bool:
            return _change_request(devices, request, lambda each: each.update(deviceClassName=name))

        return self.edit(changes.ChangedDeviceClass(changes.RequestOfClaim(request, self.claim), before, name), rewrite)

    def without_constraint(self, attribute: str) -> Rewritten:
        """Return the edit that drops the constraints about *attribute*."""

        def rewrite(devices: Content) -> bool:
            before = devices.get("constraints") or []
            devices["constraints"] = [
                each for each in before if attribute not in (each.get("matchAttribute"), each.get("distinctAttribute"))
            ]
            return len(devices["constraints"]) < len(before)

        return self.edit(changes.DroppedDeviceConstraint(attribute, self.claim), rewrite)


class LikeDevice(Record, frozen=True):
    """Published device that more devices are like: its slice, and its name there."""

    published: str
    name: str


def more_devices(numbers: Mapping[str, int], like: Mapping[str, LikeDevice], device_class: str, domain: Domain | None) -> Rewritten:
    """Return the edit that adds devices to slices.

    Args:
        numbers: number of devices by node.
        like: the device of each node that they are like.
        device_class: their class.
        domain: their domain; None for the cluster.

    """
    total = sum(numbers.values())

    def rewrite(book: Book) -> list[Content] | None:
        result = []
        for node, number in sorted(numbers.items()):
            content = book.get("ResourceSlice", "", like[node].published)
            devices = section(content or {}, "spec").get("devices") or []
            original = next((each for each in devices if each.get("name") == like[node].name), None)
            if content is None or original is None or len(devices) + number > MOST_IN_SLICE:
                return None
            names = {each.get("name") for each in devices}
            free = (name for index in range(1, 2 * MOST_IN_SLICE) if (name := f"{original['name']}-{_ADDED}-{index}") not in names)
            devices += [_renamed(original, next(free)) for _ in range(number)]
            result.append(content)
        return result

    return Rewritten(changes.AddedDevices(total, device_class, domain, tuple(sorted(numbers))), rewrite, (MORE_STORAGE, total))


def _renamed(device: Content, name: str) -> Content:
    changed = copy.deepcopy(device)
    for content in (changed, section(changed, "basic")):
        content.pop("taints", None)
    return {**changed, "name": name}


def _operator(value: str) -> Content:
    return {"operator": "Equal", "value": value} if value else {"operator": "Exists"}


def _devices(content: Content) -> Content:
    """Return ``devices`` of a claim or of a template."""
    spec = section(content, "spec")
    return section(section(spec, "spec") if content.get("kind") == "ResourceClaimTemplate" else spec, "devices")


def _change_request(devices: Content, name: str, change: Callable[[Content], object]) -> bool:
    """Apply *change* to the request *name*, or to all its alternatives, and return whether something changed."""
    request = next((each for each in devices.get("requests") or () if each.get("name") == name), None)
    if request is None:
        return False
    before = copy.deepcopy(request)
    for each in request.get("firstAvailable") or [request.get("exactly") or request]:
        change(each)
    return bool(request != before)
