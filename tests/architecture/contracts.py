"""Contracts of the architecture.  Each yields its violations, one line each."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
from collections.abc import Iterator, Sequence

import jinja2.nodes

from tests.architecture.compared_words import words_are_not_compared
from tests.architecture.layers import LAYERS, PEERS
from tests.architecture.modules import Module, called, matches
from tests.architecture.naming import (
    API_VERSION,
    BARE_NAMES,
    CUTS_OTHER_TEXT,
    CUTS_TEXT,
    FOR_ALL_PLUGINS,
    NAMES_A_PLUGIN,
    NO_TEXT,
    OF_THE_API,
    REGISTRIES,
    SHARED_MODULES,
    SHARED_NAMES,
    TEXTS_IN_CAUSES,
    TEXTS_IN_DECISIONS,
)
from tests.architecture.tables import (
    AROUND,
    EDGES,
    FACTS,
    FEWEST_LINES,
    HAS_CAUSES,
    IMPURE,
    IMPURE_CALLS,
    IMPURE_MODULES,
    MERGED_LINES,
    METHODS_OF_A_PROTOCOL,
    MOST_LINES,
    ONLY_IN,
    PACKAGES,
    PURE_WITHIN,
    SMALL,
    VALUES,
    WITH_TEXT,
    WORDED_BY,
)


def between_packages(modules: Sequence[Module]) -> Iterator[str]:
    ours = {*PACKAGES, *AROUND}
    for module in modules:
        allowed = PACKAGES[module.package] | {module.package}
        for each in module.imports:
            if each.package in ours - allowed:
                yield module.at(each.line, f"{module.package} must not import {each.package}")
            part = ONLY_IN.get((module.package, each.package), "")
            if not f"{module.name}.".startswith(f"{part}." if part else ""):
                yield module.at(each.line, f"only {part} may import {each.package}")


def inside_packages(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for package, layers in LAYERS.items():
            part = part_of(module.name, package)
            if not part:
                continue
            layer = layer_of(layers, part)
            if layer is None:
                yield module.at(1, f"{package}.{part} is in no layer: add it to LAYERS")
                continue
            for each in module.imports:
                other = part_of(each.target, package)
                if not other or other == part or {part, other} <= PEERS.get(package, frozenset()):
                    continue
                if (layer_of(layers, other) or 0) >= layer:
                    yield module.at(each.line, f"{part} must not import {other}, which is in the same layer or a higher one")


def part_of(name: str, package: str) -> str:
    """Return the part of *package* that contains the module *name*; empty if *name* is outside the package or the package itself."""
    return name.removeprefix(f"{package}.").split(".")[0] if name.startswith(f"{package}.") else ""


def layer_of(layers: tuple[frozenset[str], ...], part: str) -> int | None:
    return next((number for number, parts in enumerate(layers) if part in parts), None)


def worded_at_the_end(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        part = part_of(module.name, "scheduler_core")
        for each in module.imports:
            other = part_of(each.target, "scheduler_core")
            if other == "wording" and part not in WORDED_BY and module.package != "muster":
                yield module.at(each.line, f"{part} must not import wording: it has values, which are worded for people only")
            if part in VALUES and each.package in PACKAGES and other != part and not f"{each.target}.".startswith(VALUES[part]):
                yield module.at(each.line, f"{part} must not import {other or each.package}")


def values_without_text(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if not module.name.startswith("scheduler_core.") or matches(module.name, tuple(WITH_TEXT)):
            continue
        yield from texts_for_people(module)
        yield from cuts_of_text(module)


def texts_for_people(module: Module) -> Iterator[str]:
    documented = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    raised = {id(part) for node in module.nodes if isinstance(node, ast.Raise) for part in ast.walk(node)}
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented | raised and " " in node.value:
            yield module.at(node.lineno, f"{node.value!r} is text for people: wording has it")


def cuts_of_text(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr in CUTS_TEXT and is_text(module, ast.unparse(node.value)):
            yield module.at(node.lineno, f"{node.attr} reads text: compare values")
    for each in module.imports:
        if each.target == "re" and is_text(module, "re"):
            yield module.at(each.line, "re reads text: compare values")


def is_text(module: Module, expression: str) -> bool:
    """Return whether *expression* may be a text of ours."""
    return expression not in NO_TEXT and (module.name, expression) not in CUTS_OTHER_TEXT


def text_in_causes(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if not matches(module.name, FACTS):
            continue
        for node in module.nodes:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id not in TEXTS_IN_CAUSES:
                if has_text(node):
                    yield module.at(node.lineno, f"{node.target.id} must be a value: only names, keys and text of other programs are texts")


def has_text(field: ast.AnnAssign) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "str" for part in ast.walk(field.annotation))


def causes_in_the_model(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for each in module.imports:
            if part_of(module.name, "scheduler_core") == "model" and part_of(each.target, "scheduler_core") == "causes":
                if module.name != HAS_CAUSES:
                    yield module.at(each.line, f"{module.name} must not import causes: only {HAS_CAUSES} has them")


def words_are_read(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        words = any(each.target.startswith(("scheduler_core.wording", "muster.render.problem_words")) for each in module.imports)
        if not words or module.package not in {"muster", "scheduler_core"} or part_of(module.name, "scheduler_core") == "wording":
            continue
        for node in module.nodes:
            if (
                isinstance(node, ast.Attribute)
                and node.attr in CUTS_TEXT | {"partition", "rpartition"}
                and is_text(module, ast.unparse(node.value))
            ):
                yield module.at(node.lineno, f"{node.attr} may read words of ours: compare values")
        for each in module.imports:
            if each.target == "re":
                yield module.at(each.line, "re may read words of ours: compare values")


def cuts_in_template(name: str, text: str) -> Iterator[str]:
    """Yield the methods and filters of a Jinja template that cut text; ``format`` formats numbers there."""
    cuts = (CUTS_TEXT | {"partition", "rpartition"}) - {"format"}
    for node in jinja2.Environment().parse(text).find_all((jinja2.nodes.Getattr, jinja2.nodes.Filter)):
        word = node.attr if isinstance(node, jinja2.nodes.Getattr) else node.name
        if word in cuts:
            yield f"{name}:{node.lineno}: {word} cuts text: pass values"


def text_in_decisions(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for owner in module.tree.body if module.name == HAS_CAUSES else ():
            if not isinstance(owner, ast.ClassDef) or owner.name in OF_THE_API:
                continue
            for node in owner.body:
                if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                    continue
                field, named = (
                    f"{owner.name}.{node.target.id}",
                    {each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name)},
                )
                if named & {"str", "object"} and field not in TEXTS_IN_DECISIONS:
                    yield module.at(node.lineno, f"{field} must be a value: decisions have causes, which wording turns into text")


def between_rules(modules: Sequence[Module]) -> Iterator[str]:
    shared = {"validators.rules.base", "validators.rules.checks", "validators.rules"}
    for module in modules:
        if not module.name.startswith("validators.rules."):
            continue
        for each in module.imports:
            if each.target.startswith("validators.rules.") and each.target not in shared:
                yield module.at(each.line, f"a rule must not import another rule, {each.target}")


def between_checks(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for each in module.imports:
            if module.name.startswith("muster.doctor.checks.") and each.target.startswith("muster.doctor.checks."):
                yield module.at(each.line, f"a check must not import another check, {each.target}")


def placement_and_plugins(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if part_of(module.name, "scheduler_core.placement") in {"", *NAMES_A_PLUGIN}:
            continue
        for each in module.imports:
            plugin = part_of(each.target, "scheduler_core.plugins")
            if plugin and plugin not in FOR_ALL_PLUGINS:
                yield module.at(each.line, f"placement must not name the plugin {plugin}: it reads the profile of a shape")


def api_versions(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if module.package == "muster_scheduling" or module.name.startswith("kubeapi.versions"):
            continue
        for node in module.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and API_VERSION.fullmatch(node.value):
                yield module.at(node.lineno, f"{node.value} must come from kubeapi.versions")


def at_the_edges(modules: Sequence[Module]) -> Iterator[str]:
    ours = {*PACKAGES, *AROUND}
    for module in modules:
        for each in module.imports:
            if each.package in sys.stdlib_module_names or each.package in ours or each.level:
                continue
            if each.package not in EDGES:
                yield module.at(each.line, f"{each.package} is not in the table of libraries")
            elif not matches(module.file, EDGES[each.package]):
                yield module.at(each.line, f"{each.package} must be imported only by {', '.join(EDGES[each.package])}")


def purity(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if matches(module.file, tuple(IMPURE)) and not matches(module.file, PURE_WITHIN):
            continue
        for each in module.imports:
            if any(f"{each.target}.".startswith(f"{outside}.") for outside in IMPURE_MODULES):
                yield module.at(each.line, f"a pure file must not import {each.target}")
        for node in module.nodes:
            if isinstance(node, ast.Call) and called(node) in IMPURE_CALLS:
                yield module.at(node.lineno, f"a pure file must not call {called(node)}")


def relative(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for each in module.imports:
            if each.level:
                yield module.at(each.line, "an import must be absolute")


def cycles(modules: Sequence[Module]) -> Iterator[str]:
    names = {module.name for module in modules}
    graph = {module.name: {each.target for each in module.imports if each.target in names} - {module.name} for module in modules}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield " imports ".join(reversed(error.args[1]))


def wide_protocols(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and any(
                ast.unparse(base).split("[")[0] in ("Protocol", "typing.Protocol") for base in node.bases
            ):
                methods = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
                if len(methods) > METHODS_OF_A_PROTOCOL:
                    yield module.at(node.lineno, f"{node.name} has {len(methods)} methods; a Protocol has {METHODS_OF_A_PROTOCOL} at most")


def bare_names(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for node in module.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.strip("_") in BARE_NAMES:
                yield module.at(node.lineno, f"{node.name} must be a name that can be searched for")


def repeated_classes(modules: Sequence[Module]) -> Iterator[str]:
    first: dict[tuple[str, str], str] = {}
    for module in modules:
        for node in module.tree.body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_") or node.name in SHARED_NAMES:
                continue
            other = first.setdefault((module.package, node.name), module.name)
            if other != module.name:
                yield module.at(node.lineno, f"{other} has a class {node.name} too")


def repeated_modules(modules: Sequence[Module]) -> Iterator[str]:
    first: dict[tuple[str, str], str] = {}
    for module in modules:
        last = module.name.rpartition(".")[2]
        if module.file.endswith("/__init__.py") or last in SHARED_MODULES:
            continue
        other = first.setdefault((module.package, last), module.name)
        if other != module.name:
            yield module.at(1, f"{other} has the same name")


def unlisted_modules(modules: Sequence[Module]) -> Iterator[str]:
    docstrings = {module.name: ast.get_docstring(module.tree) or "" for module in modules if module.file.endswith("/__init__.py")}
    for module in modules:
        package, _, last = module.name.rpartition(".")
        if module.name in docstrings or package not in docstrings or last.startswith("_") or package.replace(".", "/") in REGISTRIES:
            continue
        # In a list of modules, or as ``name`` in a sentence.
        listed = rf"^{last} |(?:^|, |; |``){last}(?:``|, |: |  )"
        if not re.search(listed, docstrings[package], re.MULTILINE):
            yield module.at(1, f"the docstring of {package} does not list it")


def long_modules(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if module.lines > MOST_LINES:
            yield module.at(1, f"{module.lines} lines; a module has {MOST_LINES} at most")


def small_modules(modules: Sequence[Module]) -> Iterator[str]:
    importers: dict[str, set[Module]] = {module.name: set() for module in modules}
    for module in modules:
        for each in module.imports:
            if each.target != module.name and each.target in importers:
                importers[each.target].add(module)
    for module in modules:
        if module.lines >= FEWEST_LINES or len(importers[module.name]) > 1 or matches(module.file, tuple(SMALL)):
            continue
        if any(each.lines + module.lines > MERGED_LINES for each in importers[module.name]):
            continue
        yield module.at(1, f"{module.lines} lines: belongs into {', '.join(each.name for each in importers[module.name]) or 'another'}")


CONTRACTS = {
    "packages import only what the table allows": between_packages,
    "parts import only from lower layers": inside_packages,
    "values are worded for people only": worded_at_the_end,
    "the engine has no text for people": values_without_text,
    "texts in values are names, keys and text of other programs": text_in_causes,
    "of the model, only decisions have causes": causes_in_the_model,
    "texts in decisions are names and keys": text_in_decisions,
    "words are for people": words_are_read,
    "words are not compared": words_are_not_compared,
    "a rule never imports another rule": between_rules,
    "a check of the doctor never imports another check": between_checks,
    "placement names no plugin": placement_and_plugins,
    "API versions are named in one package": api_versions,
    "libraries are imported at their edges only": at_the_edges,
    "pure files touch nothing outside": purity,
    "imports are absolute": relative,
    "there is no import cycle": cycles,
    "an interface is small": wide_protocols,
    "names can be searched for": bare_names,
    "class names are unique in a package": repeated_classes,
    "module names are unique in a package": repeated_modules,
    "packages list their modules": unlisted_modules,
    "no module is too long": long_modules,
    "no module is too small": small_modules,
}
