"""No ValidatingAdmissionPolicy refuses every request of a kind on which pods, groups, nodes or Muster depend."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.finding import Check, Result, error, warning
from muster.doctor.manifests import kubectl_patch, mappings_at, text_at
from muster.doctor.policies import Bound, bound_policies
from muster.doctor.requests import listed_by_place
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each binding that refuses them whatever the object, or whose policy has expressions with errors."""
    for bound in bound_policies(world):
        label = f"its policy {bound.policy.name}"
        if refused := bound.refused():
            yield error(bound.binding, "spec.policyName", f"{label} refuses {listed_by_place(refused)}, whatever the object", _warn(bound))
        elif _fails(bound) and (fields := _faulty(bound)):
            message = (
                f"{label} has type errors in {', '.join(fields)}, and failurePolicy is Fail: it refuses {listed_by_place(bound.requests)}"
            )
            yield warning(bound.binding, "spec.policyName", f"{message} if such an expression is evaluated", _warn(bound))


def _fails(bound: Bound) -> bool:
    return text_at(bound.policy.content, "spec", "failurePolicy") != "Ignore"


def _faulty(bound: Bound) -> list[str]:
    """Return the fields with type errors, which kube-controller-manager finds."""
    found = mappings_at(bound.policy.content, "status", "typeChecking", "expressionWarnings")
    return [text_at(each, "fieldRef") for each in found]


def _warn(bound: Bound) -> str:
    operations = [{"op": "replace", "path": "/spec/validationActions", "value": ["Warn"]}]
    return kubectl_patch(bound.binding.kind, "", bound.binding.name, operations)


CHECK = Check(
    id="policy-refuses",
    why="The API server refuses these requests now, as in a freeze of changes: pods, groups or the renewal of leases stop.",
    examine=check,
)
