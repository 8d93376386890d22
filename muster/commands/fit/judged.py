"""Everything known about the objects at PATH after all trials: the verdict, the answer, and what helps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from muster.commands.fit.verdict import Verdict
from muster.render.answer import Answer
from muster.render.tree_rows import Kinship
from scheduler_core.model.names import Name

if TYPE_CHECKING:
    from expansion.scaling import ScaledField
    from muster.commands.fit.rollout_trial import JudgedRollout
    from scheduler_core.cycle.run_cycle import CycleOptions
    from scheduler_core.model.snapshot import ClusterSnapshot
    from scheduler_core.whatif.remedies.smallest_change import SmallestChange


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """Verdict about PATH, with the whole answer, the part about PATH, and the cluster.

    Attributes:
        verdict: the verdict.
        answer: decisions about the whole cluster.
        own: the part of *answer* about PATH.
        snapshot: the cluster.
        kinship: groups and pods by parent.
        options: those of the cycles.
        change: a change with which everything at PATH fits; None if none was found.
        origins: the object at PATH of each group and pod that was created for it.
        minimums: the fields of these objects that set minimums, by group.
        rollouts: the updates of running objects.
        scales: how far objects can be scaled; only if requested.
        is_gang_requested: True if pods are judged as one gang on request, so that no field of an object has its minimum.

    """

    verdict: Verdict
    answer: Answer
    own: Answer
    snapshot: ClusterSnapshot
    kinship: Kinship
    options: CycleOptions
    change: SmallestChange | None = None
    origins: Mapping[Name, Name] = dataclasses.field(default_factory=dict)
    minimums: Mapping[Name, str | None] = dataclasses.field(default_factory=dict)
    rollouts: tuple[JudgedRollout, ...] = ()
    scales: tuple[Scale, ...] = ()
    is_gang_requested: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """How far a field can be raised.

    Attributes:
        field: the field, with its value and its range.
        largest: the largest value with which everything at PATH fits without evictions; None if none does.
        is_limit: whether no larger value is allowed, or was tried.
        more: the result with one more; None at the limit.

    """

    field: ScaledField
    largest: int | None
    is_limit: bool
    more: Judged | None = None
