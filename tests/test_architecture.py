"""Who may import whom, held by reading the source of every module.

The tables come first and are the documentation: to move a wall, change the table here and docs/architecture.md with it.
"""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import graphlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PACKAGES: dict[str, frozenset[str]] = {
    "validators": frozenset(),
    "certs": frozenset(),
    "apiserver": frozenset(),
    "webhooks": frozenset({"validators", "apiserver"}),
    "workloadbuilder": frozenset({"validators"}),
    "scheduler_core": frozenset({"validators", "apiserver"}),
    "muster": frozenset({"validators", "webhooks", "certs", "apiserver", "workloadbuilder", "scheduler_core", "muster_scheduling"}),
    "muster_scheduling": frozenset({"muster"}),
}
"""Each package with the packages of ours that it may import.  Nothing imports tests or benchmarks, and muster is imported by the
entry point alone, a module and no package."""

STOREYS: dict[str, tuple[frozenset[str], ...]] = {
    "validators": (
        frozenset({"field", "gates", "once"}),
        frozenset({"content", "versions"}),
        frozenset({"model"}),
        frozenset({"lookup"}),
        frozenset({"hierarchy"}),
        frozenset({"rules", "defaults", "schema"}),
        frozenset({"applicable_rules"}),
        frozenset({"pipeline"}),
        frozenset({"lint"}),
        frozenset({"reports"}),
        frozenset({"migrate"}),
    ),
    "scheduler_core": (
        frozenset({"model"}),
        frozenset({"loading", "plugins"}),
        frozenset({"queueing"}),
        frozenset({"placement"}),
        frozenset({"exact", "preemption", "diagnosis"}),
        frozenset({"cycle"}),
        frozenset({"whatif"}),
        frozenset({"sidecar", "facade"}),
    ),
    "scheduler_core.exact": (
        frozenset({"step_budget", "needs"}),
        frozenset({"packing", "certificate"}),
        frozenset({"tree"}),
        frozenset({"complete"}),
    ),
    "scheduler_core.preemption": (
        frozenset({"units"}),
        frozenset({"result"}),
        frozenset({"victims", "plans"}),
        frozenset({"bounds"}),
        frozenset({"minimal"}),
    ),
    "scheduler_core.sidecar": (
        frozenset({"writes"}),
        frozenset({"settings"}),
        frozenset({"client"}),
        frozenset({"cache"}),
        frozenset({"queue"}),
        frozenset({"scheduling", "controllers"}),
        frozenset({"writer"}),
        frozenset({"process"}),
    ),
    "scheduler_core.cycle": (
        frozenset({"verdicts", "preemptor", "effects"}),
        frozenset({"decider"}),
        frozenset({"run_cycle"}),
        frozenset({"proofs"}),
    ),
    "scheduler_core.whatif": (
        frozenset({"edits"}),
        frozenset({"trial"}),
        frozenset({"remedies"}),
    ),
    "workloadbuilder": (
        frozenset({"item", "errors"}),
        frozenset({"names", "faults", "shapes"}),
        frozenset({"blocks", "identity", "resolve", "linkage"}),
        frozenset({"check", "check_tree", "templates"}),
        frozenset({"unchanged", "blueprint"}),
        frozenset({"groups", "stored"}),
        frozenset({"builder", "update"}),
        frozenset({"adapters"}),
    ),
    "workloadbuilder.adapters": (
        frozenset({"shared", "explained"}),
        frozenset({"group_instances", "jobset", "leaderworkerset", "other_schedulers"}),
        frozenset({"job", "trainjob", "grove"}),
        frozenset({"kinds"}),
        frozenset({"compiled"}),
    ),
    "apiserver": (
        frozenset({"connect", "api", "election"}),
        frozenset({"discovery", "watch", "lease"}),
    ),
    "webhooks": (
        frozenset({"knobs", "log"}),
        frozenset({"settings"}),
        frozenset({"admission", "lookup"}),
        frozenset({"server"}),
    ),
    "webhooks.admission": (
        frozenset({"review", "status", "jsonpatch", "priority"}),
        frozenset({"verdict"}),
        frozenset({"replay"}),
    ),
    "webhooks.lookup": (
        frozenset({"source", "object_cache"}),
        frozenset({"watched"}),
    ),
    "webhooks.server": (
        frozenset({"tls", "metrics", "connection", "lifespan"}),
        frozenset({"routes"}),
        frozenset({"application"}),
        frozenset({"worker"}),
        frozenset({"process"}),
    ),
    "muster": (
        frozenset({"standard_output", "extras", "render"}),
        frozenset({"html"}),
        frozenset({"commands"}),
        frozenset({"cli"}),
        frozenset({"reference"}),
        frozenset({"document"}),
        frozenset({"__main__"}),
    ),
}
"""Inside a package, nested ones too: a room (a module, or a package of modules) imports from lower storeys and from itself, never
from a neighbour on its own storey.  Lower storeys stand first."""

