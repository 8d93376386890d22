"""Wording of what became of the groups of an object: reason and message of an event."""

from __future__ import annotations

from scheduler_core.causes.built_groups import GroupsCause, GroupsCreated, GroupsOutdated, GroupsRefused, NotBuilt, NotBuiltReason
from scheduler_core.wording.nouns import counted

_SHOWN = 3
"""Maximum number of objects that are named."""


def event(cause: GroupsCause) -> tuple[str, str, str]:
    """Return type, reason and message of the event about *cause*."""
    match cause:
        case GroupsCreated():
            return "Normal", "GroupsCreated", f"created a Workload of {cause.api_group} with {counted(cause.count, 'group')}"
        case GroupsOutdated():
            return "Warning", "GroupsOutdated", _outdated(cause)
        case GroupsRefused():
            return "Warning", "GroupsNotCreated", f"the API server did not accept the groups: {cause.error}"
        case NotBuilt():
            return "Warning", "GroupsNotCreated", not_built_words(cause)


def not_built_words(cause: NotBuilt) -> str:
    """Return why an object gets no groups."""
    words = _REASONS[cause.why]
    told = [*(f"{path}: {text}" if path else text for path, text in cause.errors), *cause.schedulers, cause.detail]
    told += [each or "pods without a group" for each in cause.groups]
    details = "; ".join(filter(None, told))
    return f"{words}: {details}" if words and details else words or details


_REASONS = {
    NotBuiltReason.NOT_ASKED: "its groups are not asked for",
    NotBuiltReason.OWNED: "its pods are in the groups of its controller",
    NotBuiltReason.SUSPENDED: "it is suspended",
    NotBuiltReason.MADE_BY_CONTROLLER: "its controller creates its groups",
    NotBuiltReason.NOT_STARTED: "its controller has not started it, and may create its groups",
    NotBuiltReason.OTHER_SCHEDULER: "its pods are of another scheduler",
    NotBuiltReason.NO_GROUP: "it has no group",
    NotBuiltReason.CONFUSED: "the pods of different groups have the same labels",
    NotBuiltReason.INVALID: "",
}


def _outdated(cause: GroupsOutdated) -> str:
    named = ", ".join(f"{each.kind} {each.name}" for each in cause.outdated[:_SHOWN])
    more = f" and {len(cause.outdated) - _SHOWN} more" if len(cause.outdated) > _SHOWN else ""
    return f"{named}{more} changed, and will be replaced when the pods of the old groups are gone"
