"""Changes tried one by one, and those kept that work."""

from __future__ import annotations

from scheduler_core.model.decision import Step
from scheduler_core.whatif.edits.edits import Both, Edit
from scheduler_core.whatif.edits.raw_objects import Book, merged, net_changes
from scheduler_core.whatif.remedies.conflict import Conflict
from scheduler_core.whatif.trial.hypothetical_root import supposable
from scheduler_core.whatif.trial.prepared_cluster import Placed
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial

Works = tuple[Edit, tuple[Step, ...]]
"""A change that works, with its steps."""


class Finding:
    """What has been tried for a root, and what was found.

    Attributes:
        subject: the root.
        trial: tries it.
        why: constraints that cannot hold together: a change that leaves all of them alone is not tried.
        found: changes that work, with their steps, by what they are about, of which there is one: the last, as it was searched
            the furthest.

    """

    def __init__(self, book: Book, trial: Trial, subject: Subject, *, why: Conflict) -> None:
        self.subject = subject
        self.trial = trial
        self.why = why
        self.found: dict[str, Works] = {}
        self._book = book
        self._tried: dict[str, Placed | None] = {}

    def placed(self, edit: Edit, *, whole: bool = False) -> Placed | None:
        """Where the root's pods go with *edit*; None if nowhere, or where that is not known.  *whole* as in ``Trial.supposed``.

        Raises:
            TrialsSpentError: see ``Trial``.

        """
        if not self.why.met_by(edit, self.subject):
            return None
        if edit.words not in self._tried:
            found, undecided = self._try(edit, whole=whole), self.trial.last_undecided
            if undecided:
                return None
            self._tried[edit.words] = found
        return self._tried[edit.words]

    def _try(self, edit: Edit, *, whole: bool) -> Placed | None:
        if supposable(edit) and self.trial.knows(edit):
            return self.trial.supposed(edit, whole=whole)
        steps = self._steps(edit)
        return None if steps is None else self.trial.placed(steps)

    def keep_if_verified(self, edit: Edit) -> bool:
        """Try *edit*, and keep it where it works."""
        return self.placed(edit) is not None and self.confirm(edit)

    def confirm(self, edit: Edit, about: str = "") -> bool:
        """Keep *edit*, of which it is supposed that it works, if its steps do, with all the roots before as well."""
        about = about or edit.words
        if about in self.found and self.found[about][0].words == edit.words:
            return True
        if (steps := self._steps(edit)) is None:
            return False
        if not self.trial.concerns_root_alone(steps):
            good = self.trial.places_root(steps)
        else:
            # What is not supposed has been tried by its steps already.
            good = not (supposable(edit) and self.trial.knows(edit)) or self.trial.placed(steps) is not None
        if good:
            self.found[about] = edit, steps
        return good

    def verified_edits(self) -> list[Works]:
        """What was found, from little to much, each change once.

        One change may be come by in two ways: a minimum is lowered to the members there are as what the root lacks, and as the
        most that works.  Of edits with the same steps the largest counts, as its words name all the groups that change; and before
        two edits together the one that does as much by itself.
        """
        different: list[tuple[Works, object]] = []
        for each in sorted(self.found.values(), key=lambda each: (not isinstance(each[0], Both), each[0].weight), reverse=True):
            does = net_changes(each[1])
            if all(does != other for _, other in different):
                different.append((each, does))
        return sorted((each for each, _ in different), key=lambda each: (isinstance(each[0], Both), each[0].weight, each[0].words))

    def _steps(self, edit: Edit) -> tuple[Step, ...] | None:
        steps = edit.steps(self._book)
        return None if not steps else merged(steps)
