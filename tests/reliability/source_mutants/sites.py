"""Places in a file that operators of Cosmic Ray change, without those where a change cannot matter."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

from tests.reliability.source_mutants.measured_tests import ROOT

_PROVIDER = OperatorProvider()
_SENSELESS = (
    # Names of other variables: what is drawn is nearly always an error of the first call.
    "Variable",
    # A decorator says how: kept, frozen, with slots.  A property without it fails in each test.
    "RemoveDecorator",
    # None, True and members of an enum are equal exactly if they are identical, and so are the short strings and numbers of the source.
    *("ReplaceComparisonOperator_Is_Eq", "ReplaceComparisonOperator_IsNot_NotEq"),
    *("ReplaceComparisonOperator_Eq_Is", "ReplaceComparisonOperator_NotEq_IsNot"),
)
OPERATORS = tuple(each for each in sorted(_PROVIDER) if not (each.startswith(_SENSELESS[:2]) or each in _SENSELESS))
_COMPOUND = frozenset({"if_stmt", "while_stmt", "for_stmt", "with_stmt", "try_stmt", "funcdef", "classdef", "suite", "file_input"})


class Mutant(NamedTuple):
    """One change.

    Attributes:
        file: path of the changed file.
        name: file, function, and the changed lines before and after, without numbers of lines.
        source: the whole changed source.
        lines: first and last line of the changed statement, or of the head of a compound one.
        body: first and last line of the body of the outermost function around it; None at the level of a module or class.

    """

    file: str
    name: str
    source: str
    lines: tuple[int, int]
    body: tuple[int, int] | None


class _Site(NamedTuple):
    operator: str
    occurrence: int
    node: Any


def draw(chance: random.Random, file: str) -> Mutant | None:
    """Return a mutant of the file, None if it has no place to change or the result is no Python.

    Each place has the same chance, whatever the number of operators that change it.
    """
    places = _places(file)
    if not places:
        return None
    site = chance.choice(chance.choice(places))
    source = (ROOT / file).read_text(encoding="utf-8")
    try:
        changed = mutate_code(source, _PROVIDER[site.operator](), site.occurrence)
    except AttributeError:  # ExceptionReplacer does not know names with a dot
        return None
    if changed is None or changed == source or not _is_python(changed):
        return None
    before, after = source.splitlines(), changed.splitlines()
    if len(before) != len(after):
        return None
    pairs = [(one.strip(), other.strip()) for one, other in zip(before, after, strict=True) if one != other]
    name = f"{file} {_scope(site.node)}: {' '.join(one for one, _ in pairs)} -> {' '.join(other for _, other in pairs)}"
    return Mutant(file, name, changed, _lines(site.node), _body(site.node))


@functools.cache
def _places(file: str) -> list[list[_Site]]:
    """Return the sites of each place of a file."""
    tree = get_ast((ROOT / file).read_text(encoding="utf-8"))
    nodes = list(ast_nodes(tree))
    places: dict[tuple[Any, ...], list[_Site]] = {}
    for name in OPERATORS:
        operator = _PROVIDER[name]()
        occurrence = 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                if not any(_cannot_matter(child, parent) for child, parent in _ancestors(node)):
                    places.setdefault((start, end), []).append(_Site(name, occurrence, node))
                occurrence += 1
    return list(places.values())


def _cannot_matter(child: Any, parent: Any) -> bool:
    """Return whether no change of *child* can be seen, as a part of *parent*."""
    parts = parent.children
    return (
        child
        in {
            "annassign": parts[1:2],  # annotations are not evaluated
            "tfpdef": parts[2:],
            "funcdef": [parent.annotation] if parent.type == "funcdef" else [],
            "parameters": [each for each in parts if each.type == "operator"],  # the mark * is no operator
            "param": parts[:1] if parts[0].type == "operator" else [],
            "decorator": parts,  # see _SENSELESS
            "classdef": parts[:-1],  # frozen=True, kw_only=True: mypy checks them
            "if_stmt": parts if parent.type == "if_stmt" and "TYPE_CHECKING" in parts[1].get_code() else [],  # only for mypy
            # zip(strict=True) tells of an error of the code; the size of a cache changes only the time.
            "argument": parts if parts[0].get_code().strip() in {"strict", "maxsize"} else [],
        }.get(parent.type, [])
    )


def _ancestors(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a changed node and its parent, and so on.  An operator that negates a condition gives its statement: the change is inside."""
    if node.type in {"if_stmt", "while_stmt"}:
        yield node.children[1], node
    while node.parent is not None:
        yield node, node.parent
        node = node.parent


def _scope(node: Any) -> str:
    names = [parent.name.value for _, parent in _ancestors(node) if parent.type in {"funcdef", "classdef"}]
    return ".".join(reversed(names)) or "module"


def _lines(node: Any) -> tuple[int, int]:
    outer = next((child for child, parent in _ancestors(node) if parent.type in _COMPOUND), node)
    (last, column) = outer.end_pos
    return outer.start_pos[0], last if column else last - 1


def _body(node: Any) -> tuple[int, int] | None:
    bodies = [child for child, parent in _ancestors(node) if parent.type == "funcdef"]
    return (
        (bodies[-1].get_first_leaf().get_next_leaf().start_pos[0], bodies[-1].end_pos[0]) if bodies and bodies[-1].type == "suite" else None
    )


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True
