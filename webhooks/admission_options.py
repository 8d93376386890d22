"""Options of admission, which the server and ``muster review`` share: consequence of an error, and finalizers to add."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from validators.options import Option, OptionType, items, one_of
from webhooks.enforcement import Enforcement, EnforcementPolicy


class Finalizers(enum.StrEnum):
    """Protection finalizers added on creation; one that no controller removes must not be added."""

    NONE = "none"
    PODGROUP = "podgroup"
    ALL = "all"


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
    "Protection finalizers added on CREATE; use 'all' only if a controller removes those of CompositePodGroups.",
    Finalizers.PODGROUP.value,
)
