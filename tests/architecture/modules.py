"""Source files of the project with their imports."""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.architecture.tables import PACKAGES

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """One imported name; absolute if it names a module of this project."""

    target: str
    line: int
    level: int = 0

    @property
    def package(self) -> str:
        return self.target.partition(".")[0]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One source file with its syntax tree, all nodes of the tree, and imports."""

    file: str
    lines: int
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    imports: tuple[Import, ...]

    @property
    def name(self) -> str:
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    def at(self, line: int, text: str) -> str:
        return f"{self.file}:{line}: {text}"


@functools.cache
def modules_of_project() -> tuple[Module, ...]:
    """Return all modules of the product; they are parsed once in a process."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    paths = (*files, ROOT / "muster_scheduling.py")
    return tuple(read_modules({path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}))


def read_modules(sources: Mapping[str, str]) -> list[Module]:
    """Return the modules of *sources*, a mapping from file names to texts."""
    names = {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in sources}
    modules = []
    for file, text in sorted(sources.items()):
        tree = ast.parse(text, file)
        nodes = tuple(ast.walk(tree))
        modules.append(Module(file, text.count("\n"), tree, nodes, tuple(imports_of(nodes, names))))
    return modules


def imports_of(nodes: Iterable[ast.AST], names: set[str]) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            for each in node.names:
                inner = f"{origin}.{each.name}"
                yield Import(inner if inner in names else origin, node.lineno, node.level)
        elif isinstance(node, ast.Call) and called(node) in {"__import__", "importlib.import_module", "import_module"}:
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield Import(argument.value, node.lineno)


def called(node: ast.Call) -> str:
    """Return the dotted name of the called function, at most its last two parts."""
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        owner = function.value
        before = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        return f"{before}.{function.attr}"
    return ""


def matches(file: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(file, pattern) for pattern in patterns)
