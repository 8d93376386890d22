"""The capacities that a request of a claim asks for are at most 32, with valid names, and not negative."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import quantity
from kubeapi.field_path import Key
from kubeapi.resource_claims import MAX_CAPACITIES
from validators import field
from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import CLAIMS, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``capacity.requests``; those of a name too, as the API server does."""
    for path, request in context.device_requests:
        amounts, at = (request.capacity and request.capacity.requests) or {}, path.join(("capacity", "requests"))
        if len(amounts) > MAX_CAPACITIES:
            yield field.too_many(at, len(amounts), MAX_CAPACITIES)
        for name, amount in sorted(amounts.items()):
            yield from checks.qualified_name(at, name)
            if len(amounts) <= MAX_CAPACITIES and _is_negative(amount):
                yield field.invalid(at / Key(name), str(amount), "must be greater than or equal to 0")


def _is_negative(amount: quantity.Amount) -> bool:
    try:
        return quantity.value(amount) < 0
    except ValueError:
        return False  # another rule reports it


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: slice-of-a-gpu}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        capacity:
          requests: {gpu.example.com/memory: 10Gi}
"""
_PATH = "spec.devices.requests[0].exactly.capacity.requests"

RULE = Rule(
    id="claim-capacities",
    kinds=CLAIMS,
    since=38,
    why="No device has a capacity of another name, so the claim would never be allocated; Kubernetes 1.37 accepts it.",
    source="Kubernetes 1.38.0-beta.0, validation of ResourceClaim",
    check=check,
    good=(Example(_CLAIM, kubernetes="1.38"),),
    bad=(
        Example(_CLAIM.replace("gpu.example.com/memory", "gpu.example.com/gpu/memory"), at=(_PATH,), kubernetes="1.38"),
        Example(_CLAIM.replace("10Gi", "-1"), at=(f"{_PATH}[gpu.example.com/memory]",), kubernetes="1.38"),
    ),
)
