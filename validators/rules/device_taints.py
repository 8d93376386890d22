"""A DeviceTaintRule has a valid taint, and selects devices by valid names."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.devices import DeviceTaintSelector
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.model.views import DeviceTaintRule
from validators.rules import checks
from validators.rules.base import Context, Example, Rule

_LONGEST_POOL = 253


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the fields of the taint and of the selector."""
    if isinstance(context.new, DeviceTaintRule):
        taint = context.new.spec.taint
        yield from checks.device_taint(SPEC / "taint", taint.key, taint.value, taint.effect)
        if context.new.spec.device_selector is not None:
            yield from _selector(SPEC / "deviceSelector", context.new.spec.device_selector)


def _selector(path: FieldPath, selector: DeviceTaintSelector) -> Iterator[FieldError]:
    if selector.driver is not None:
        yield from checks.driver_name(path / "driver", selector.driver)
    if selector.pool == "":
        yield field.required(path / "pool")
    elif selector.pool is not None:
        if len(selector.pool) > _LONGEST_POOL:
            yield field.too_long(path / "pool", _LONGEST_POOL, "characters")
        for part in selector.pool.split("/"):
            yield from checks.messages(path / "pool", part, content.subdomain)
    if selector.device is not None:
        yield from checks.messages(path / "device", selector.device, content.label)


_RULE = """\
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: broken-gpu}
spec:
  deviceSelector: {driver: gpu.example.com, pool: node-1, device: gpu-0}
  taint: {key: example.com/broken, effect: NoExecute}
"""

RULE = Rule(
    id="device-taints",
    kinds=frozenset({"DeviceTaintRule"}),
    why="The API server refuses other rules.  Taints of devices have no effect PreferNoSchedule.",
    source="Kubernetes 1.37.1, validation of DeviceTaintRule",
    check=check,
    good=(Example(_RULE), Example(_RULE.replace("NoExecute", "None").replace("resource.k8s.io/v1", "resource.k8s.io/v1alpha3"))),
    bad=(
        Example(_RULE.replace("NoExecute", "PreferNoSchedule"), at=("spec.taint.effect",), fixed=_RULE.replace("NoExecute", "NoSchedule")),
        Example(_RULE.replace("example.com/broken", "broken gpu"), at=("spec.taint.key",)),
        Example(
            _RULE.replace("pool: node-1, device: gpu-0", "pool: node-1/, device: GPU"),
            at=("spec.deviceSelector.device", "spec.deviceSelector.pool"),
        ),
        Example(_RULE.replace("driver: gpu.example.com", 'driver: ""'), at=("spec.deviceSelector.driver",)),
    ),
)
