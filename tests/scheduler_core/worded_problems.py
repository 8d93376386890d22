"""Problems in words, as reports show them."""

from __future__ import annotations

from collections.abc import Iterable

import scheduler_core
from kubeapi.problem import Problem
from muster.render.problem_words import shown_order


def worded(problems: Iterable[Problem]) -> list[scheduler_core.Problem]:
    """Return *problems* in words, sorted by object and message."""
    return [scheduler_core.Problem.worded(each) for each in sorted(problems, key=shown_order)]
