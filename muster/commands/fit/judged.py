"""Everything known about the objects at PATH after all trials: the verdict, the answer, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from expansion.rollouts.play import Outcome
from kubeapi.base_structs import Record, record_field
from muster.commands.fit.change_for_all import of_person
from muster.commands.fit.verdict import Verdict
from muster.render.answer import Answer
from muster.render.object_results import PLACED, Kind, ObjectResult, object_results, worst_first
from muster.render.tree_rows import Kinship
from muster.render.verdict_words import VerdictWords
from scheduler_core.model.decision import Remedy
from scheduler_core.model.names import Name
from scheduler_core.wording.titles import short_title

if TYPE_CHECKING:
    from expansion.scaling import ScaledField
    from muster.commands.fit.rollout_trial import JudgedRollout
    from scheduler_core.cycle.run_cycle import CycleOptions
    from scheduler_core.model.snapshot import ClusterSnapshot
    from scheduler_core.whatif.remedies.smallest_change import SmallestChange


class Judged(Record, frozen=True):
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
    origins: Mapping[Name, Name] = record_field(default_factory=dict)
    minimums: Mapping[Name, str | None] = record_field(default_factory=dict)
    rollouts: tuple[JudgedRollout, ...] = ()
    scales: tuple[Scale, ...] = ()
    is_gang_requested: bool = False

    def words(self) -> VerdictWords:
        """Return the words about PATH, with the objects that a person wrote."""
        removed = None if self.change is None else self.change.remedy.change
        return VerdictWords(self.own, self.origins, self.kinship, removed, short_title, of_person=True)

    def in_words(self, remedy: Remedy) -> str:
        """Return a remedy in words, about the objects that a person wrote."""
        return of_person(remedy, self.origins, self.minimums, short_title)

    def update_of(self, name: Name) -> JudgedRollout | None:
        """Return the update of the running object that the object *name* replaces."""
        return next((each for each in self.rollouts if each.origin == name), None)

    @property
    def evicted_by_updates(self) -> list[str]:
        """Return the pods that are evicted during updates."""
        return sorted({pod for each in self.rollouts for pod in each.victims})

    def results(self) -> list[ObjectResult]:
        """Return the result of each object at PATH, the worst first; if all fit, updates are finished and can keep old pods."""
        by_name = {each.name: each for each in object_results(self.own, self.origins)}
        for update in self.rollouts:
            result = by_name.setdefault(update.origin, ObjectResult(update.origin))
            result.kind = _with_update(result.kind, update, kept=self.verdict.kind is Kind.FITS)
        return worst_first(by_name.values())


def _with_update(kind: Kind, update: JudgedRollout, *, kept: bool) -> Kind:
    """Return the verdict about an object with its update; *kept*: one that is finished keeps those old pods whose new ones have no place."""
    if kept and update.is_finished:
        return Kind.FITS
    if kind not in PLACED:
        return kind
    during = Kind.AFTER_EVICTION if update.victims else kind
    return {Outcome.HANGS: Kind.DOES_NOT_FIT, Outcome.TOO_LONG: Kind.UNDECIDED}.get(update.played.outcome, during)


class Scale(Record, frozen=True):
    """Limit up to which a field can be raised.

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