EDGES: dict[str, tuple[str, ...]] = {
    "msgspec": (
        "validators/model/*",
        "scheduler_core/model/wire.py",
        "webhooks/admission/review.py",
        "webhooks/lookup/watched.py",
        "apiserver/*",
        "scheduler_core/sidecar/*",
    ),
    "jsonschema_rs": ("validators/schema.py",),
    "yaml": ("validators/lint/yaml_events.py", "muster/render/yaml_text.py"),
    "flask": ("webhooks/server/routes.py", "scheduler_core/sidecar/process/http.py"),
    "werkzeug": ("webhooks/server/routes.py",),
    "uvicorn": ("webhooks/server/process.py", "webhooks/server/connection.py", "scheduler_core/sidecar/process/http.py"),
    "uvicorn_worker": ("webhooks/server/process.py",),
    "uvloop": ("webhooks/server/connection.py",),
    "a2wsgi": ("scheduler_core/sidecar/process/http.py",),
    "prometheus_client": ("webhooks/server/metrics.py", "scheduler_core/sidecar/process/metrics.py"),
    "kubernetes": ("apiserver/connect.py", "apiserver/api.py", "webhooks/lookup/watched.py", "scheduler_core/sidecar/process/main.py"),
    "urllib3": ("apiserver/api.py",),
    "gunicorn": ("webhooks/server/process.py",),
    "cryptography": ("certs/*", "webhooks/server/tls.py"),
    "click": ("muster/*",),
    "numpy": ("scheduler_core/*", "muster/html/*"),
    "jinja2": ("muster/html/*",),
}
"""Third-party libraries, each with the only files that import it."""

IMPURE: dict[str, str] = {
    "validators/lint/files.py": "reads manifests",
    "apiserver/*": "calls the API server",
    "webhooks/server/routes.py": "HTTP",
    "webhooks/lookup/object_cache.py": "a clock, by which what is known grows stale",
    "webhooks/lookup/watched.py": "watches the API server",
    "webhooks/log.py": "the log",
    "webhooks/server/*": "a process",
    "webhooks/server/metrics.py": "metrics",
    "webhooks/server/tls.py": "key pairs in files",
    "certs/store.py": "key pairs in files",
    "scheduler_core/sidecar/writer/executor.py": "writes to the API server",
    "scheduler_core/sidecar/cache/informers.py": "watches the API server",
    "scheduler_core/sidecar/process/http.py": "HTTP",
    "scheduler_core/sidecar/process/mailbox.py": "the queue between threads",
    "scheduler_core/sidecar/controllers/runner.py": "a clock, by which it takes a small share of the time",
    "scheduler_core/sidecar/process/loop.py": "a thread",
    "scheduler_core/sidecar/writer/dispatcher.py": "threads",
    "scheduler_core/sidecar/process/main.py": "a process",
    "scheduler_core/sidecar/process/metrics.py": "metrics",
    "muster/*": "the command line",
    "muster_scheduling.py": "the command line",
}
"""Files at an edge or in a shell, and what they touch.  All others are pure."""

IMPURE_MODULES = frozenset(
    {
        *("os", "sys", "io", "time", "random", "socket", "threading", "subprocess", "logging"),
        # The same by other doors.
        *("asyncio", "multiprocessing", "secrets", "select", "selectors", "shutil", "signal", "tempfile", "http", "uuid", "urllib.request"),
    }
)
IMPURE_CALLS = frozenset({"open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"})

METHODS_OF_A_PROTOCOL = 3

BARE_NAMES = frozenset(
    [
        "agree",
        "asked",
        "became",
        "came",
        "found",
        "going",
        "hear",
        "heard",
        "kept",
        "look",
        "lost",
        "made",
        "of",
        "put",
        "said",
        "seen",
        "shown",
        "take",
        "told",
        "took",
        "tried",
        "wrote",
    ]
)
"""Words that no public function or method has as its whole name: nobody can search for them, and they say nothing by themselves."""

MOST_LINES = 300
FEWEST_LINES = 40
"""A module with fewer lines belongs into the only module that imports it, unless both together have more than MOST_LINES."""

