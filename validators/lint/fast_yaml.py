"""YAML documents in the usual layout of manifests to values and to places, many times as fast as ``yaml_text``.

A document has this layout if each of its lines has one of the forms of ``usual_lines``: then only the indents decide which
mapping or list a line belongs to.  Both functions return None for all other documents, and for errors; the caller then calls
``yaml_text``, whose results are equal.  Lines repeat within and between documents: a line is read once.  Many documents differ only in
values: for these, a function is compiled that makes the document from the values of its lines.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from validators.lint import usual_lines
from validators.lint.limits import MOST_NODES
from validators.lint.places import Entry, Place
from validators.lint.usual_lines import Fields, LineForm


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
        line = usual_lines.read(text)
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
        line = usual_lines.read(text)
        return line and line[1]


_shapes, _values = _Shapes(), _Values()
_plans: dict[tuple[LineShape, ...], Plan | int] = {}
"""Plans by the shapes of all lines; until there is one, the number of documents so far."""
_OPEN, _FLOW_ENTRY, _ITEM = LineForm.OPEN, LineForm.FLOW_ENTRY, LineForm.ITEM
_FLOW = {LineForm.FLOW_ENTRY, LineForm.FLOW_ITEM}
NEXT_LIST, NEXT_MAPPING = 4, 3
"""Levels from a list to the list or mapping that is its item on the same line: the item is indented by two."""


def mapping(text: str) -> dict[str, object] | None:
    """Return the document in *text* if it is a mapping in the usual layout; its value equals that of ``yaml_text.values``.  Else None."""
    listed = lines(text)
    if listed is None:
        return None
    shapes, values = listed
    if len(shapes) > _MOST_LINES:
        return _built(shapes, values)
    plan = _plans.get(shapes, 0)
    if not isinstance(plan, int):
        return plan(*values)
    content = _built(shapes, values)
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


def _built(shapes: Sequence[LineShape], values: Sequence[Any]) -> dict[str, object] | None:  # noqa: C901, PLR0912 - without calls: all lines of all files go through it
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
    """Return the plan of a document that ``_built`` accepts: an expression of mappings, lists, keys, and values."""
    forms = [shape.fields[2] for shape in shapes]
    leaves = [None if form == _OPEN else _Leaf(f"v{at}", copied=form in _FLOW) for at, form in enumerate(forms)]
    names = [ast.arg(f"v{number}") for number in range(len(shapes))]
    arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.Expression(ast.Lambda(arguments, _expression(_built(shapes, leaves))))
    # No text is evaluated: keys are constants of the tree.
    plan: Plan = eval(compile(ast.fix_missing_locations(function), "<plan>", "eval"), {"copy": _copy})  # noqa: S307
    return plan


def survey(text: str) -> Place | None:
    """Return the places of the document in *text*, equal to those of ``yaml_text.survey``; None if ``mapping`` returns None.

    It is also None if the document has a list or mapping in flow style that is not empty.
    """
    listed = lines(text)
    if listed is None or _built(*listed) is None:
        return None
    shapes, values = listed
    if any(shape.fields[2] in _FLOW and value for shape, value in zip(shapes, values, strict=True)):
        return None
    texts = text.split("\n")
    offset = 0
    if len(texts) > len(shapes):  # a marker
        offset = len(texts.pop(0)) + 1
    places = _Survey(len(text))
    for shape, value, each in zip(shapes, values, texts, strict=True):
        places.add(shape.fields, value, each.removesuffix("\r"), offset)
        offset += len(each) + 1
    return places.root()


class _Open:
    """Mapping or list that is being read."""

    __slots__ = ("entry", "first", "inside", "level", "listed", "start")

    def __init__(self, level: int, start: int) -> None:
        self.level = level
        self.start = start
        self.inside: dict[str, Entry] = {}
        self.listed: list[Place] = []
        self.first: tuple[int, int] | None = None
        self.entry: tuple[str, int, int] | None = None
        """Key without a value yet: its text and offsets."""

    def open_entry(self, key: str, start: int, end: int) -> None:
        self.first = self.first or (start, end)
        self.entry = key, start, end

    def add(self, place: Place) -> None:
        if self.entry is None:
            self.listed.append(place)
        else:
            key, start, end = self.entry
            self.inside[key] = Entry(start, end, place)
            self.entry = None

    def end_entry(self) -> None:
        """Give an open entry the empty value after its colon."""
        if self.entry is not None:
            after = self.entry[2] + 1
            self.add(Place(after, after, after, after))

    def place(self, end: int) -> Place:
        self.end_entry()
        if self.first is None:
            return Place(self.start, end, self.start, end, tuple(self.listed))
        return Place(self.start, end, *self.first, self.inside)


class _Survey:
    """Places of a document in the usual layout, whose text has *end* characters."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._stack: list[_Open] = []

    def root(self) -> Place:
        """Return the place of the document, after all lines were added."""
        while len(self._stack) > 1:
            self._close(self._end)
        return self._stack[0].place(self._end)

    def add(self, fields: Fields, value: object, text: str, offset: int) -> None:
        """Add the next line, whose *text* begins at *offset*."""
        level, dashes, form, key = fields
        if level < 0:
            return
        columns = usual_lines.columns(text)
        start, stack = offset + level // 2, self._stack
        while stack and stack[-1].level > level:
            self._close(start)
        if stack and stack[-1].level == level:
            stack[-1].end_entry()
        else:
            stack.append(_Open(level, start))
        for number in range(1, dashes):
            stack.append(_Open(stack[-1].level + NEXT_LIST, start + 2 * number))
        if form < _ITEM:
            start += 2 * dashes
            if dashes:
                stack.append(_Open(stack[-1].level + NEXT_MAPPING, start))
            stack[-1].open_entry(key, start, offset + columns.key_end)
        if form != _OPEN:
            start, end = offset + columns.value, offset + columns.value_end
            inside: dict[str, Entry] | tuple[Place, ...] | None = () if isinstance(value, list) else None
            stack[-1].add(Place(start, end, start, end, {} if isinstance(value, dict) else inside))

    def _close(self, end: int) -> None:
        place = self._stack.pop().place(end)
        self._stack[-1].add(place)
