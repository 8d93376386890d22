"""YAML documents in the usual layout of manifests to values, many times as fast as ``yaml_text``; ``fast_yaml_places`` has the places.

A document has this layout if each of its lines has one of the forms of ``fast_yaml_lines``: then only the indents decide which
mapping or list a line belongs to.  The functions return None for all other documents, and for errors; the caller then calls
``yaml_text``, whose results are equal.  Lines repeat within and between documents: a line is read once.  Many documents differ only in
values: for these, a function is compiled that makes the document from the values of its lines.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from validators.lint import fast_yaml_lines
from validators.lint.fast_yaml_lines import Fields, LineForm
from validators.lint.limits import MOST_NODES


class LineShape:
    """Line without its value.  Lines with equal fields have the same shape, so shapes are compared by identity, which is faster."""

    __slots__ = ("fields",)

    def __init__(self, fields: Fields) -> None:
        self.fields = fields


Lines = tuple[tuple[LineShape, ...], list[Any]]
"""Shapes and values of the lines of a document."""
Plan = Callable[..., dict[str, object]]
"""Function from the values of all lines to the document."""
_MOST_KNOWN = 20_000
_MOST_PLANS = 500
_MOST_LINES = 500
"""Lines of a document for which a plan is compiled."""
_REPEATED = 30
"""Documents with the same shapes after which a plan saves more time than its compilation takes."""


class _Shapes(dict[str, LineShape]):
    """Shapes of lines that were read, by their text; a line without a usual form is missing."""

    def __init__(self) -> None:
        self._by_fields: dict[Fields, LineShape] = {}

    def __missing__(self, text: str) -> LineShape:
        line = fast_yaml_lines.read(text)
        if line is None:
            raise KeyError(text)
        if len(self) >= _MOST_KNOWN:
            for known in (self, self._by_fields, _values):
                known.clear()
        fields, _values[text] = line
        shape = self._by_fields.get(fields)
        if shape is None:
            shape = self._by_fields[fields] = LineShape(fields)
        self[text] = shape
        return shape


class _Values(dict[str, Any]):
    """Values of the same lines."""

    def __missing__(self, text: str) -> Any:
        """Return the value of a line that was forgotten while its document was read."""
        line = fast_yaml_lines.read(text)
        return line and line[1]


_shapes, _values = _Shapes(), _Values()
_plans: dict[tuple[LineShape, ...], Plan | int] = {}
"""Plans by the shapes of all lines; until there is one, the number of documents so far."""
_OPEN, _FLOW_ENTRY, _ITEM = LineForm.OPEN, LineForm.FLOW_ENTRY, LineForm.ITEM
FLOW = {LineForm.FLOW_ENTRY, LineForm.FLOW_ITEM}
NEXT_LIST, NEXT_MAPPING = 4, 3
"""Levels from a list to the list or mapping that is its item on the same line: the item is indented by two."""


def mapping(text: str) -> dict[str, object] | None:
    """Return the document in *text* if it is a mapping in the usual layout; its value equals that of ``yaml_text.values``.  Else None."""
    listed = lines(text)
    if listed is None:
        return None
    shapes, values = listed
    if len(shapes) > _MOST_LINES:
        return built(shapes, values)
    plan = _plans.get(shapes, 0)
    if not isinstance(plan, int):
        return plan(*values)
    content = built(shapes, values)
    if content is not None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[shapes] = plan + 1 if plan < _REPEATED else _compiled(shapes)
    return content


def lines(text: str) -> Lines | None:
    """Return the lines of a document; None if one of them has no usual form."""
    if len(text) > MOST_NODES:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    texts = text.removeprefix("---\n").split("\n")
    try:
        return tuple(map(_shapes.__getitem__, texts)), list(map(_values.__getitem__, texts))
    except KeyError:
        return None


def built(shapes: Sequence[LineShape], values: Sequence[Any]) -> dict[str, object] | None:  # noqa: C901, PLR0912 - without calls: all lines of all files go through it
    """Return the value of a document; None if it is no mapping, a line belongs to no mapping or list, or a key occurs twice."""
    root: dict[str, object] = {}
    current: Any = root
    at = next((shape.fields[0] for shape in shapes if shape.fields[0] >= 0), 1)
    if at % 2:  # a list, or nothing
        return None
    outer: list[tuple[Any, int]] = [(None, -1)]
    opened = None
    for shape, value in zip(shapes, values, strict=True):
        level, dashes, form, key = shape.fields
        if level != at:
            if level < 0:
                continue
            if level > at:
                if opened is None:
                    return None
                outer.append((current, at))
                current[opened] = current = [] if dashes else {}
                at = level
            else:
                while level < at:
                    current, at = outer.pop()
                if level != at:
                    return None
        opened = None
        if dashes:
            for _ in range(1, dashes):
                outer.append((current, at))
                current.append(current := [])
                at += NEXT_LIST
            if form >= _ITEM:
                current.append(value if form == _ITEM else _copy(value))
                continue
            outer.append((current, at))
            current.append(current := {})
            at += NEXT_MAPPING
        if key in current:
            return None
        opened = key if form == _OPEN else None
        current[key] = _copy(value) if form == _FLOW_ENTRY else value
    return root


def _copy(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()} if value else {}
    return [_copy(each) for each in value] if isinstance(value, list) else value


class _Leaf:
    """Value of a line in a plan: an argument, copied if it can be changed."""

    __slots__ = ("expression",)

    def __init__(self, argument: str, *, copied: bool) -> None:
        name = ast.Name(argument, ast.Load())
        self.expression: ast.expr = ast.Call(ast.Name("copy", ast.Load()), [name], []) if copied else name


def _expression(part: object) -> ast.expr:
    if isinstance(part, dict):
        return ast.Dict([*map(ast.Constant, part)], [*map(_expression, part.values())])
    if isinstance(part, list):
        return ast.List([*map(_expression, part)], ast.Load())
    return part.expression if isinstance(part, _Leaf) else ast.Constant(None)


def _compiled(shapes: Sequence[LineShape]) -> Plan:
    """Return the plan of a document that ``built`` accepts: an expression of mappings, lists, keys, and values."""
    forms = [shape.fields[2] for shape in shapes]
    leaves = [None if form == _OPEN else _Leaf(f"v{at}", copied=form in FLOW) for at, form in enumerate(forms)]
    names = [ast.arg(f"v{number}") for number in range(len(shapes))]
    arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.Expression(ast.Lambda(arguments, _expression(built(shapes, leaves))))
    # No text is evaluated: keys are constants of the tree.
    plan: Plan = eval(compile(ast.fix_missing_locations(function), "<plan>", "eval"), {"copy": _copy})  # noqa: S307
    return plan
