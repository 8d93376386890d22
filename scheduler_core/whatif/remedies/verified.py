"""Tries edits one by one, and keeps those that work."""

from __future__ import annotations

from collections.abc import Hashable

from scheduler_core.causes.changes import Change, MoreThanSums, TakenAhead
from scheduler_core.cluster.group_store import Key
from scheduler_core.model.decision import Step
from scheduler_core.whatif.edits.change_order import order_key
from scheduler_core.whatif.edits.edits import Both, Edit, Widened, disruption
from scheduler_core.whatif.edits.raw_objects import net_changes
from scheduler_core.whatif.remedies.conflict import Conflict
from scheduler_core.whatif.trial.prepared_cluster import Placed
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial

Works = tuple[Edit, tuple[Step, ...]]
"""A change that works, and its steps."""


class Finding:
    """Edits tried for a root, and those that work.

    Attributes:
        subject: the root.
        trial: tries it.
        why: conflicting constraints; an edit that changes none of them is not tried.
        verified: edits that work, with their steps, by subject; one for each subject, the last one, which was searched furthest.
        reasons: why a change that works is larger than the root alone needs.

    """

    def __init__(self, trial: Trial, subject: Subject, *, why: Conflict) -> None:
        self.subject = subject
        self.trial = trial
        self.why = why
        self.verified: dict[Hashable, Works] = {}
        self.reasons: dict[Change, TakenAhead | MoreThanSums] = {}
        self._tried: dict[Change, Placed | None] = {}

    def placed(self, edit: Edit, *, whole: bool = False) -> Placed | None:
        """Return the nodes of the root's pods with *edit*; None if it is not placed, or undecided.  *whole* as in ``Trial.placed``.

        Raises:
            TrialsSpentError: see ``Trial``.

        """
        if not self.why.met_by(edit, self.subject):
            return None
        if (change := edit.change) not in self._tried:
            placed, undecided = self.trial.placed(edit, whole=whole), self.trial.last_undecided
            if undecided:
                return None
            self._tried[change] = placed
        return self._tried[change]

    def keep_if_verified(self, edit: Edit) -> bool:
        """Try *edit*, keep it if it works, and return whether it does."""
        return self.placed(edit) is not None and self.confirm(edit)

    def confirm(self, edit: Edit, about: Hashable = None) -> bool:
        """Keep *edit*, which is expected to work, if its steps do with all earlier roots, and return whether they do."""
        about = about or edit.change
        if about in self.verified and self.verified[about][0].change == edit.change:
            return True
        if not (steps := self.trial.steps(edit)):
            return False
        if not self.trial.concerns_root_alone(edit):
            good = self.trial.holds(edit)
        else:
            # The first try may have placed pods beyond the minimums; one with its own placement state is not repeated.
            good = not self.trial.shares_state(edit) or self.trial.placed(edit) is not None
        if good:
            self.verified[about] = edit, steps
        return good

    def verified_edits(self) -> list[Works]:
        """Return the edits that work, small ones first, each change once.

        One change can be found in two ways: a minimum lowered to the number of members as a missing quorum, and as the largest
        minimum that works.  Of edits with the same steps the largest is kept, as it names all changed groups.  A single
        edit is preferred to a combination with the same steps.  An edit that makes all changes of another one is left out.
        """
        different: list[tuple[Works, dict[Key, Step]]] = []
        for each in sorted(self.verified.values(), key=lambda each: (not isinstance(each[0], Both), each[0].weight), reverse=True):
            changes = net_changes(each[1])
            if all(changes != other for _, other in different):
                different.append((each, changes))
        minimal = (
            each
            for each, changes in different
            if not any(
                other is not each and (changes.items() > fewer.items() or _includes(each[0], other[0])) for other, fewer in different
            )
        )
        return sorted(minimal, key=lambda each: (disruption(each[0]), order_key(each[0].change)))


def _includes(edit: Edit, other: Edit) -> bool:
    """Return whether *edit* combines *other* with another edit, or confines its groups as little, and more groups."""
    match edit, other:
        case Both(), _:
            return any(part.change == other.change or _includes(part, other) for part in (edit.first, edit.second))
        case Widened(), Widened():
            return {*edit.groups} >= {*other.groups} and edit.key in {"", other.key} and edit.change != other.change
    return False
