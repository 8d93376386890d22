"""Selectors of devices are valid expressions of the Common Expression Language, and not too long."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.rules.base import CLAIMS, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``cel`` and ``expression``.  Expressions are compiled only if the caller has a compiler for them."""
    for path, selector in context.device_selectors:
        if selector.cel is None:
            yield field.required(path / "cel")
            continue
        expression, at = selector.cel.expression, path.join(("cel", "expression"))
        if not expression:
            yield field.required(at)
        elif context.settings.selectors is not None and (fault := context.settings.selectors.compile_error(expression)):
            yield field.invalid(at, expression, fault)


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: large-gpu}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0
"""
_AT = ("spec.devices.requests[0].exactly.selectors[0].cel.expression",)

RULE = Rule(
    id="device-selectors",
    kinds=CLAIMS | {"DeviceClass"},
    profile=Profile.KEP,
    why="The API server refuses an expression that it cannot compile.  The linter compiles expressions if the extra `simulate` is installed.",
    source="Kubernetes 1.37.1, CELDeviceSelector; k8s.io/dynamic-resource-allocation/cel",
    check=check,
    good=(Example(_CLAIM),),
    bad=(Example(_CLAIM.replace('("80Gi"))', '("80Gi")'), at=_AT), Example(_CLAIM.replace("device.capacity", "node.capacity"), at=_AT)),
)