SMALL: dict[str, str] = {
    "muster/commands/compile/yaml_output.py": "a format is a file",
    "muster/commands/simulate/certificate_file.py": "a format is a file",
    "scheduler_core/plugins/*": "a plugin is a file",
    "validators/reports/*": "a format is a file",
    "validators/rules/*": "a rule is a file",
    "workloadbuilder/adapters/*": "what another controller means is a file",
    "*__init__.py": "says what a package is for",
    "*__main__.py": "what ``python -m`` looks for",
}
"""Files that may be small though one module imports them, or none by name, and why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """One name that a module imports, made absolute as far as it names a module of ours."""

    target: str
    line: int
    level: int = 0

    @property
    def package(self) -> str:
        return self.target.partition(".")[0]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One source file, read."""

    file: str
    lines: int
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def name(self) -> str:
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    def at(self, line: int, text: str) -> str:
        return f"{self.file}:{line}: {text}"


def read_modules(sources: Mapping[str, str]) -> list[Module]:
    """The modules of a tree given as file names and texts."""
    names = {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in sources}
    modules = []
    for file, text in sorted(sources.items()):
        tree = ast.parse(text, file)
        modules.append(Module(file, text.count("\n"), tree, tuple(_imports(tree, names))))
    return modules


def _imports(tree: ast.Module, names: set[str]) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            for each in node.names:
                inner = f"{origin}.{each.name}"
                yield Import(inner if inner in names else origin, node.lineno, node.level)
        elif isinstance(node, ast.Call) and _called(node) in {"__import__", "importlib.import_module", "import_module"}:
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield Import(argument.value, node.lineno)


def _called(node: ast.Call) -> str:
    """The dotted name of what is called, its last two parts at most."""
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


def between_packages(modules: list[Module]) -> Iterator[str]:
    ours = {*PACKAGES, "tests", "benchmarks", "examples"}
    for module in modules:
        allowed = PACKAGES[module.package] | {module.package}
        for each in module.imports:
            if each.package in ours - allowed:
                yield module.at(each.line, f"{module.package} must not import {each.package}")


def inside_packages(modules: list[Module]) -> Iterator[str]:
    for module in modules:
        for package, storeys in STOREYS.items():
            room = _room(module.name, package)
            if not room:
                continue
            storey = _storey(storeys, room)
            if storey is None:
                yield module.at(1, f"{package}.{room} stands on no storey: give it one in the table")
                continue
            for each in module.imports:
                other = _room(each.target, package)
                if other and other != room and (_storey(storeys, other) or 0) >= storey:
                    yield module.at(each.line, f"{room} must not import {other}, which stands above or beside it")


def _room(name: str, package: str) -> str:
    """The module or sub-package of *package* that *name* is or lies in; empty where it lies outside, or is the package itself."""
    return name.removeprefix(f"{package}.").split(".")[0] if name.startswith(f"{package}.") else ""


def _storey(storeys: tuple[frozenset[str], ...], room: str) -> int | None:
    return next((number for number, rooms in enumerate(storeys) if room in rooms), None)


def between_rules(modules: list[Module]) -> Iterator[str]:
    shared = {"validators.rules.base", "validators.rules.checks", "validators.rules"}
    for module in modules:
        if not module.name.startswith("validators.rules."):
            continue
        for each in module.imports:
            if each.target.startswith("validators.rules.") and each.target not in shared:
                yield module.at(each.line, f"a rule must not import another rule, {each.target}")


def at_the_edges(modules: list[Module]) -> Iterator[str]:
    ours = {*PACKAGES, "tests", "benchmarks", "examples"}
    for module in modules:
        for each in module.imports:
            if each.package in sys.stdlib_module_names or each.package in ours or each.level:
                continue
            if each.package not in EDGES:
                yield module.at(each.line, f"{each.package} is no library that the table knows")
            elif not matches(module.file, EDGES[each.package]):
                yield module.at(each.line, f"{each.package} must be imported only by {', '.join(EDGES[each.package])}")


def purity(modules: list[Module]) -> Iterator[str]:
    for module in modules:
        if matches(module.file, tuple(IMPURE)):
            continue
        for each in module.imports:
            if any(f"{each.target}.".startswith(f"{outside}.") for outside in IMPURE_MODULES):
                yield module.at(each.line, f"a pure file must not import {each.target}")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and _called(node) in IMPURE_CALLS:
                yield module.at(node.lineno, f"a pure file must not call {_called(node)}")


