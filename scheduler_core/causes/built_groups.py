"""Reasons for which no groups are built for an object, and the results of building them."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from scheduler_core.model.names import Name


class NotBuiltReason(enum.StrEnum):
    """Reason why no groups are built for an object."""

    NOT_ASKED = "not-asked"
    OWNED = "owned"
    """Its controller is an object for which groups are built."""
    SUSPENDED = "suspended"
    MADE_BY_CONTROLLER = "made-by-controller"
    """Its controller has created a Workload."""
    NOT_STARTED = "not-started"
    """Its controller may create its groups, and does that before it starts the object."""
    OTHER_SCHEDULER = "other-scheduler"
    NO_GROUP = "no-group"
    CONFUSED = "confused"
    """Pods of two groups, or of a group and of none, have the same labels."""
    INVALID = "invalid"


EXPECTED = frozenset(
    {
        NotBuiltReason.NOT_ASKED,
        NotBuiltReason.OWNED,
        NotBuiltReason.SUSPENDED,
        NotBuiltReason.MADE_BY_CONTROLLER,
        NotBuiltReason.NOT_STARTED,
    }
)
"""Reasons that are as the user wants it, or as another controller does it."""


class NotBuilt(Record, frozen=True):
    """Object without groups.

    Attributes:
        errors: field paths, empty for the object itself, and errors.
        schedulers: schedulers of its pods that are not ours.
        groups: names of groups whose pods have the same labels, empty for pods without a group.
        detail: why ``workloadbuilder`` finds no group.

    """

    why: NotBuiltReason
    errors: tuple[tuple[str, str], ...] = ()
    schedulers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    detail: str = ""


class GroupsRefused(Record, frozen=True):
    """Groups that the API server did not accept, with its error."""

    error: str


class GroupsOutdated(Record, frozen=True):
    """Groups and Workloads that change only when pods of old groups are gone."""

    outdated: tuple[Name, ...]


class GroupsCreated(Record, frozen=True):
    """Groups of an object, of this number, with their Workload."""

    count: int
    api_group: str


GroupsCause = NotBuilt | GroupsRefused | GroupsOutdated | GroupsCreated
