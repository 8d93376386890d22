"""Groups that demand less, as little less as works."""

from __future__ import annotations

from scheduler_core.whatif.edits.edits import Edit, Lowered, Quorum, combine
from scheduler_core.whatif.remedies.bisection import largest
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.subject import SubjectGroup


def keep_lowered(finding: Finding, group: SubjectGroup, first: Edit | None = None, *, above: int = 0) -> None:
    """The largest minimum below the group's, and over *above*, that works."""
    if not group.gang or group.minimum - 1 <= above:
        return

    def lowered(minimum: int) -> Edit:
        return combine(first, Lowered(group.name, group.minimum, minimum))

    placed = finding.placed(lowered(above + 1), whole=True)
    if placed is None:
        return
    there = {pod for pod, _ in placed}
    count = sum(pod.key in there for pod in group.waiting) + group.members - len(group.waiting)
    likely = min(max(above + 1, count if group.name.kind == "PodGroup" else 0), group.minimum - 1)
    best = largest(above + 1, group.minimum - 1, likely, lambda each: finding.placed(lowered(each)) is not None)
    finding.confirm(lowered(best), lowered(0).words)


def keep_alike(finding: Finding, group: SubjectGroup, room: int) -> None:
    """The same for *group* and all its siblings that are like it, where lowering one of them is not enough; *room* is a first guess."""
    alike = [each for each in finding.subject.groups if each.likeness == group.likeness]
    if len(alike) < 2 or any(isinstance(edit, Lowered) and edit.group == group.name for edit, _ in finding.found.values()):
        return

    def lowered(minimum: int) -> Edit:
        return Quorum(tuple(Lowered(each.name, each.minimum, minimum) for each in alike))

    if group.gang and group.minimum > 1 and finding.placed(lowered(1)) is not None:
        likely = min(max(1, room), group.minimum - 1)
        best = largest(1, group.minimum - 1, likely, lambda each: finding.placed(lowered(each)) is not None)
        finding.confirm(lowered(best), lowered(0).words)
