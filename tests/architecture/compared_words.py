"""Contract about results of ``wording``: nothing in ``muster`` compares them, or uses them as keys.

They are followed through local names, arguments and results of functions; not through fields of objects.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence

from tests.architecture.modules import Module, called
from tests.architecture.naming import COMPARES_OTHER_TEXT

_WORDING = "scheduler_core.wording."
_TEXTS = frozenset({"str", "Clause", "Enumeration", "GroupCondition", "Sentence"})
"""Types of texts in the results of functions."""
_COUNTS = frozenset({"any", "all", "bool", "isinstance", "len", "max", "min", "sum"})
"""Functions whose results are no text whatever their arguments are."""
_KEYED = frozenset({"setdefault", "fromkeys", "index", "count", "find"})
"""Methods that look up their first argument."""
_SETS = frozenset({"set", "frozenset", "Counter"})
_COMPARING = (ast.In, ast.NotIn, ast.Eq, ast.NotEq)
_BINDING = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension)
_RETURNING = (ast.Return, ast.Yield, ast.YieldFrom)


def words_are_not_compared(modules: Sequence[Module]) -> Iterator[str]:
    texts = {
        (module.name, node.name)
        for module in modules
        if module.name.startswith(_WORDING)
        for node in module.nodes
        if isinstance(node, ast.FunctionDef) and _returns_text(node)
    }
    readers = [_Reader(module) for module in modules if module.package == "muster"]
    while sum(reader.follow(texts) for reader in readers):
        pass
    for reader in readers:
        yield from reader.violations()


def _returns_text(function: ast.FunctionDef) -> bool:
    return function.returns is not None and any(isinstance(node, ast.Name) and node.id in _TEXTS for node in ast.walk(function.returns))


@dataclasses.dataclass(eq=False)
class _Function:
    """Function with its nodes, the names in it, and those of them that are bound to texts."""

    tree: ast.FunctionDef
    nodes: tuple[ast.AST, ...]
    names: frozenset[str]
    words: set[str] = dataclasses.field(default_factory=set)

    @classmethod
    def from_tree(cls, tree: ast.FunctionDef) -> _Function:
        nodes = tuple(ast.walk(tree))
        dotted = (f"{node.value.id}.{node.attr}" for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
        return cls(tree, nodes, frozenset({*(node.id for node in nodes if isinstance(node, ast.Name)), *dotted}))

    @property
    def parameters(self) -> list[str]:
        return [each.arg for each in (*self.tree.args.posonlyargs, *self.tree.args.args)]


class _Reader:
    """Module that may read texts: its functions, and how it calls those that return texts."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._functions = {tree.name: _Function.from_tree(tree) for tree in module.nodes if isinstance(tree, ast.FunctionDef)}
        imports = (node for node in module.nodes if isinstance(node, ast.ImportFrom))
        self._imports = [(each.asname or each.name, node.module or "", each.name) for node in imports for each in node.names]
        self._texts: set[str] = set()

    def follow(self, texts: set[tuple[str, str]]) -> bool:
        """Follow *texts*, functions that return texts, by one step, and add functions of this module; return whether there was one."""
        before = len(texts), self._size()
        self._texts |= {name for owner, name in texts if owner == self.module.name}
        for own, source, imported in self._imports:
            self._texts |= {own} if (source, imported) in texts else set()
            self._texts |= {f"{own}.{name}" for owner, name in texts if owner == f"{source}.{imported}"}
        for function in self._readers():
            for node in function.nodes:
                if isinstance(node, _BINDING):
                    self._bind(node, function)
                elif isinstance(node, ast.Call) and (other := self._functions.get(called(node))) is not None:
                    other.words |= {name for name, each in zip(other.parameters, node.args, strict=False) if self._carries(each, function)}
                elif isinstance(node, _RETURNING) and node.value is not None and _returns_text(function.tree):
                    if self._carries(node.value, function):
                        texts.add((self.module.name, function.tree.name))
        return before != (len(texts), self._size())

    def violations(self) -> Iterator[str]:
        for function in self._readers():
            for each in (compared for node in function.nodes for compared in _compares(node)):
                if self._carries(each, function) and (self.module.name, ast.unparse(each)) not in COMPARES_OTHER_TEXT:
                    yield self.module.at(each.lineno, f"{ast.unparse(each)} has words of ours: compare values")

    def _readers(self) -> list[_Function]:
        return [each for each in self._functions.values() if each.words or not each.names.isdisjoint(self._texts)]

    def _size(self) -> int:
        return sum(len(each.words) for each in self._functions.values())

    def _bind(self, node: ast.AST, function: _Function) -> None:
        """Add the names that *node* binds to texts."""
        match node:
            case ast.Assign(targets=[*targets], value=value):
                pairs = [pair for target in targets for pair in _one_by_one(target, value)]
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                pairs = [(target, value)]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                pairs = _items(target, value)
            case _:
                return
        for target, value in pairs:
            if self._carries(value, function):
                named = target.value if isinstance(target, ast.Subscript) else target
                function.words |= {each.id for each in ast.walk(named) if isinstance(each, ast.Name)}

    def _carries(self, node: ast.AST, function: _Function) -> bool:  # noqa: PLR0911 - one case for each kind of node
        """Return whether *node* is or has a text: a call of a function that returns one, or a name bound to one."""
        match node:
            case ast.Name(id=name):
                return name in function.words or name in self._texts
            case ast.Call():
                name = called(node)
                if name in self._texts:
                    return True
                # An object has texts in fields.
                if name in _COUNTS or name.rpartition(".")[2][:1].isupper():
                    return False
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return False
            case ast.ListComp(elt=value) | ast.GeneratorExp(elt=value) | ast.SetComp(elt=value) | ast.DictComp(value=value):
                return self._carries(value, function)
            case ast.IfExp():
                return self._carries(node.body, function) or self._carries(node.orelse, function)
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if f"{owner}.{attribute}" in self._texts:
                return True
        return any(self._carries(each, function) for each in ast.iter_child_nodes(node))


def _one_by_one(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the parts of a tuple with their values."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [*zip(target.elts, value.elts, strict=True)]
    return [(target, value)]


def _items(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the parts of the items of *value*, with what they are items of."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
        match called(value).rpartition(".")[2]:
            case "zip":
                return [*zip(target.elts, value.args, strict=False)]
            case "enumerate" | "items":
                return [(target.elts[1], value)]
    return [(target, value)]


def _compares(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what *node* compares, or uses as a key."""
    match node:
        case ast.Compare() if any(isinstance(each, _COMPARING) for each in node.ops):
            yield from (node.left, *node.comparators)
        case ast.Call(args=[first, *_]) if isinstance(node.func, ast.Attribute) and node.func.attr in _KEYED:
            yield first
        case ast.Call(args=[first, *_]) if called(node) in _SETS:
            yield first
        case ast.SetComp(elt=key) | ast.DictComp(key=key):
            yield key
