"""Limits of claims: the largest content that is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.validators.judging import manifest, reported_errors
from validators import schema


def claim(**more: Any) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    return manifest("ResourceClaim", "c", {"devices": {"requests": [request], **more}})


@pytest.mark.parametrize("letter", ["a", "é"], ids=["one byte each", "two bytes each"])
@pytest.mark.parametrize("more", [0, 1])
def test_parameters_of_a_driver_have_at_most_ten_kibibytes(letter: str, more: int) -> None:
    """Kubernetes 1.37.1, pkg/apis/resource, OpaqueParametersMaxLength: of the bytes of the raw extension."""
    parameters = {"a": letter * 4000, "b": ""}
    free = 10 * 1024 - len(json.dumps(parameters, ensure_ascii=False, separators=(",", ":")).encode())
    parameters["b"] = "x" * (free + more)
    errors = reported_errors(claim(config=[{"opaque": {"driver": "gpu.example.com", "parameters": parameters}}]))

    assert [path for _, _, path in errors if path.startswith("spec.devices.config")] == ["spec.devices.config[0].opaque.parameters"] * more


@pytest.mark.parametrize(("amount", "malformed", "want"), [("10Gi", 0, []), (3, 0, []), ("lots", 1, []), ("-1", 0, ["claim-capacities"])])
def test_a_capacity_is_a_quantity_and_told_once_if_it_is_none(amount: object, malformed: int, want: list[str]) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "capacity": {"requests": {"example.com/memory": amount}}}}
    written = manifest("ResourceClaim", "c", {"devices": {"requests": [request]}})

    assert malformed == len(schema.check("resourceclaim-v1", written))
    assert want == [rule for _, rule, _ in reported_errors(written, minor=38)]
