"""Checks of the project as a whole: size and shape of its modules, schemas, packaging, text."""

from __future__ import annotations

import ast
import fnmatch
import functools
import importlib
import importlib.metadata
import importlib.resources
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from packaging.specifiers import SpecifierSet

import muster
from kubeapi.versions import served_versions
from muster import cli
from tests.architecture.modules import modules_of_project
from tests.cluster import conftest as cluster
from tests.conftest import LONG

ROOT = Path(__file__).parent.parent
PACKAGES = ("kubeapi", "validators", "apiserver", "webhooks", "certs", "workloadbuilder", "expansion", "scheduler_core", "muster")
LONGEST_BODY = 40
LONGEST_NOTES = 60
"""Lines of the release notes of one version."""

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGED = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

NOT_OF_THE_PROJECT = frozenset({"build", "dist", "__pycache__", "node_modules"})
TOLD_ELSEWHERE = tuple(
    # Written in two parts, so that this file does not say what it looks for.
    re.compile(first + second)
    for first, second in (
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/tmp/b", r"(riefs|ash)"),
        (r"\.\./sha", "red"),
        ("(?i)issue ", "#"),
        ("/opt/wh", "eels"),
    )
)
"""Words of a machine or a workplace that must not be in the project."""


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _long_bodies(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > LONGEST_BODY:
                yield node.lineno, f"{node.name}: {lines} lines"


@functools.cache
def _of_the_project() -> tuple[Path, ...]:
    """Return every file of the project; hidden directories except .ci and .github belong to tools."""
    files = []
    for folder, below, names in os.walk(ROOT):
        # Pruned here: a virtual environment has many more files than the project.
        below[:] = [name for name in below if _is_ours(name) and (not name.startswith(".") or name in {".ci", ".github"})]
        files += [Path(folder, name) for name in names if _is_ours(name)]
    return tuple(sorted(files))


def _is_ours(name: str) -> bool:
    return name not in NOT_OF_THE_PROJECT and not name.endswith(".egg-info")


def test_every_module_says_what_it_is_for():
    silent = [module.file for module in modules_of_project() if not ast.get_docstring(module.tree)]
    assert silent == []


def test_functions_are_short():
    long = [module.at(line, text) for module in modules_of_project() for line, text in _long_bodies(module.nodes)]
    assert long == []


@pytest.mark.parametrize(("lines", "want"), [pytest.param(40, [], id="40 lines"), pytest.param(41, [(1, "f: 41 lines")], id="41 lines")])
def test_length_of_a_function_is_counted_without_its_docstring(lines, want):
    source = 'def f():\n    """One.\n\n    Two."""\n' + "    x = 1\n" * lines
    assert want == list(_long_bodies(ast.walk(ast.parse(source))))


@pytest.mark.parametrize("kind", ["Workload", "PodGroup"])
def test_served_versions_share_a_schema_that_is_installed(kind):
    schemas = importlib.resources.files("validators") / "schemas"
    (name,) = {served_versions.schema_of(each, kind) for each in served_versions.versions_served(kind, 37)}

    assert (schemas / f"{name}.json").is_file()


def test_every_directory_of_code_is_a_package_that_is_installed():
    patterns = PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    directories = sorted({path.parent for path in PACKAGED})

    assert [_named(each) for each in directories if not (each / "__init__.py").exists()] == []
    names = [_named(each).replace("/", ".") for each in directories]
    assert [name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)] == []


def test_every_other_file_of_a_package_is_installed_with_it():
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]
    left_out = []
    for package in PACKAGES:
        top = ROOT / package
        packaged = {path for pattern in patterns.get(package, ()) for path in top.glob(pattern)}
        left_out += [
            _named(path) for path in _of_the_project() if path.is_relative_to(top) and path.suffix != ".py" and path not in packaged
        ]
    assert left_out == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_the_names_that_it_gives(package):
    """``__all__`` is sorted and complete, and each of its names exists."""
    module = importlib.import_module(package)
    tree = ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))
    assigned = {each.id for node in tree.body if isinstance(node, ast.Assign) for each in node.targets if isinstance(each, ast.Name)}
    imported = {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
    public = {name for name in assigned | imported if not name.startswith("_")} - {"annotations", "Any", "TYPE_CHECKING"}
    listed = getattr(module, "__all__", [])

    assert (ROOT / package / "py.typed").is_file()
    assert sorted(listed) == listed
    assert {name for name in listed if not hasattr(module, name)} == set()
    assert {*listed} == public


def test_every_pattern_of_package_files_finds_some():
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]
    empty = [f"{package}: {each}" for package, listed in patterns.items() for each in listed if not any((ROOT / package).glob(each))]
    assert empty == []


