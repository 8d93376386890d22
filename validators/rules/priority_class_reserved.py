"""Names that begin with ``system-``, and values above 1000000000, are reserved for the built-in priority classes."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.priority import SYSTEM_CLASSES, SYSTEM_PREFIX, PriorityClass
from kubeapi.workloads import MAX_PRIORITY
from validators import field
from validators.field import FieldError
from validators.rules.base import Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``metadata.name`` and ``value``."""
    new = context.new
    if not isinstance(new, PriorityClass):
        return
    if new.metadata.name.startswith(SYSTEM_PREFIX):
        if reason := _unlike_shipped(new):
            yield field.forbidden(
                FieldPath("metadata", "name"),
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {reason}",
            )
    elif new.value > MAX_PRIORITY:
        yield field.forbidden(
            FieldPath("value"), f"maximum allowed value of a user defined priority is {MAX_PRIORITY}; this is {new.value}"
        )


def _unlike_shipped(new: PriorityClass) -> str:
    shipped = SYSTEM_CLASSES.get(new.metadata.name)
    if shipped is None:
        return f"{new.metadata.name} is not a known system priority class"
    if new.value != shipped.value:
        return f"value of {new.metadata.name} PriorityClass must be {shipped.value}"
    return f"globalDefault of {new.metadata.name} PriorityClass must be false" if new.global_default else ""


_CLASS = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000000000
"""

RULE = Rule(
    id="priority-class-reserved",
    kinds=frozenset({"PriorityClass"}),
    why="No user workload may have a higher priority than the components that keep the cluster running.",
    source="Kubernetes 1.37.1, validation of PriorityClass",
    check=check,
    good=(Example(_CLASS),),
    bad=(
        Example(_CLASS.replace("high", "system-high"), at=("metadata.name",)),
        Example(_CLASS.replace("1000000000", "1000000001"), at=("value",)),
    ),
)
