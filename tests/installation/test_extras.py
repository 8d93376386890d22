"""Libraries that each command needs, and the extras that install them."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from muster import cli, extras
from tests.architecture.modules import Module, modules_of_project
from tests.architecture.tables import EDGES

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEVELOPMENT = {"dev"}
EXTRA_OF = {
    "simulate": "simulate",
    "fit": "simulate",
    "topology": "simulate",
    "lsp": "editor",
    "snapshot": "cluster",
    "serve": "webhooks",
    "sidecar": "sidecar",
    "certs": "webhooks",
    "doctor": "webhooks",
    "why": "sidecar",
    "demo": "all",
}
"""Commands that need an extra, each with its extra; ``snapshot`` needs it only for a live cluster."""
EXTRA_OF_LIVE = {"doctor": "sidecar", "fit": "cluster", "lint": "cluster", "migrate": "cluster", "topology": "cluster"}
"""Commands that need a further extra for a live cluster; ``doctor`` also for a sidecar in files."""

WHERE_INSTALLED = dict.fromkeys(("lint", "lsp", "tree"), frozenset({"cel_expr_python", "re2"})) | {"why": frozenset({"jinja2"})}
"""Libraries that commands use only where they are installed: compilers of device selectors.  ``why`` reaches the pages of ``simulate``,
but writes none."""


@functools.cache
def packages_distributions() -> Mapping[str, list[str]]:
    """Return the installed distributions of each module; each is read for that."""
    return metadata.packages_distributions()


def modules_of(requirements: list[str]) -> set[str]:
    """Return the modules that *requirements* install, including those of our own extras."""
    names = {canonicalize_name(each.name) for each in map(Requirement, requirements)} - {PROJECT["name"]}
    ours = {*EDGES, "httptools"}
    return {module for module, owners in packages_distributions().items() if {*map(canonicalize_name, owners)} & names} & ours


def for_types_only(tree: ast.Module) -> set[int]:
    """Return the lines below ``if TYPE_CHECKING``, which stands at the top of a module."""
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {line for block in blocks for each in block.body for line in range(each.lineno, (each.end_lineno or 0) + 1)}


def libraries_reached(tree: dict[str, Module], start: str) -> set[str]:
    """Return every library that a module imports, directly or through other modules."""
    seen, waiting, libraries = set(), [start], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting += [parent for parent in (name.rpartition(".")[0],) if parent in tree]
        skipped = for_types_only(tree[name].tree)
        for each in tree[name].imports:
            if each.line in skipped:
                continue
            waiting += [each.target] if each.target in tree else []
            libraries |= {each.package} & set(EDGES)
    return libraries


@pytest.fixture(scope="module")
def tree() -> dict[str, Module]:
    return {module.name: module for module in modules_of_project()}


@pytest.mark.parametrize("command", cli.SUBCOMMANDS)
def test_a_command_reaches_no_library_that_its_extra_does_not_install(command: str, tree: dict[str, Module]) -> None:
    module = cli.SUBCOMMANDS[command].at.partition(":")[0]

    allowed = modules_of(PROJECT["dependencies"]) | extras.libraries(EXTRA_OF.get(command, ""))
    allowed |= extras.libraries(EXTRA_OF_LIVE.get(command, "")) | WHERE_INSTALLED.get(command, frozenset())
    assert libraries_reached(tree, module) - allowed == set()


def test_the_table_of_extras_is_that_of_the_project() -> None:
    declared = PROJECT["optional-dependencies"]

    assert {*extras.LIBRARIES, "all"} | DEVELOPMENT == set(declared)
    assert {name: set(listed) for name, listed in extras.LIBRARIES.items()} == {
        name: modules_of(declared[name]) for name in extras.LIBRARIES
    }
    assert set(EXTRA_OF.values()) == {*extras.LIBRARIES, "all"}


@pytest.mark.parametrize("extra", ["webhooks", "sidecar", "all"])
def test_included_extras_are_those_of_the_project(extra: str) -> None:
    own = [each for each in map(Requirement, PROJECT["optional-dependencies"][extra]) if each.name == PROJECT["name"]]
    included = {name for each in own for name in each.extras}

    assert extras.libraries(extra) == {*extras.LIBRARIES.get(extra, ()), *(lib for name in included for lib in extras.libraries(name))}


def test_every_requirement_has_a_lower_and_an_upper_bound() -> None:
    listed = [*PROJECT["dependencies"], *(each for extra in PROJECT["optional-dependencies"].values() for each in extra)]

    assert [each for each in listed if Requirement(each).name != PROJECT["name"] and not re.search(r">=[\d.]+,<[\d.]+(?:;|$)", each)] == []


def test_the_hook_for_commits_installs_the_small_set() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    assert (hook["language"], hook["entry"], "additional_dependencies" in hook) == ("python", "muster lint", False)
    assert "lint" not in EXTRA_OF


def test_the_demonstration_is_installed_whole_and_from_the_lock() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert "--constraint $(LOCK) --editable '.[all]'" in makefile
    assert "LOCK := requirements-ci.txt" in makefile