def test_version_is_the_newest_in_the_changelog():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert PYPROJECT["project"]["version"] == headings[0] == muster.__version__


def test_release_notes_are_short_and_name_commands_that_exist():
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [] == [each.splitlines()[0] for each in sections if len(each.splitlines()) > LONGEST_NOTES]

    named = set(re.findall(r"`muster (\w+)", sections[-1]))
    assert set(cli.SUBCOMMANDS) == named
    options = {option for name in named for each in _options(cli.main.get_command(click.Context(cli.main), name)) for option in each}
    assert set() == set(re.findall(r"`(--[\w-]+)", sections[-1])) - options


def _options(command):
    """Yield the options of a command and of those below it."""
    yield from (each.opts for each in command.params)
    for each in getattr(command, "commands", {}).values():
        yield from _options(each)


def test_lock_holds_every_dependency_at_one_version():
    project = PYPROJECT["project"]
    listed = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    declared = [each for each in listed if not each.startswith(f"{project['name']}[")]
    lines = (ROOT / "requirements-ci.txt").read_text(encoding="utf-8").splitlines()
    locked = [line for line in lines if line and not line.startswith("#")]

    assert [line for line in locked if not re.fullmatch(r"[a-z0-9-]+==[\w.]+(?: ; .+)?", line)] == []
    names = {line.partition("==")[0] for line in locked}
    expected = {re.split(r"[<>=!~\[; ]", each, maxsplit=1)[0].lower().replace("_", "-") for each in declared}
    assert expected <= names


def test_lock_can_be_installed_with_the_oldest_python():
    oldest = PYPROJECT["project"]["requires-python"].removeprefix(">=") + ".0"
    lines = (ROOT / "requirements-ci.txt").read_text(encoding="utf-8").splitlines()
    named = [line.partition("==")[0] for line in lines if line and not line.startswith("#")]
    needed = {name: importlib.metadata.metadata(name).get("Requires-Python") or "" for name in named}
    assert {name: each for name, each in needed.items() if not SpecifierSet(each).contains(oldest)} == {}


def test_text_speaks_of_the_project_only():
    messages = []
    for path in _of_the_project():
        text = path.read_bytes().decode("utf-8", "replace")
        messages += [f"{_named(path)}: {result.group()}" for pattern in TOLD_ELSEWHERE for result in pattern.finditer(text)]
    assert messages == []


@pytest.mark.parametrize("text", ["see /wo" + "rk/main", "cd /ro" + "ot/x", "as iss" + "ue #3 asks", "in ../sha" + "red/spec"])
def test_text_of_a_workplace_is_seen(text):
    assert any(pattern.search(text) for pattern in TOLD_ELSEWHERE)


def test_files_of_live_tests_that_are_named_exist():
    names = {each.name.removeprefix("test_").removesuffix(".py") for each in (ROOT / "tests/cluster").glob("test_*.py")}
    assert {*cluster.TABLES, *cluster.MINUTES} <= names
    assert not set(cluster.TABLES) & set(cluster.MINUTES)
    assert [each for each in LONG if not (ROOT / each).exists()] == []


class Item(NamedTuple):
    """Stands in for a collected test."""

    nodeid: str


def test_the_first_live_test_of_a_file_is_left_and_all_of_a_table():
    nodeids = ["why.py::test_a", "why.py::test_b[x]", "soak.py::test_a", "definitions.py::test_a[x]", "definitions.py::test_a[y]"]
    items = [Item(f"{folder}/test_{each}") for folder in ("tests/cluster", "tests/muster") for each in nodeids]
    assert [each.nodeid for each in items if each not in cluster.not_first(items)] == [
        items[0].nodeid,
        *(each.nodeid for each in items[3:]),
    ]
