"""The table of what is modelled of each controller names a version, a source and tests that exist, for every kind that is read."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.pages import DOCS, ROOT
from workloadbuilder.adapters import kinds

_TESTS = re.compile(r"`([\w/]+\.py)::(\w+)`")


def rows() -> list[list[str]]:
    """Return the cells of each row."""
    _, _, rest = (DOCS / "compile.md").read_text(encoding="utf-8").partition("## What is modelled of each controller\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def functions(path: str) -> set[str]:
    """Return the names of the functions of a test file."""
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_has_a_version_a_source_and_tests_that_exist(row: list[str]) -> None:
    name, modelled, version, source, tests = row
    named = _TESTS.findall(tests)

    assert name
    assert modelled
    assert source
    assert re.search(r" \d+\.\d+", version)
    assert named
    assert ", ".join(f"`{path}::{function}`" for path, function in named) == tests
    assert all(function.startswith("test_") and function in functions(path) for path, function in named)


def test_every_kind_that_is_read_has_a_row() -> None:
    listed = " ".join(row[0] for row in rows())
    of_others = {
        ("scheduling.volcano.sh", "PodGroup"): "PodGroup of Volcano",
        ("scheduling.x-k8s.io", "PodGroup"): "PodGroup of scheduler-plugins",
    }
    of_others |= {("scheduling.run.ai", "PodGroup"): "PodGroup of KAI", ("batch.volcano.sh", "Job"): "Job of Volcano"}

    assert [] == [key for key in (*kinds.KINDS, *kinds.SINGLE) if not re.search(rf"\b{of_others.get(key, key[1])}\b", listed)]
