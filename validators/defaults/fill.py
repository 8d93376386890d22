"""Defaults of absent fields (Kubernetes 1.37.1 and 1.38.0-beta.0, ``SetDefaults_*``; KEP-6012, Spec).

``apply`` sets them in raw JSON, where unknown fields are kept, for the mutating webhook.  ``fill`` sets them in typed
objects for validation, which the API server runs after defaulting.  Templates have no defaults.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.decode import Json
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import Empty, replaced
from kubeapi.priority import PREEMPT_LOWER_PRIORITY, PriorityClass
from kubeapi.versions.kubernetes_releases import FIRST_WITHOUT_POLICY_DEFAULT
from kubeapi.workloads import DisruptionMode
from validators.gates import GENERIC_WORKLOAD, PREEMPTION_POLICY, Gates
from validators.model.objects import Object

_GROUPS = frozenset({"PodGroup", "CompositePodGroup"})
_SINGLE = DisruptionMode(single=Empty())


def apply(kind: str, content: Mapping[str, Json], gates: Gates, minor: int) -> dict[str, Json]:
    """Return the object with the defaults of Kubernetes 1.*minor* for absent fields.  All other fields, known or not, are kept; *content* is not modified."""
    filled = dict(content)
    written_spec = {} if content.get("spec") is None else content["spec"]
    if kind in _GROUPS and isinstance(written_spec, Mapping):
        spec = dict(written_spec)
        if spec.get("disruptionMode") is None:
            spec["disruptionMode"] = {"single": {}}
        if spec.get("preemptionPolicy") is None and _policy_has_default(gates, minor):
            spec["preemptionPolicy"] = PREEMPT_LOWER_PRIORITY
        filled["spec"] = spec
    elif kind == "PriorityClass" and content.get("preemptionPolicy") is None:
        filled["preemptionPolicy"] = PREEMPT_LOWER_PRIORITY
    return filled


def fill(new: Object, gates: Gates, minor: int) -> Object:
    """Return the typed object with the defaults of Kubernetes 1.*minor* for absent fields."""
    if isinstance(new, PriorityClass):
        return new if new.preemption_policy is not None else replaced(new, preemption_policy=PREEMPT_LOWER_PRIORITY)
    if not isinstance(new, (PodGroup, CompositePodGroup)):
        return new
    changes: dict[str, object] = {}
    if new.spec.disruption_mode is None:
        changes["disruption_mode"] = _SINGLE
    if new.spec.preemption_policy is None and _policy_has_default(gates, minor):
        changes["preemption_policy"] = PREEMPT_LOWER_PRIORITY
    if not changes:
        return new
    return replaced(new, spec=replaced(new.spec, **changes))


def _policy_has_default(gates: Gates, minor: int) -> bool:
    return minor < FIRST_WITHOUT_POLICY_DEFAULT and gates.enabled(GENERIC_WORKLOAD) and gates.enabled(PREEMPTION_POLICY)
