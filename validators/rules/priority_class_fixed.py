"""The value and the preemption policy of a priority class do not change."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.priority import PriorityClass
from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.field import FieldError
from validators.rules.base import UPDATE_ONLY, Context, Example, Rule

_INVALID = Since(38, "the API server reports a changed value as Invalid, not as Forbidden")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``value`` and ``preemptionPolicy``."""
    new, old = context.new, context.old
    if isinstance(new, PriorityClass) and isinstance(old, PriorityClass):
        if new.value != old.value and context.settings.minor < _INVALID:
            yield field.forbidden(FieldPath("value"), f"may not be changed in an update. It was {old.value}")
        elif new.value != old.value:
            yield field.invalid(FieldPath("value"), new.value, f"field is immutable; it was {old.value}")
        if new.preemption_policy != old.preemption_policy:
            yield field.invalid(FieldPath("preemptionPolicy"), new.preemption_policy, f"field is immutable; it was {old.preemption_policy}")


_CLASS = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
"""

RULE = Rule(
    id="priority-class-fixed",
    kinds=frozenset({"PriorityClass"}),
    on=UPDATE_ONLY,
    changes=(_INVALID,),
    why="Pods and groups keep the value that the class had when they were created; after a change, one class would have two priorities.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of PriorityClass",
    check=check,
    good=(Example(_CLASS + "description: for training\n", old=_CLASS),),
    bad=(
        Example(_CLASS.replace("1000", "2000"), old=_CLASS, at=("value",)),
        Example(_CLASS.replace("Never", "PreemptLowerPriority"), old=_CLASS, at=("preemptionPolicy",)),
    ),
)
