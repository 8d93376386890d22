"""The DeviceClass of a request exists (a warning, unless all classes are known)."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import CLAIMS, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``deviceClassName``.  No errors if no DeviceClass at all is known."""
    if context.lookup.list_kind("DeviceClass") is None:
        return
    path, devices = context.device_claim
    for index, request in enumerate(devices.requests or ()):
        for at, each in request.alternatives(path.join(("requests", index))):
            name = each.device_class_name
            if name and context.lookup.get("DeviceClass", "", name) is None:
                error = field.not_found(at / "deviceClassName", name, "there must be a DeviceClass of this name")
                yield checks.missing_class(context, "DeviceClass", error)


_PAIR = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one-gpu}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {}
"""

RULE = Rule(
    id="device-class-exists",
    kinds=CLAIMS,
    about=About.TREE,
    profile=Profile.KEP,
    why="No device is allocated for a request whose class does not exist, and no pod with such a claim is scheduled. Drivers install their "
    "classes, which files rarely have: this is an error of `muster lint` only with `--cluster` or `--objects`.",
    source="Kubernetes 1.37.1, plugin DynamicResources",
    check=check,
    good=(Example(_PAIR),),
    bad=(
        Example(_PAIR.replace("deviceClassName: gpu.", "deviceClassName: gpus."), at=("spec.devices.requests[0].exactly.deviceClassName",)),
    ),
)
