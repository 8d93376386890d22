"""Problem: an input object that cannot be used, or not in full, and what is said about an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from scheduler_core.causes.input_problems import InputProblem, KindNotServed, NodeUnknown, ObjectLeftOut
from scheduler_core.causes.quotas import QuotaCause
from scheduler_core.causes.request_notes import FieldsUnreadable, RequestNote
from scheduler_core.model.names import Name
from scheduler_core.model.problem_kind import ProblemKind

ProblemFact = InputProblem | RequestNote | QuotaCause
_NAMES_KIND = ObjectLeftOut | KindNotServed | NodeUnknown | FieldsUnreadable
"""Facts with a message that names the kind of their object."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Problem or note about objects, or about a place.

    Attributes:
        fact: what is wrong, or said.
        names: all objects that it is about; cluster-scoped objects have an empty namespace.
        place: where it is if it is about no object, such as a file with a line, the path of an API, or a part of Kubernetes.

    """

    fact: ProblemFact
    names: tuple[Name, ...] = ()
    place: str = ""

    @classmethod
    def about(cls, name: Name, fact: ProblemFact) -> Problem:
        """Return the problem of one object."""
        return cls(fact, (name,))

    @property
    def kind(self) -> ProblemKind:
        """Return the kind, by which programs decide."""
        return self.fact.problem_kind


def grouped(problems: Iterable[Problem]) -> list[list[Problem]]:
    """Return lists of problems with the same fact, which one message can tell, in the order of the first ones."""
    groups: dict[tuple[ProblemFact, str], list[Problem]] = {}
    for problem in problems:
        kind = problem.names[0].kind if problem.names and isinstance(problem.fact, _NAMES_KIND) else ""
        groups.setdefault((problem.fact, kind), []).append(problem)
    return [*groups.values()]


def in_order(problems: set[Problem]) -> tuple[Problem, ...]:
    """Return *problems* in an order that depends on nothing but their content."""
    return tuple(sorted(problems, key=lambda each: ([*map(dataclasses.astuple, each.names)], each.place, repr(each.fact))))
