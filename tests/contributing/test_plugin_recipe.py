"""The recipe for a plugin in the tree, followed literally in a copy of the packages that it changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import pages

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "docs/contributing/plugin.md").read_text(encoding="utf-8").partition("## A plugin in the tree")[2]
BLOCKS = re.findall(r'^```(?:python|text) title="([^"]+)"\n(.*?)^```$', RECIPE, re.MULTILINE | re.DOTALL)
"""Titles and texts: a new file, an import, or lines at the end of a class or a tuple."""
CHECKS = ("placement", "preemption", "diagnosis", "page", "sidecar", "snapshots", "what_if")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("tree")
    changed = {title.partition(":")[0].partition("/")[0] for title, _ in BLOCKS}
    for package in sorted(changed):
        shutil.copytree(ROOT / package, there / package, ignore=shutil.ignore_patterns("__pycache__"))
    for title, block in BLOCKS:
        name, _, place = title.partition(": ")
        file = there / name
        file.write_text(pages.followed(file.read_text(encoding="utf-8"), place, block) if file.exists() else block, encoding="utf-8")
    return there


def test_the_recipe_changes_few_files():
    assert len({title.partition(":")[0] for title, _ in BLOCKS}) <= 5


def test_the_plugin_is_used_by_everything(tree):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree), str(ROOT)))}
    script = ROOT / "tests/contributing/licences.py"
    done = subprocess.run([sys.executable, "-P", script], env=environment, cwd=tree, capture_output=True, text=True, check=False)

    assert (CHECKS, "", 0) == (tuple(done.stdout.split()), done.stderr, done.returncode)
