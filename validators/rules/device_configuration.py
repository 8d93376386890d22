"""A configuration of devices has a driver, and parameters that are a JSON object of at most 10 KiB."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.resource_claims import MAX_IN_CLAIM, OpaqueDeviceConfiguration
from validators import field
from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import CLAIMS, Context, Example, Rule

_MOST_BYTES = 10 * 1024


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at configurations, drivers and parameters."""
    path, devices = context.device_claim
    configurations = devices.config or ()
    for index, each in enumerate(configurations if len(configurations) <= MAX_IN_CLAIM else ()):
        at = path.join(("config", index, "opaque"))
        if each.opaque is None:
            yield field.required(at)
        else:
            yield from _opaque(at, each.opaque)


def _opaque(path: FieldPath, opaque: OpaqueDeviceConfiguration) -> Iterator[FieldError]:
    yield from checks.driver_name(path / "driver", opaque.driver)
    at, parameters = path / "parameters", opaque.parameters
    if parameters is None:
        yield field.required(at)
    elif len(json.dumps(parameters, ensure_ascii=False, separators=(",", ":"), default=str).encode(errors="replace")) > _MOST_BYTES:
        yield field.too_long(at, _MOST_BYTES)
    elif not isinstance(parameters, dict):
        yield field.invalid(at, "<value omitted>", "must be a valid JSON object")


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared-gpu}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
    config:
    - opaque:
        driver: gpu.example.com
        parameters: {apiVersion: gpu.example.com/v1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
"""

RULE = Rule(
    id="device-configuration",
    kinds=CLAIMS,
    why="The API server refuses a configuration that no driver could read.",
    source="Kubernetes 1.37.1, validation of OpaqueDeviceConfiguration",
    check=check,
    good=(Example(_CLAIM),),
    bad=(
        Example(_CLAIM.replace("driver: gpu.example.com", "driver: gpu_example"), at=("spec.devices.config[0].opaque.driver",)),
        Example(_CLAIM.partition("    - opaque:")[0] + "    - requests: [gpu]\n", at=("spec.devices.config[0].opaque",)),
    ),
)
