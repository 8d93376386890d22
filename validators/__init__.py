"""What is right: the rules about Workload, PodGroup and CompositePodGroup, as pure code.

Give it an object, what it was before, and a way to look up others; it answers with every breach of every rule, each
with Kubernetes' own error type and the exact field path.  It reads no file, no clock and no network; the linter, the
webhooks and the scheduler are built on it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from validators.field import ErrorType, FieldError, FieldPath

if TYPE_CHECKING:
    from validators.pipeline import validate

__all__ = ["ErrorType", "FieldError", "FieldPath", "validate"]

# Found when asked for: whoever wants a path alone need not wait for the rules.
_ELSEWHERE = {"validate": ("validators.pipeline", "validate")}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _ELSEWHERE[name]
    return getattr(importlib.import_module(module), attribute)
