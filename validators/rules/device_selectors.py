"""Selectors of devices are valid expressions of the Common Expression Language, and not too long."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.resource_claims import MAX_IN_CLAIM
from validators import field
from validators.field import FieldError
from validators.rules.base import CLAIMS, Context, Example, Rule

_MOST_BYTES = 10 * 1024


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``cel`` and ``expression``.  Expressions are compiled only if the caller has a compiler for them."""
    for path, listed in context.device_selectors:
        if len(listed) > MAX_IN_CLAIM:
            yield field.too_many(path, len(listed), MAX_IN_CLAIM)
            continue
        for index, each in enumerate(listed):
            if each.cel is None:
                yield field.required(path.join((index, "cel")))
            else:
                yield from _expression(context, path.join((index, "cel", "expression")), each.cel.expression)


def _expression(context: Context, path: FieldPath, expression: str) -> Iterator[FieldError]:
    compiler = context.settings.selectors
    if len(expression.encode(errors="replace")) > _MOST_BYTES:
        yield field.too_long(path, _MOST_BYTES)
    elif compiler is not None and (fault := compiler.compile_error(expression)):
        yield field.invalid(path, expression, fault)
    elif not expression.strip():
        yield field.invalid(path, expression, "compilation failed: the expression is empty")


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
    why="The API server refuses an expression that it cannot compile.  The linter compiles expressions if the extra `simulate` is installed.",
    source="Kubernetes 1.37.1, CELDeviceSelector; k8s.io/dynamic-resource-allocation/cel",
    check=check,
    good=(Example(_CLAIM),),
    bad=(Example(_CLAIM.replace('("80Gi"))', '("80Gi")'), at=_AT), Example(_CLAIM.replace("device.capacity", "node.capacity"), at=_AT)),
)
