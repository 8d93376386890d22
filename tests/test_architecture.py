"""Import contracts and the other rules of the architecture hold for every module."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture import compared_words
from tests.architecture.compared_words import words_are_not_compared
from tests.architecture.contracts import (
    CONTRACTS,
    api_versions,
    at_the_edges,
    bare_names,
    between_packages,
    between_rules,
    causes_in_the_model,
    cuts_in_template,
    cycles,
    has_text,
    inside_packages,
    long_modules,
    part_of,
    placement_and_plugins,
    purity,
    relative,
    repeated_classes,
    repeated_modules,
    small_modules,
    text_in_causes,
    text_in_decisions,
    texts_for_people,
    unlisted_modules,
    values_without_text,
    wide_protocols,
    worded_at_the_end,
    words_are_read,
)
from tests.architecture.layers import LAYERS
from tests.architecture.modules import Module, matches, modules_of_project, read_modules
from tests.architecture.naming import (
    COMPARES_OTHER_TEXT,
    CUTS_OTHER_TEXT,
    FOR_ALL_PLUGINS,
    NAMES_A_PLUGIN,
    OF_THE_API,
    SHARED_MODULES,
    SHARED_NAMES,
    TEXTS_IN_CAUSES,
    TEXTS_IN_DECISIONS,
)
from tests.architecture.tables import (
    AROUND,
    EDGES,
    FACTS,
    HAS_CAUSES,
    IMPURE,
    MOST_LINES,
    PACKAGES,
    SMALL,
    WITH_TEXT,
)

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def tree() -> tuple[Module, ...]:
    return modules_of_project()


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_contract_holds(contract, tree):
    assert list(contract(tree)) == []


def test_templates_do_not_cut_text():
    templates = sorted((ROOT / "muster" / "html" / "templates").glob("*.html"))
    files = {path.name: path.read_text(encoding="utf-8") for path in templates}

    assert files
    assert [] == [violation for name, text in files.items() for violation in cuts_in_template(name, text)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param('{% set a, _, b = x.partition(": ") %}', ["a.html:1: partition cuts text: pass values"], id="a method"),
        pytest.param('\n{{ x.y|replace("a", "b") }}', ["a.html:2: replace cuts text: pass values"], id="a filter"),
        pytest.param('{{ "{:,}".format(x)|lower }}', [], id="a number"),
    ],
)
def test_cut_in_a_template_is_reported(text, want):
    assert want == list(cuts_in_template("a.html", text))


def test_helpers_of_tests_and_benchmarks_are_not_too_long():
    files = (path for folder in AROUND for path in (ROOT / folder).rglob("*.py"))
    lines = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count("\n") for path in files}

    assert {file: count for file, count in lines.items() if count > MOST_LINES and not Path(file).name.startswith("test_")} == {}


def test_every_package_is_in_the_table():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {*AROUND}
    assert set(PACKAGES) == packages | {"muster_scheduling"}


def test_every_entry_of_the_tables_is_used(tree):
    files = [module.file for module in tree]
    patterns = [*IMPURE, *SMALL, *(pattern for patterns in EDGES.values() for pattern in patterns)]
    parts = {f"{package}.{part_of(module.name, package)}" for module in tree for package in LAYERS}
    listed = {f"{package}.{part}" for package, layers in LAYERS.items() for layer in layers for part in layer}
    imported = {each.package for module in tree for each in module.imports}

    classes = {node.name for module in tree for node in module.tree.body if isinstance(node, ast.ClassDef)}
    names = {module.name.rpartition(".")[2] for module in tree}
    plugins = {part_of(module.name, "scheduler_core.plugins") for module in tree}
    naming = {
        part_of(module.name, "scheduler_core.placement")
        for module in tree
        if module.name.startswith("scheduler_core.placement.")
        and {part_of(each.target, "scheduler_core.plugins") for each in module.imports} - {""} - FOR_ALL_PLUGINS
    }

    assert [pattern for pattern in patterns if not fnmatch.filter(files, pattern)] == []
    assert set() == (SHARED_NAMES.keys() - classes) | (SHARED_MODULES.keys() - names) | (FOR_ALL_PLUGINS - plugins)
    causes = (node for module in tree if matches(module.name, FACTS) for node in module.nodes)
    assert set() == TEXTS_IN_CAUSES.keys() - annotated_in(node for node in causes if isinstance(node, ast.AnnAssign) and has_text(node))
    cut = [module for module in tree if module.name in {name for name, _ in CUTS_OTHER_TEXT}]
    used = {(module.name, ast.unparse(node.value)) for module in cut for node in module.nodes if isinstance(node, ast.Attribute)}
    assert set() == CUTS_OTHER_TEXT.keys() - used
    assert WITH_TEXT.keys() == {
        each for module in tree if [*texts_for_people(module)] for each in WITH_TEXT if matches(module.name, (each,))
    }
    with_causes = (module for module in tree if module.name == HAS_CAUSES)
    owners = [node for module in with_causes for node in module.tree.body if isinstance(node, ast.ClassDef)]
    assert set() == TEXTS_IN_DECISIONS.keys() - {f"{owner.name}.{name}" for owner in owners for name in annotated_in(owner.body)}
    assert set() == OF_THE_API - {owner.name for owner in owners}
    assert set(NAMES_A_PLUGIN) == naming
    assert set() == listed - parts
    assert set() == set(EDGES) - imported


def test_every_text_that_may_be_compared_is_compared(tree, monkeypatch):
    monkeypatch.setattr(compared_words, "COMPARES_OTHER_TEXT", {})
    violations = [violation.split(":", 2) for violation in words_are_not_compared(tree)]

    files = {module.name: module.file for module in tree}
    allowed = {(files[name], f" {expression} has words of ours: compare values") for name, expression in COMPARES_OTHER_TEXT}
    assert allowed == {(file, text) for file, _, text in violations}


def annotated_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}


@pytest.mark.parametrize(
    ("contract", "sources", "want"),
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
        pytest.param(
            between_packages,
            {
                "scheduler_core/queueing/order.py": "from workloadbuilder import names",
                "scheduler_core/sidecar/building/x.py": "import apiserver.api",
            },
            ["scheduler_core/queueing/order.py:1: only scheduler_core.sidecar.building may import workloadbuilder"],
            id="in another part than the one that may",
        ),
        pytest.param(between_packages, {"webhooks/server/routes.py": "from validators import lookup"}, [], id="downwards between packages"),
        pytest.param(
            inside_packages,
            {"validators/field.py": "from validators import model", "validators/model/__init__.py": ""},
            ["validators/field.py:1: field must not import model, which is in the same layer or a higher one"],
            id="upwards inside a package",
        ),
        pytest.param(
            inside_packages,
            {"webhooks/admission/review.py": "from webhooks.lookup.source import x"},
            ["webhooks/admission/review.py:1: admission must not import lookup, which is in the same layer or a higher one"],
            id="sideways inside a package",
        ),
        pytest.param(
            inside_packages,
            {"webhooks/admission/review.py": "from webhooks.admission.status import x"},
            ["webhooks/admission/review.py:1: review must not import status, which is in the same layer or a higher one"],
            id="sideways inside a nested package",
        ),
        pytest.param(
            inside_packages,
            {"webhooks/new.py": ""},
            ["webhooks/new.py:1: webhooks.new is in no layer: add it to LAYERS"],
            id="a part without a layer",
        ),
        pytest.param(
            inside_packages,
            {
                "scheduler_core/model/a.py": "from scheduler_core.causes import changes",
                "scheduler_core/causes/changes.py": "from scheduler_core.model import c\nfrom scheduler_core.plugins import d",
                "scheduler_core/model/c.py": "",
                "scheduler_core/plugins/d.py": "from scheduler_core.causes import changes",
            },
            ["scheduler_core/causes/changes.py:2: causes must not import plugins, which is in the same layer or a higher one"],
            id="peers",
        ),
        pytest.param(
            worded_at_the_end,
            {
                "scheduler_core/queueing/a.py": "from scheduler_core.wording import changes",
                "scheduler_core/wording/changes.py": "from scheduler_core.causes import changes\nfrom scheduler_core.whatif import edits",
                "scheduler_core/wording/constraints.py": "from scheduler_core.wording import changes\nfrom scheduler_core.exact.packing import a",
                "scheduler_core/causes/changes.py": "from scheduler_core.exact.packing import a\nfrom validators import field",
                "scheduler_core/wording/live_words.py": "from kubeapi.versions import served\nfrom validators import field",
                "scheduler_core/exact/packing/a.py": "",
                "scheduler_core/whatif/edits.py": "from scheduler_core.wording.changes import remedy_text",
                "scheduler_core/facade.py": "from scheduler_core.wording.changes import remedy_text",
                "muster/cli.py": "from scheduler_core.wording.changes import remedy_text",
            },
            [
                "scheduler_core/causes/changes.py:1: causes must not import exact",
                "scheduler_core/causes/changes.py:2: causes must not import validators",
                "scheduler_core/queueing/a.py:1: queueing must not import wording: it has values, which are worded for people only",
                "scheduler_core/whatif/edits.py:1: whatif must not import wording: it has values, which are worded for people only",
                "scheduler_core/wording/changes.py:2: wording must not import whatif",
                "scheduler_core/wording/constraints.py:2: wording must not import exact",
                "scheduler_core/wording/live_words.py:2: wording must not import validators",
            ],
            id="wording too early",
        ),
        *(
            pytest.param(
                worded_at_the_end,
                {f"scheduler_core/{part}/a.py": "def late():\n    from scheduler_core.wording.changes import remedy_text"},
                [f"scheduler_core/{part}/a.py:2: {part} must not import wording: it has values, which are worded for people only"],
                id=f"wording in {part}",
            )
            for part in ("model", "queueing", "placement", "exact", "preemption", "diagnosis", "cycle", "whatif")
        ),
        pytest.param(
            causes_in_the_model,
            {
                "scheduler_core/model/decision.py": "from scheduler_core.causes.cause import Cause",
                "scheduler_core/model/nodes.py": "from scheduler_core.causes.cause import Cause",
                "scheduler_core/causes/groups.py": "from scheduler_core.causes.domains import DomainCause",
            },
            [
                "scheduler_core/model/nodes.py:1: scheduler_core.model.nodes must not import causes: only scheduler_core.model.decision has them"
            ],
            id="causes of other values",
        ),
        pytest.param(
            text_in_decisions,
            {
                "scheduler_core/model/decision.py": (
                    "class GroupCondition:\n    message: str\nclass Decision:\n    message: str\n    assignments: Mapping[str, str]\n"
                    "    pods: int\n    notes: tuple[str, ...] = ()\nclass GroupDecision:\n    note: str | None = None\n    texts: list[object]\n"
                ),
                "scheduler_core/facade.py": "class Decision:\n    message: str",
            },
            [
                f"scheduler_core/model/decision.py:{line}: {field} must be a value: decisions have causes, which wording turns into text"
                for line, field in ((4, "Decision.message"), (7, "Decision.notes"), (9, "GroupDecision.note"), (10, "GroupDecision.texts"))
            ],
            id="text in decisions",
        ),
        pytest.param(
            words_are_read,
            {
                "muster/render/a.py": (
                    "import re\nfrom scheduler_core.wording import decision_words\nX = decision_words.message(Y).partition(': ')\n"
                    "Z = dataclasses.replace(X, y=1)\n"
                ),
                "muster/render/b.py": "X = Y.split()",
                "muster/render/tree_rows.py": "from scheduler_core.wording import phrases\nX = pod.partition('/')",
                "muster/render/e.py": "from scheduler_core.wording import phrases\nX = pod.partition('/')",
                "scheduler_core/wording/c.py": "from scheduler_core.wording import phrases\nX = Y.split()",
                "scheduler_core/sidecar/d.py": "from scheduler_core.wording.changes import remedy_text\nX = text.startswith('a')",
            },
            [
                "muster/render/a.py:3: partition may read words of ours: compare values",
                "muster/render/a.py:1: re may read words of ours: compare values",
                "muster/render/e.py:2: partition may read words of ours: compare values",
                "scheduler_core/sidecar/d.py:2: startswith may read words of ours: compare values",
            ],
            id="words are for people",
        ),
        pytest.param(
            words_are_not_compared,
            {
                "scheduler_core/wording/decision_words.py": "def message(x) -> str: ...\ndef causes(x) -> tuple[Cause, ...]: ...",
                "muster/render/a.py": (
                    "from scheduler_core.wording import decision_words\n"
                    "def shown(x, y):\n"
                    "    own, given = decision_words.message(x), y.text\n"
                    "    if own not in given and len(own) == 3 and decision_words.causes(x) == y.causes:\n"
                    "        return hides(y, [own])\n"
                    "    alike = {}\n"
                    "    for each, number in zip([own], y.numbers):\n"
                    "        alike.setdefault(number, each)\n"
                    "        alike.setdefault((each, 1), number)\n"
                    "    return {text(x) for _ in y}, Card(own) == y\n"
                    "def hides(y, texts): return any(y == each for each in texts)\n"
                    "def marked(x, y):\n"
                    "    mark, other = 1 if text(x) else 2, text(x) if x else ''\n"
                    "    return mark == y, other == y\n"
                    "def text(x) -> str: return f'{decision_words.message(x)}.'\n"
                ),
                "muster/html/b.py": "from muster.render.a import text\ndef same(x, y): return y if text(x) == y else text(y)",
                "muster/html/c.py": "def message(x) -> str: ...\ndef same(x, y): return message(x) == y",
            },
            [
                f"muster/{file}: {expression} has words of ours: compare values"
                for file, expression in (
                    ("html/b.py:2", "text(x)"),
                    ("render/a.py:4", "own"),
                    ("render/a.py:9", "(each, 1)"),
                    ("render/a.py:10", "text(x)"),
                    ("render/a.py:11", "each"),
                    ("render/a.py:14", "other"),
                )
            ],
            id="words that are compared",
        ),
        pytest.param(
            values_without_text,
            {
                "scheduler_core/whatif/a.py": (
                    '"""A doc."""\nimport re\nX = f"node {X} dropped"\nY = X.replace(" a", "")\n'
                    'Z = dataclasses.replace(X, y="a/b")\nraise ValueError("what is wrong")\n'
                ),
                "scheduler_core/causes/b.py": "X = 'two words'",
                "scheduler_core/cycle/d.py": "X = f'{count} steps'",
                "scheduler_core/plugins/e.py": "X = 'two words'\nY = np.split(X)\nZ = X.split()",
                "scheduler_core/plugins/volume_e.py": "X = 'node(s) were full'",
                "scheduler_core/wording/c.py": "X = 'two words'",
                "muster/f.py": "X = 'two words'",
            },
            [
                "scheduler_core/causes/b.py:1: 'two words' is text for people: wording has it",
                "scheduler_core/cycle/d.py:1: ' steps' is text for people: wording has it",
                "scheduler_core/plugins/e.py:1: 'two words' is text for people: wording has it",
                "scheduler_core/plugins/e.py:3: split reads text: compare values",
                "scheduler_core/whatif/a.py:3: 'node ' is text for people: wording has it",
                "scheduler_core/whatif/a.py:3: ' dropped' is text for people: wording has it",
                "scheduler_core/whatif/a.py:4: ' a' is text for people: wording has it",
                "scheduler_core/whatif/a.py:4: replace reads text: compare values",
                "scheduler_core/whatif/a.py:2: re reads text: compare values",
            ],
            id="text among values",
        ),
        pytest.param(
            text_in_causes,
            {
                "scheduler_core/causes/a.py": "class A:\n    key: str\n    note: str | None\n    parts: tuple[str, ...]\n    count: int",
                "scheduler_core/wording/b.py": "class A:\n    reason: str",
            },
            [
                "scheduler_core/causes/a.py:3: note must be a value: only names, keys and text of other programs are texts",
                "scheduler_core/causes/a.py:4: parts must be a value: only names, keys and text of other programs are texts",
            ],
            id="text as a value",
        ),
        pytest.param(
            between_rules,
            {"validators/rules/a.py": "from validators.rules import b", "validators/rules/b.py": "from validators.rules import base"},
            ["validators/rules/a.py:1: a rule must not import another rule, validators.rules.b"],
            id="rule to rule",
        ),
        pytest.param(
            placement_and_plugins,
            {
                "scheduler_core/placement/pod_by_pod.py": "from scheduler_core.plugins import profile, node_ports",
                "scheduler_core/plugins/node_ports.py": "",
                "scheduler_core/plugins/profile.py": "",
            },
            ["scheduler_core/placement/pod_by_pod.py:1: placement must not name the plugin node_ports: it reads the profile of a shape"],
            id="placement that names a plugin",
        ),
        pytest.param(
            api_versions,
            {
                "muster/cli.py": 'G = "scheduling.k8s.io"\nV = "scheduling.k8s.io/v1"\nL = "scheduling.k8s.io/name"',
                "kubeapi/versions/a.py": 'G = "scheduling.k8s.io"',
            },
            [
                "muster/cli.py:1: scheduling.k8s.io must come from kubeapi.versions",
                "muster/cli.py:2: scheduling.k8s.io/v1 must come from kubeapi.versions",
            ],
            id="an API version elsewhere",
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
            ["certs/issue.py:1: trio is not in the table of libraries"],
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
            repeated_classes,
            {"certs/a.py": "class A: ...\nclass _B: ...", "certs/b.py": "class A: ...\nclass _B: ...", "muster/c.py": "class A: ..."},
            ["certs/b.py:1: certs.a has a class A too"],
            id="two classes of one name",
        ),
        pytest.param(
            repeated_modules,
            {"muster/a/x.py": "", "muster/b/x.py": "", "muster/a/command.py": "", "muster/b/command.py": "", "certs/x.py": ""},
            ["muster/b/x.py:1: muster.a.x has the same name"],
            id="two modules of one name",
        ),
        pytest.param(
            unlisted_modules,
            {
                "certs/__init__.py": '"""A pair of keys; ``store`` has them.\n\nissue  how\ncluster, rotation  where\n"""',
                **{f"certs/{name}.py": "" for name in ("issue", "pair", "store", "cluster", "rotation")},
            },
            ["certs/pair.py:1: the docstring of certs does not list it"],
            id="a module that its package does not list",
        ),
        pytest.param(
            long_modules,
            {"certs/a.py": "\n" * 501, "certs/b.py": "\n" * 500},
            ["certs/a.py:1: 501 lines; a module has 500 at most"],
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
def test_violation_is_reported(contract, sources, want):
    assert want == list(contract(read_modules(sources)))
