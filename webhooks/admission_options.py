"""Options of admission: consequence of an error, finalizers to add, and who places the pods that join a group."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from kubeapi.versions import kubernetes_releases
from validators.options import Option, OptionType, items, one_of, scalar
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


class PlacedBy(enum.StrEnum):
    """What lets Muster place a pod that joins a group.

    ``gate``: the sidecar pins the pod and removes its gate; any scheduler binds it.  ``scheduler``: the pod gets the scheduler name of the
    sidecar.  ``none``: nothing; another scheduler places groups.
    """

    GATE = "gate"
    SCHEDULER = "scheduler"
    NONE = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class Joining:
    """How pods join their groups; *scheduler_name* is that of the sidecar."""

    by: PlacedBy
    scheduler_name: str


def _scheduler_name(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


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
PLACED_BY = Option(
    "--placed-by",
    one_of(tuple(PlacedBy), PlacedBy),
    "What lets Muster place the pods that join a group.",
    PlacedBy.GATE.value,
    purpose="what /join sets: gate (the sidecar removes a scheduling gate, and any scheduler binds the pod), scheduler (the scheduler name "
    "of the sidecar) or none",
)
SCHEDULER_NAME = Option("", scalar(_scheduler_name, "NAME"), default="muster", purpose="scheduler name of the sidecar, for /join")
