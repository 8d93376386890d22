"""A ResourceSlice names its driver and pool, and has at most 128 devices with unique names (64 if one has taints or counters)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from kubeapi import content
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model import slices
from validators.model.templates import SPEC
from validators.model.views import DeviceContent, DeviceTaint, ResourceSlice, ResourceSliceSpec
from validators.rules import checks
from validators.rules.base import Context, Example, Rule

_LONGEST_POOL = 253
_MOST_TAINTS = 16
_MOST_CONDITIONS = 4
_label = functools.partial(content.label, unit="characters")
_subdomain = functools.partial(content.subdomain, unit="characters")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at driver, pool, devices, their taints and their binding conditions."""
    if not isinstance(context.new, ResourceSlice):
        return
    spec = context.new.spec
    if spec.driver:
        yield from checks.domain(SPEC / "driver", spec.driver)
    else:
        yield field.required(SPEC / "driver")
    yield from _pool(spec)
    devices = spec.devices or ()
    if slices.has_too_many(spec):
        yield field.too_many(slices.DEVICES, len(devices), slices.most_devices(spec))
        return
    seen: set[str] = set()
    for index, device in enumerate(devices):
        yield from checks.messages(slices.DEVICES.join((index, "name")), device.name, _label)
        if device.name in seen:
            yield field.duplicate(slices.DEVICES / index, device.name)
        seen.add(device.name)
    for path, each in slices.contents(spec):
        yield from _taints(path / "taints", each.taints or ())
        yield from _binding(path, each)


def _pool(spec: ResourceSliceSpec) -> Iterator[FieldError]:
    path, pool = SPEC / "pool", spec.pool
    if not pool.name:
        yield field.required(path / "name")
    elif len(pool.name) > _LONGEST_POOL:
        yield field.too_long(path / "name", _LONGEST_POOL)
    for part in pool.name.split("/") if pool.name else ():
        yield from checks.messages(path / "name", part, _subdomain)
    if pool.resource_slice_count <= 0:
        yield field.invalid(path / "resourceSliceCount", pool.resource_slice_count, "must be greater than zero")
    if pool.generation < 0:
        yield field.invalid(path / "generation", pool.generation, "must be greater than or equal to zero")


def _taints(path: FieldPath, taints: Sequence[DeviceTaint]) -> Iterator[FieldError]:
    if len(taints) > _MOST_TAINTS:
        yield field.too_many(path, len(taints), _MOST_TAINTS)
        return
    for index, taint in enumerate(taints):
        yield from checks.device_taint(path / index, taint.key, taint.value, taint.effect)


def _binding(path: FieldPath, device: DeviceContent) -> Iterator[FieldError]:
    """Yield errors at the conditions under which the devices are bound, and at those under which that failed."""
    ready, failed = device.binding_conditions or (), device.binding_failure_conditions or ()
    names = ("bindingConditions", "bindingFailureConditions")
    for name, listed in zip(names, (ready, failed), strict=True):
        if len(listed) > _MOST_CONDITIONS:
            yield field.too_many(path / name, len(listed), _MOST_CONDITIONS)
        for index, each in enumerate(listed):
            if len(listed) <= _MOST_CONDITIONS:
                yield from checks.messages(path.join((name, index)), each, content.label_key)
            if each in listed[:index]:
                yield field.duplicate(path.join((name, index)), each)
    for index, each in enumerate(failed):
        if each in ready:
            yield field.invalid(path.join((names[1], index)), each, "bindingFailureConditions must not overlap with bindingConditions")
    if bool(ready) is not bool(failed):
        missing, present = names if failed else names[::-1]
        yield field.invalid(path / missing, None, f"{missing} are required to use {present}")


_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  nodeName: n1
  devices:
  - {name: gpu-0}
  - {name: gpu-1, taints: [{key: example.com/hot, effect: NoSchedule}]}
"""

RULE = Rule(
    id="slice-devices",
    kinds=frozenset({"ResourceSlice"}),
    why="The API server refuses other slices, so that no pod gets their devices.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of ResourceSlice",
    check=check,
    good=(Example(_SLICE),),
    bad=(
        Example(_SLICE.replace("name: gpu-1", "name: gpu-0"), at=("spec.devices[1]",)),
        Example(_SLICE.replace("name: gpu-0", "name: GPU_0"), at=("spec.devices[0].name",)),
        Example(_SLICE.replace(", resourceSliceCount: 1", ""), at=("spec.pool.resourceSliceCount",)),
        Example(_SLICE.replace("gpu.example.com", "gpu example"), at=("spec.driver",)),
        Example(
            _SLICE.replace("effect: NoSchedule", "effect: PreferNoSchedule"),
            at=("spec.devices[1].taints[0].effect",),
            fixed=_SLICE,
        ),
        Example(_SLICE + "".join(f"  - {{name: gpu-{number}}}\n" for number in range(2, 65)), at=("spec.devices",)),
    ),
)
