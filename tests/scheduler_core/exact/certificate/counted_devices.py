"""Devices that the measures of a certificate count, from the raw objects; shares no code with the author of certificates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Named = dict[tuple[str, str, str], Json]
COMPARED = re.compile(r"device\.attributes\['([^']*)'\]\.\??(\w+)(?:\.orValue\(''\))? == ('[^']*'|\d+)")
"""The only selectors that the checker knows; a device without the attribute does not match."""


def at(value: Any, *path: str) -> Any:
    """Return the value at *path*; an empty object if there is none."""
    for name in path:
        value = (value or {}).get(name)
    return value or {}


def selects(expression: str, driver: str, device: Json) -> bool:
    """Return true if a selector matches *device*."""
    if expression == "true":
        return True
    if not (compared := COMPARED.fullmatch(expression)):
        raise ValueError("unknown selector")
    domain, name, value = compared.groups()
    found = [each for key, each in at(device, "attributes").items() if key == f"{domain}/{name}" or (key == name and domain == driver)]
    return any({"string": value[1:-1]} == each if value[0] == "'" else {"int": int(value)} == each for each in found)


def tolerates(tolerations: Any, taint: Json) -> bool:
    """Return true if one of *tolerations* covers *taint*."""
    for each in tolerations:
        same = each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", "")
        if same and each.get("key", "") in ("", taint["key"]) and each.get("effect", "") in ("", taint["effect"]):
            return True
    return False


class CountedDevices:
    """What pods need and nodes have, in thousandths, of each name in ``counted`` of *certificate*; with ``empty``, no device is in use."""

    def __init__(self, named: Named, certificate: Json) -> None:
        self.named, counted = named, certificate.get("counted", {})
        self.counted = {row: set(what["devices"]) for row, what in counted.items() if "devices" in what}
        self.keys = certificate.get("attributes", [])
        self.classes = {name: each for (kind, _, name), each in named.items() if kind == "DeviceClass"}
        slices = [at(each, "spec") for (kind, _, _), each in named.items() if kind == "ResourceSlice"] if self.counted or self.keys else []
        if any(each[0] == "DeviceTaintRule" for each in named) and self.counted:
            raise ValueError("taint rules are not known here")
        self.devices: dict[str, tuple[str, str, Json]] = {}
        for each in slices:
            pool = each["pool"]
            same = [other["pool"] for other in slices if (other["driver"], other["pool"]["name"]) == (each["driver"], pool["name"])]
            newest = [other for other in same if other["generation"] == max(every["generation"] for every in same)]
            if pool in newest and len(newest) == pool["resourceSliceCount"]:
                for device in at(each, "devices"):
                    self.devices[f"{each['driver']}/{pool['name']}/{device['name']}"] = each["driver"], each.get("nodeName", ""), device
        given = [one for (kind, _, _), each in named.items() if kind == "ResourceClaim" for one in self.results(each)]
        self.used = {
            f"{one['driver']}/{one['pool']}/{one['device']}" for one in given if not (one.get("adminAccess") or certificate["empty"])
        }

    def levels(self, node: str) -> Json:
        """Return the domains of *node* by attribute."""
        found = dict[str, set[str]]()
        for driver, on, device in self.devices.values():
            if not on:
                raise ValueError("unknown reach")
            for name, each in at(device, "attributes").items() if on == node else ():
                found.setdefault(name if "/" in name else f"{driver}/{name}", set()).update(map(str, each.values()))
        return {key: next(iter(found[key])) for key in self.keys if len(found.get(key, ())) == 1}

    def results(self, claim: Json | None) -> list[Json]:
        """Return the devices of a claim."""
        return list(at(claim, "status", "allocation", "devices", "results"))

    def requests(self, pod: Json) -> Iterator[Json]:
        """Yield the requests of *pod* for a number of devices."""
        space = at(pod, "metadata", "namespace") or "default"
        for entry in at(pod, "spec", "resourceClaims"):
            name, template = entry.get("resourceClaimName", ""), entry.get("resourceClaimTemplateName", "")
            claim = self.named.get(("ResourceClaim", space, name))
            spec = at(claim or self.named["ResourceClaimTemplate", space, template], "spec")
            users = [
                other
                for (kind, where, _), other in self.named.items()
                if kind == "Pod"
                and where == space
                and any(each.get("resourceClaimName") == name for each in at(other, "spec", "resourceClaims"))
            ]
            if not self.results(claim) and (template or len(users) == 1):
                yield from (at(each, "exactly") for each in at(spec if claim else at(spec, "spec"), "devices", "requests"))
        if at(pod, "spec", "initContainers"):
            return
        for container in at(pod, "spec", "containers"):
            asked = {**at(container, "resources", "limits"), **at(container, "resources", "requests")}
            for name, device_class in self.classes.items():
                names = at(device_class, "spec").get("extendedResourceName"), f"deviceclass.resource.kubernetes.io/{name}"
                if count := sum(int(asked.get(each, 0)) for each in names):
                    yield {"deviceClassName": name, "count": count}

    def usable(self, request: Json) -> set[str]:
        """Return the devices that *request* can use."""
        selectors = [*at(self.classes[request["deviceClassName"]], "spec", "selectors"), *at(request, "selectors")]
        return {
            name
            for name, (driver, _, device) in self.devices.items()
            if all(selects(each["cel"]["expression"], driver, device) for each in selectors)
            and all(
                int(at(device, "capacity", each).get("value", -1)) >= int(amount)
                for each, amount in at(request, "capacity", "requests").items()
            )
            and all(tolerates(at(request, "tolerations"), each) for each in at(device, "taints") if each["effect"] != "None")
        }

    def takes(self, pod: Json) -> Counter[str]:
        """Return what *pod* needs, if it has no node."""
        result = Counter[str]()
        for request in self.requests(pod) if self.counted and not at(pod, "spec").get("nodeName") else ():
            if request and request.get("allocationMode", "ExactCount") == "ExactCount" and not request.get("adminAccess"):
                usable = self.usable(request)
                for row, devices in self.counted.items():
                    result[row] += 1000 * request.get("count", 1) * (usable <= devices and bool(usable) == bool(devices))
        return result

    def has(self, node: Json) -> Counter[str]:
        """Return what *node* has."""
        name = node["metadata"]["name"]
        here = {each for each, (_, on, _) in self.devices.items() if on == name}
        return Counter({row: 1000 * len(here & devices - self.used) for row, devices in self.counted.items()})
