"""Smaller minimums of groups, reduced as little as works."""

from __future__ import annotations

from scheduler_core.diagnosis.bisection import largest
from scheduler_core.whatif.edits.edits import Edit, Lowered, Quorum, combine
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.subject import SubjectGroup


def keep_lowered(finding: Finding, group: SubjectGroup, first: Edit | None = None, *, above: int = 0) -> None:
    """Try minimums of *group* above *above*, and keep the largest that works."""
    if not group.gang or group.fixed or group.minimum - 1 <= above:
        return

    def lowered(minimum: int) -> Edit:
        return combine(first, Lowered(group.name, group.minimum, minimum))

    placed = finding.placed(lowered(above + 1), whole=True)
    if placed is None:
        return
    placed_pods = {pod for pod, _ in placed}
    count = sum(pod.key in placed_pods for pod in group.waiting) + group.members - len(group.waiting)
    likely = min(max(above + 1, count if group.name.kind == "PodGroup" else 0), group.minimum - 1)
    best = largest(above + 1, group.minimum - 1, likely, lambda each: finding.placed(lowered(each)) is not None)
    finding.confirm(lowered(best), lowered(0).change)


def keep_alike(finding: Finding, group: SubjectGroup, capacity: int) -> None:
    """Try one minimum for *group* and all equal siblings, if lowering one of them is not enough; *capacity* is a first guess."""
    equal = [each for each in finding.subject.groups if each.symmetry_key == group.symmetry_key]
    if len(equal) < 2 or any(isinstance(edit, Lowered) and edit.group == group.name for edit, _ in finding.verified.values()):
        return

    def lowered(minimum: int) -> Edit:
        return Quorum(tuple(Lowered(each.name, each.minimum, minimum) for each in equal))

    if group.gang and not group.fixed and group.minimum > 1 and finding.placed(lowered(1)) is not None:
        likely = min(max(1, capacity), group.minimum - 1)
        best = largest(1, group.minimum - 1, likely, lambda each: finding.placed(lowered(each)) is not None)
        finding.confirm(lowered(best), lowered(0).change)
