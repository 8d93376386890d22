"""Options of admission, which the server and ``muster review`` share: consequence of an error, and finalizers to add."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from kubeapi.versions import kubernetes_releases
from validators.options import Option, OptionType, items, one_of
from webhooks.enforcement import Enforcement, EnforcementPolicy


class Finalizers(enum.StrEnum):
    """Protection finalizers added on creation; one that no controller removes must not be added.

    The controllers of Kubernetes remove those that its API server adds; those of CompositePodGroups from 1.38 on.
    """

    AUTO = "auto"
    NONE = "none"
    PODGROUP = "podgroup"
    ALL = "all"

    def resolved(self, minor: int) -> Finalizers:
        """Return the same; for AUTO those that the API server of Kubernetes 1.*minor* adds."""
        if self is not Finalizers.AUTO:
            return self
        return Finalizers.ALL if minor >= kubernetes_releases.FIRST_WITH_COMPOSITE_FINALIZER else Finalizers.PODGROUP


def _enforcement(texts: Sequence[str]) -> EnforcementPolicy:
    """Read modes of enforcement: MODE,ID=MODE.  A mode that is given twice is used as given last."""
    default, by_rule = Enforcement.DENY, dict[str, Enforcement]()
    for part in items(texts):
        name, equals, mode = part.rpartition("=")
        if mode not in tuple(Enforcement) or (equals and not name):
            raise ValueError("must be deny, warn or audit, or ID=deny, ID=warn or ID=audit for a rule, several separated by commas")
        if equals:
            by_rule[name.strip()] = Enforcement(mode)
        else:
            default = Enforcement(mode)
    return EnforcementPolicy(default, tuple(sorted(by_rule.items())))


ENFORCEMENT = Option(
    "--enforcement",
    OptionType(_enforcement, metavar="MODE|ID=MODE", repeatable=True),
    "deny, warn or audit, for all rules or for one (repeatable).",
    Enforcement.DENY.value,
    purpose="consequence of an error: deny, warn (allowed, with a warning) or audit (allowed, recorded); ID=audit for one rule",
)
FINALIZERS = Option(
    "--finalizers",
    one_of(tuple(Finalizers), Finalizers),
    "Protection finalizers added on CREATE; auto: those that the API server adds.",
    Finalizers.AUTO.value,
    purpose="protection finalizers that /mutate adds; auto: those that the API server adds, podgroup, and from Kubernetes 1.38 on all; "
    "before 1.38, use all only if the sidecar removes those of CompositePodGroups",
)
