"""Status of a root, or of a group below it, after a cycle."""

from __future__ import annotations

import enum


class Status(enum.StrEnum):
    """Result for a root, or for a group below it."""

    SUCCESS = "Success"
    WAIT = "Wait"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    INVALID = "Invalid"
    ERROR = "Error"
