"""Recorded answers of k8s.io/dynamic-resource-allocation/cel, and our answers in the same form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scheduler_core.cel.selector import CompileError, Device, EvaluationError, Version, compile_selector

_RECORDED = json.loads((Path(__file__).parents[2] / "cases" / "device-selectors.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = _RECORDED["cases"]


def device(encoded: dict[str, Any]) -> Device:
    """Return a device that is encoded as in resource.k8s.io/v1."""
    return Device(
        encoded["driver"],
        {name: _value(*value.popitem()) for name, value in ((name, dict(value)) for name, value in encoded.get("attributes", {}).items())},
        {name: capacity["value"] for name, capacity in encoded.get("capacity", {}).items()},
        encoded.get("allowMultipleAllocations", False),
    )


def _value(kind: str, value: Any) -> Any:
    if kind == "version":
        return Version(value)
    return tuple(map(Version, value)) if kind == "versions" else tuple(value) if isinstance(value, list) else value


DEVICES = {name: device(encoded) for name, encoded in _RECORDED["devices"].items()}


def answer(expression: str, given: Device) -> dict[str, Any]:
    """Return our answer in the form of the recorded ones."""
    try:
        matches, cost = compile_selector(expression).evaluate_with_cost(given)
    except CompileError as error:
        return {"compileError": str(error)}
    except EvaluationError as error:
        return {"evaluationError": str(error)}
    return {"matches": matches, "cost": cost}
