"""Tolerations of a request have a valid key, operator, value and effect."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.devices import TAINT_EFFECTS
from kubeapi.field_path import FieldPath
from kubeapi.resource_claims import DeviceToleration
from validators import field
from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import CLAIMS, Context, Example, Rule

_OPERATORS = ("Equal", "Exists")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the fields of tolerations."""
    for path, request in context.device_requests:
        for index, each in enumerate(request.tolerations or ()):
            yield from _toleration(path.join(("tolerations", index)), each)


def _toleration(path: FieldPath, toleration: DeviceToleration) -> Iterator[FieldError]:
    operator = toleration.operator or "Equal"
    if toleration.key:
        yield from checks.messages(path / "key", toleration.key, content.label_key)
    if operator not in _OPERATORS:
        yield field.not_supported(path / "operator", operator, _OPERATORS)
    elif operator == "Equal":
        yield from checks.messages(path / "value", toleration.value, content.label_value)
    elif toleration.value:
        yield field.invalid(path / "value", toleration.value, "must be empty for operator `Exists`")
    if toleration.effect and toleration.effect not in TAINT_EFFECTS:
        yield field.not_supported(path / "effect", toleration.effect, TAINT_EFFECTS)


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu-under-test}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        tolerations:
        - {key: example.com/under-test, operator: Exists, effect: NoSchedule}
"""
_AT = "spec.devices.requests[0].exactly.tolerations[0]"

RULE = Rule(
    id="device-tolerations",
    kinds=CLAIMS,
    why="The API server refuses other tolerations.  Taints of devices have no effect PreferNoSchedule.",
    source="Kubernetes 1.37.1, validation of DeviceToleration",
    check=check,
    good=(Example(_CLAIM),),
    bad=(
        Example(_CLAIM.replace("NoSchedule", "PreferNoSchedule"), at=(f"{_AT}.effect",), fixed=_CLAIM),
        Example(_CLAIM.replace("operator: Exists,", "operator: Exists, value: yes-please,"), at=(f"{_AT}.value",)),
    ),
)
