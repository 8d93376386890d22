"""Causes of a ResourceQuota that refuses new objects, or may refuse them."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from kubeapi.problem import ProblemKind
from kubeapi.resource_names import unit_of_quota
from scheduler_core.model.names import Name
from scheduler_core.model.resource_values import Quantity


@dataclasses.dataclass(frozen=True, slots=True)
class QuotaExceeded:
    """New objects that need more of a resource than a ResourceQuota leaves.

    Attributes:
        quota: the ResourceQuota.
        quota_resource: name of the resource in the ResourceQuota.
        free: amount that it leaves.
        needed: amount that the new objects need together.
        may_exist: True if it may count some of the objects already, so that there would be enough.

    """

    quota: Name
    quota_resource: str
    free: Quantity
    needed: Quantity
    may_exist: bool = False

    @property
    def problem_kind(self) -> ProblemKind:
        """Return whether the quota refuses the objects, or may refuse them."""
        return ProblemKind.QUOTA_UNKNOWN if self.may_exist else ProblemKind.REFUSED

    @property
    def resource(self) -> str:
        """Return the resource in whose units the amounts are."""
        return unit_of_quota(self.quota_resource)


@dataclasses.dataclass(frozen=True, slots=True)
class QuotaRequiresAmounts:
    """Pods with a container that lacks requests or limits that a ResourceQuota limits.

    Attributes:
        quota: the ResourceQuota.
        quota_resources: names of their resources in the ResourceQuota.

    """

    problem_kind: ClassVar = ProblemKind.REFUSED
    quota: Name
    quota_resources: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectsUncounted:
    """Objects that a ResourceQuota counts, and that a controller creates in an unknown number.

    Attributes:
        quota: the ResourceQuota.
        quota_resource: name of the resource in the ResourceQuota.

    """

    problem_kind: ClassVar = ProblemKind.QUOTA_UNKNOWN
    quota: Name
    quota_resource: str


QuotaCause = QuotaExceeded | QuotaRequiresAmounts | ObjectsUncounted
"""Why a ResourceQuota refuses new objects; ``ObjectsUncounted`` and, with *may_exist*, ``QuotaExceeded`` say that it may refuse them."""
