"""Report of a diagnosis: text about a root and about its pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from scheduler_core.causes.groups import GroupCause, PodCause
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.model.wording import cut
from scheduler_core.wording.greedy_words import greedy_words
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.kube_scheduler import pods_words
from scheduler_core.wording.phrases import LONGEST


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Diagnosis of a root in words, each text of at most 1,000 characters.

    Attributes:
        message: one paragraph about the root.
        pods: text about each pod without a node.
        uncertain: why greedy may have missed a placement; empty if there is certainly none.

    """

    message: str
    pods: Mapping[str, str]
    uncertain: str


def report(cause: GroupCause | None, pods: Mapping[str, PodCause], limits: Sequence[GreedyLimit]) -> Report:
    """Return the causes of a root and of its pods in words."""
    return Report(group_words(cause) if cause is not None else "", pods_words(pods), cut(greedy_words(limits), LONGEST))
