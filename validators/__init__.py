"""Validation rules for Workload, PodGroup and CompositePodGroup, as pure code.

``validate`` gets an object, its old version and a lookup of other objects.  It returns all errors, each with
Kubernetes' own error type and the exact field path.  It reads no file, no clock and no network.  The linter, the
webhooks and the scheduler are built on it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from validators.field import ErrorType, FieldError, FieldPath

if TYPE_CHECKING:
    from validators.pipeline import validate

__all__ = ["ErrorType", "FieldError", "FieldPath", "validate"]

# Imported on first use: code that needs only a FieldPath must not wait for the import of all rules.
_LAZY = {"validate": ("validators.pipeline", "validate")}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
