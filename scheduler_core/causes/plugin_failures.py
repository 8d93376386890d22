"""Failures of plugins, which end an attempt: of kube-scheduler's filters, and of placement plugins of other packages."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from scheduler_core.causes.filter_reasons import DeviceAdvice, SearchUnfinished


class PlacementMethod(enum.StrEnum):
    """Methods of placement plugins."""

    GENERATE = "generate"
    """Returns placements by name."""
    SCORE = "score"
    """Returns a number."""
    CHECK = "check"
    """Returns a reason."""


class FilterFailed(Record, frozen=True):
    """Error of a filter of kube-scheduler."""

    plugin: str
    error: str | SearchUnfinished


class PlacementPluginRaised(Record, frozen=True):
    """Placement plugin that raised an exception, *error* with its type.

    *file* and *line* are where the code of the plugin raised it, or called what raised it; empty and None if that is not known.
    """

    plugin: str
    method: PlacementMethod
    error: str
    file: str = ""
    line: int | None = None


class WrongResult(Record, frozen=True):
    """Placement plugin that returned a value of the Python type *returned*, which its method must not return."""

    plugin: str
    method: PlacementMethod
    returned: str


PluginFailure = FilterFailed | PlacementPluginRaised | WrongResult
"""How a plugin failed."""


class AttemptEnded(Record, frozen=True):
    """Error about devices with which kube-scheduler ends the attempt for all pods.

    *others_usable* is True if other nodes or devices can be used; *advice* is how to avoid the error, None if that is not known.
    """

    others_usable: bool
    advice: DeviceAdvice | None


class PluginFailed(Record, frozen=True):
    """Plugin that failed, so that the attempt ended: *failure*; *ended* is what that means if it is about devices."""

    failure: PluginFailure
    ended: AttemptEnded | None = None
