"""Kinds of problems: each one is stated where a problem is made, and its words are those of the JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.render import answer_json
from scheduler_core.model.names import Name
from scheduler_core.model.problem import Problem, ProblemKind, label

ROOT = Path(__file__).parents[3]


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of ``Problem`` in the project, with its position."""
    for path in sorted(each for package in ("muster", "scheduler_core") for each in (ROOT / package).rglob("*.py")):
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "Problem":
                yield f"{path.relative_to(ROOT)}:{each.lineno}", each


def test_every_problem_states_its_kind() -> None:
    silent = [place for place, call in calls() if len(call.args) < 3 and "kind" not in {each.arg for each in call.keywords}]
    assert silent == []
    assert sum(1 for _ in calls()) > 10


def test_every_kind_is_used() -> None:
    sources = [path.read_text(encoding="utf-8") for package in ("muster", "scheduler_core") for path in (ROOT / package).rglob("*.py")]
    used = {name for source in sources for name in re.findall(r"ProblemKind\.([A-Z_]+)", source)}
    assert used == set(ProblemKind.__members__)


@pytest.mark.parametrize("kind", ProblemKind)
def test_words_of_kinds(kind: ProblemKind) -> None:
    assert kind.value == kind.name.lower().replace("_", "-")
    (encoded,) = answer_json.problems_json([Problem("x", "y", kind)])
    assert encoded == {"object": "x", "message": "y", "reason": kind.name.title().replace("_", "")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(Name("Pod", "default", "p"), "Pod default/p", id="in a namespace"),
        pytest.param(Name("Node", "", "n1"), "Node n1", id="cluster-scoped"),
        pytest.param(Name("Pod", "", ""), "Pod", id="without a name"),
    ],
)
def test_an_object_in_problems(name: Name, text: str) -> None:
    assert label(name) == text
    problem = Problem.about(name, ProblemKind.INVALID_FIELD, "why")
    assert problem == Problem(text, "why", ProblemKind.INVALID_FIELD, (name,))


def test_a_problem_of_another_program_needs_two_texts() -> None:
    assert Problem("Node n", "broken").kind is ProblemKind.OTHER_PROGRAM
    assert Problem("Node n", "broken").names == ()


def test_the_documentation_lists_all_reasons() -> None:
    _, _, table = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8").partition("| reason | meaning |\n|---|---|\n")
    listed = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    own = [each for each in ProblemKind if each is not ProblemKind.OTHER_PROGRAM]
    assert listed == [each["reason"] for each in answer_json.problems_json([Problem("x", "y", kind) for kind in own])]
