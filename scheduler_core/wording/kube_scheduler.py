"""Causes of single pods, in the words of kube-scheduler 1.37.1."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.causes.groups import FitError, GroupUnschedulable, PodCause
from scheduler_core.model.conditions import BARE
from scheduler_core.model.nouns import SHOWN
from scheduler_core.model.wording import cut
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.phrases import LONGEST

_ELSEWHERE = "node(s) didn't match pod group's topology"
"""Reason for nodes outside the domain that was tried; kube-scheduler omits them from the count."""
_MOST = 2 * SHOWN
"""Maximum number of reasons in a message."""


def pods_words(pods: Mapping[str, PodCause]) -> dict[str, str]:
    """Return the cause of each pod in words; equal pods share their text."""
    known: dict[int, str] = {}
    for each in pods.values():
        if id(each) not in known:
            known[id(each)] = pod_words(each)
    return {pod: known[id(each)] for pod, each in pods.items()}


def pod_words(cause: PodCause) -> str:
    """Return the cause of one pod in kube-scheduler's words."""
    if isinstance(cause, FitError):
        return _fit_error(cause)
    if isinstance(cause, GroupUnschedulable):
        return f"{BARE}, {cut(cause.reason, LONGEST)}" if cause.reason else BARE
    return group_words(cause)


def _fit_error(error: FitError) -> str:
    """Return kube-scheduler's message, counted over all nodes of the cluster."""
    if error.pre_filter:
        return f"0/{error.nodes} nodes are available: {error.pre_filter}."
    shown = [f"{count} {reason}" for reason, count in error.reasons[:_MOST]]
    if rest := error.reasons[_MOST:]:
        shown.append(f"{sum(count for _, count in rest)} node(s) for {len(rest)} more reasons")
    if error.outside:
        shown.append(f"{error.outside} {_ELSEWHERE}")
    return f"0/{error.nodes} nodes are available: {', '.join(shown)}." if shown else f"0/{error.nodes} nodes are available."
