"""A selector of devices can be evaluated for every known device that its class selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeapi.devices import DeviceSelector
from validators import field
from validators.field import FieldError
from validators.model.views import DeviceClass, ResourceSlice
from validators.rules.base import CLAIMS, About, Context, DeviceSelectors, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield one error at each expression whose evaluation fails for a known device.  No errors without a compiler of expressions."""
    selectors = context.settings.selectors
    slices = [each for each in context.lookup.list_kind("ResourceSlice") or () if isinstance(each, ResourceSlice)]
    if selectors is None or not slices:
        return
    if isinstance(context.new, DeviceClass):
        yield from _failing(context, selectors, slices)
        return
    for at, each in context.device_requests:
        known = context.lookup.get("DeviceClass", "", each.device_class_name)
        of_class = _expressions(known.spec.selectors or ()) if isinstance(known, DeviceClass) else []
        own = _expressions(each.selectors or ())
        for number, expression in enumerate(own):
            if error := selectors.evaluation_error([*of_class, *own[: number + 1]], slices):
                yield field.invalid(at.join(("selectors", number, "cel", "expression")), expression, _detail(error))
                break


def _failing(context: Context, selectors: DeviceSelectors, slices: Sequence[ResourceSlice]) -> Iterator[FieldError]:
    before: list[str] = []
    for path, listed in context.device_selectors:
        for index, selector in enumerate(listed):
            before += _expressions([selector])
            if error := selectors.evaluation_error(before, slices):
                yield field.invalid(path.join((index, "cel", "expression")), before[-1], _detail(error))
                return


def _expressions(selectors: Sequence[DeviceSelector]) -> list[str]:
    return [each.cel.expression for each in selectors if each.cel is not None]


def _detail(error: str) -> str:
    return f"kube-scheduler ends each attempt with an error: {error}; test the driver, or read the attribute with .? and orValue()"


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a100}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: device.attributes["gpu.example.com"].?model.orValue("") == "a100"
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {model: {string: a100}}}
  - {name: gpu-1}
"""

RULE = Rule(
    id="device-attribute-present",
    kinds=CLAIMS | {"DeviceClass"},
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    why="One device without the attribute ends the whole attempt of a pod or gang with an error, also if other nodes fit.",
    source="Kubernetes 1.37.1, plugin DynamicResources, k8s.io/dynamic-resource-allocation/structured",
    check=check,
    good=(Example(_CLAIM),),
    bad=(Example(_CLAIM.replace('.?model.orValue("")', ".model"), at=("spec.devices.requests[0].exactly.selectors[0].cel.expression",)),),
)
