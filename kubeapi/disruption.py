"""Disruption budgets of pods."""

from __future__ import annotations

from kubeapi.meta import Int32, ObjectMeta, Struct
from kubeapi.redaction import Name
from kubeapi.selectors import LabelSelector


class PodDisruptionBudgetSpec(Struct, frozen=True, gc=False):
    """policy/v1 PodDisruptionBudgetSpec."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Struct, frozen=True, gc=False):
    """policy/v1 PodDisruptionBudgetStatus."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    disrupted_pods: dict[Name, str] | None = None


class PodDisruptionBudget(Struct, frozen=True, gc=False):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