def relative(modules: list[Module]) -> Iterator[str]:
    for module in modules:
        for each in module.imports:
            if each.level:
                yield module.at(each.line, "an import must be absolute")


def cycles(modules: list[Module]) -> Iterator[str]:
    names = {module.name for module in modules}
    graph = {module.name: {each.target for each in module.imports if each.target in names} - {module.name} for module in modules}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield " imports ".join(reversed(error.args[1]))


def wide_protocols(modules: list[Module]) -> Iterator[str]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and any(
                ast.unparse(base).split("[")[0] in ("Protocol", "typing.Protocol") for base in node.bases
            ):
                methods = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
                if len(methods) > METHODS_OF_A_PROTOCOL:
                    yield module.at(node.lineno, f"{node.name} has {len(methods)} methods; a Protocol has {METHODS_OF_A_PROTOCOL} at most")


def bare_names(modules: list[Module]) -> Iterator[str]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in BARE_NAMES:
                yield module.at(node.lineno, f"{node.name} must be a name that can be searched for")


def long_modules(modules: list[Module]) -> Iterator[str]:
    for module in modules:
        if module.lines > MOST_LINES:
            yield module.at(1, f"{module.lines} lines; a module has {MOST_LINES} at most")


def small_modules(modules: list[Module]) -> Iterator[str]:
    importers: dict[str, set[Module]] = {module.name: set() for module in modules}
    for module in modules:
        for each in module.imports:
            if each.target != module.name and each.target in importers:
                importers[each.target].add(module)
    for module in modules:
        if module.lines >= FEWEST_LINES or len(importers[module.name]) > 1 or matches(module.file, tuple(SMALL)):
            continue
        if any(each.lines + module.lines > MOST_LINES for each in importers[module.name]):
            continue
        yield module.at(1, f"{module.lines} lines: belongs into {', '.join(each.name for each in importers[module.name]) or 'another'}")


CLAIMS = {
    "packages import only what the table allows": between_packages,
    "rooms import only from lower storeys": inside_packages,
    "a rule never imports another rule": between_rules,
    "libraries are imported at their edges only": at_the_edges,
    "pure files touch nothing outside": purity,
    "imports are absolute": relative,
    "there is no import cycle": cycles,
    "an interface is small": wide_protocols,
    "names can be searched for": bare_names,
    "no module is too long": long_modules,
    "no module is too small": small_modules,
}


