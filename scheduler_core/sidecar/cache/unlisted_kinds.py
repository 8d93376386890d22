"""Reasons why the objects of a kind are not listed, and what to do: for conditions, events, ``/explain``, ``/readyz`` and the log."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence

from scheduler_core.model import nouns
from scheduler_core.model.wording import cut
from validators.versions.served import resource

_LONGEST = 300


class Cause(enum.Enum):
    """Cause for which the objects of a kind are not listed."""

    NOT_YET = "the first list has not ended, or has failed"
    FORBIDDEN = "the API server forbids to list or watch them"
    NOT_SERVED = "the API server does not serve the kind"


@dataclasses.dataclass(frozen=True, slots=True)
class Unlisted:
    """Status of a kind that is not listed; *error* is that of the last attempt, if it failed."""

    cause: Cause = Cause.NOT_YET
    error: str = ""


def explain_unlisted(kinds: Mapping[str, Unlisted]) -> str:
    """Return why *kinds* are not listed and what to do, one clause for each cause and error."""
    by_status: dict[Unlisted, list[str]] = {}
    for kind, status in kinds.items():
        by_status.setdefault(status, []).append(kind)
    return "; ".join(_clause(status, names) for status, names in by_status.items())


def missing_rule(kinds: Sequence[str]) -> str:
    """Return which rule allows the sidecar to read *kinds*."""
    resources = nouns.listed([*map(_rbac_name, kinds)], len(kinds))
    return f"allow the verbs list and watch for {resources} in the sidecar's ClusterRole"


def _clause(status: Unlisted, kinds: Sequence[str]) -> str:
    names = f"{nouns.listed(kinds, len(kinds))} objects"
    match status.cause:
        case Cause.FORBIDDEN:
            return f"{names} cannot be listed: {missing_rule(kinds)}"
        case Cause.NOT_SERVED:
            return f"the API server does not serve {names}: look at its flag --runtime-config"
    return f"{names} are not listed yet{f': {cut(status.error, _LONGEST)}' if status.error else ''}"


def _rbac_name(kind: str) -> str:
    """Return a resource with its API group, as ``kubectl auth can-i`` writes it."""
    each = resource(kind)
    return f"{each.resource}.{each.group}" if each.group else each.resource