@pytest.fixture(scope="module")
def tree() -> list[Module]:
    files = [*(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")), ROOT / "muster_scheduling.py"]
    return read_modules({path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files})


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_claim_holds(claim, tree):
    assert list(claim(tree)) == []


def test_what_tests_and_benchmarks_share_is_not_too_long():
    files = (path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))
    shared = [path for path in files if not path.name.startswith("test_")]

    assert list(long_modules(read_modules({path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in shared}))) == []


def test_every_package_is_in_the_table():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks", "examples"}
    assert set(PACKAGES) == packages | {"muster_scheduling"}


def test_every_line_of_the_tables_speaks_of_something(tree):
    files = [module.file for module in tree]
    patterns = [*IMPURE, *SMALL, *(pattern for patterns in EDGES.values() for pattern in patterns)]
    rooms = {f"{package}.{_room(module.name, package)}" for module in tree for package in STOREYS}
    listed = {f"{package}.{room}" for package, storeys in STOREYS.items() for storey in storeys for room in storey}
    imported = {each.package for module in tree for each in module.imports}

    assert [pattern for pattern in patterns if not fnmatch.filter(files, pattern)] == []
    assert set() == listed - rooms
    assert set() == set(EDGES) - imported


@pytest.mark.parametrize(
    ("claim", "sources", "want"),
    [
        pytest.param(
            between_packages,
            {"validators/field.py": "from webhooks.admission import review"},
            ["validators/field.py:1: validators must not import webhooks"],
            id="upwards between packages",
        ),
        pytest.param(
            between_packages,
            {"webhooks/server/routes.py": "def late():\n    import muster.cli"},
            ["webhooks/server/routes.py:2: webhooks must not import muster"],
            id="inside a function",
        ),
        pytest.param(
            between_packages,
            {"certs/issue.py": "import importlib\nimportlib.import_module('validators.field')"},
            ["certs/issue.py:2: certs must not import validators"],
            id="by name",
        ),
        pytest.param(
            between_packages,
            {"muster/cli.py": "from tests.oracle import declarative"},
            ["muster/cli.py:1: muster must not import tests"],
            id="the tests",
        ),
        pytest.param(between_packages, {"webhooks/server/routes.py": "from validators import lookup"}, [], id="downwards between packages"),
        pytest.param(
            inside_packages,
            {"validators/field.py": "from validators import content", "validators/content.py": ""},
            ["validators/field.py:1: field must not import content, which stands above or beside it"],
            id="upwards inside a package",
        ),
        pytest.param(
            inside_packages,
            {"webhooks/admission/review.py": "from webhooks.lookup.source import x"},
            ["webhooks/admission/review.py:1: admission must not import lookup, which stands above or beside it"],
            id="sideways inside a package",
        ),
        pytest.param(
            inside_packages,
            {"webhooks/admission/review.py": "from webhooks.admission.status import x"},
            ["webhooks/admission/review.py:1: review must not import status, which stands above or beside it"],
            id="sideways inside a nested package",
        ),
        pytest.param(
            inside_packages,
            {"webhooks/new.py": ""},
            ["webhooks/new.py:1: webhooks.new stands on no storey: give it one in the table"],
            id="a room without a storey",
        ),
        pytest.param(
            between_rules,
            {"validators/rules/a.py": "from validators.rules import b", "validators/rules/b.py": "from validators.rules import base"},
            ["validators/rules/a.py:1: a rule must not import another rule, validators.rules.b"],
            id="rule to rule",
        ),
        pytest.param(
            at_the_edges,
            {"webhooks/admission/verdict.py": "import flask", "webhooks/server/routes.py": "import flask"},
            [
                "webhooks/admission/verdict.py:1: flask must be imported only by webhooks/server/routes.py, scheduler_core/sidecar/process/http.py"
            ],
            id="a library away from its edge",
        ),
        pytest.param(
            at_the_edges,
            {"certs/issue.py": "import trio"},
            ["certs/issue.py:1: trio is no library that the table knows"],
            id="an unknown library",
        ),
        pytest.param(
            purity,
            {"validators/field.py": "import os.path\nprint(1)\nx.datetime.now()", "muster/cli.py": "import os\nprint(1)"},
            [
                "validators/field.py:1: a pure file must not import os.path",
                "validators/field.py:2: a pure file must not call print",
                "validators/field.py:3: a pure file must not call datetime.now",
            ],
            id="outside world in a pure file",
        ),
        pytest.param(relative, {"certs/pair.py": "from . import x"}, ["certs/pair.py:1: an import must be absolute"], id="relative"),
        pytest.param(
            cycles,
            {"certs/a.py": "from certs import b", "certs/b.py": "import certs.a"},
            ["certs.a imports certs.b imports certs.a"],
            id="a cycle",
        ),
        pytest.param(
            wide_protocols,
            {"certs/a.py": "class P(Protocol):\n" + "".join(f"    def {name}(self): ...\n" for name in "abcd")},
            ["certs/a.py:1: P has 4 methods; a Protocol has 3 at most"],
            id="a wide protocol",
        ),
        pytest.param(
            wide_protocols,
            {"certs/a.py": "class P(Protocol):\n" + "".join(f"    def {name}(self): ...\n" for name in "abc")},
            [],
            id="a protocol of three",
        ),
        pytest.param(
            long_modules,
            {"certs/a.py": "\n" * 301, "certs/b.py": "\n" * 300},
            ["certs/a.py:1: 301 lines; a module has 300 at most"],
            id="a long module",
        ),
        pytest.param(
            small_modules,
            {"certs/a.py": "from certs import b", "certs/b.py": "\n" * 39},
            ["certs/a.py:1: 0 lines: belongs into another", "certs/b.py:1: 39 lines: belongs into certs.a"],
            id="small modules",
        ),
        pytest.param(
            small_modules,
            {
                **{f"certs/{name}.py": "from certs import b" + "\n" * 40 for name in "ac"},
                "certs/b.py": "",
                "certs/d.py": "from certs import e" + "\n" * 290,
                "certs/e.py": "\n" * 11,
                "validators/rules/f.py": "",
            },
            [],
            id="small ones with two importers, beside a long one, and a rule",
        ),
        pytest.param(
            bare_names,
            {"certs/a.py": "def told(): ...\nclass A:\n    async def of(self): ...\n    def of_pod(self): ..."},
            [
                "certs/a.py:1: told must be a name that can be searched for",
                "certs/a.py:3: of must be a name that can be searched for",
            ],
            id="bare names",
        ),
    ],
)
def test_breach_is_seen(claim, sources, want):
    assert want == list(claim(read_modules(sources)))
