"""The tree of domains as text, with a bar for each resource, or as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi.problem import Problem
from kubeapi.resource_names import size
from muster.commands.topology.domains import SurveyedDomain, SurveyedNode
from muster.render.phrases import WIDTH, fitting, folded, natural
from muster.render.problem_words import object_words, problem_words
from muster.render.root_text import Paint
from scheduler_core.diagnosis.capacity_survey import WITHOUT_GROUP, SurveyedAmount
from scheduler_core.model.names import Name
from validators.reports.counts import counted
from validators.reports.escape import json_text, printable

VERSION = 1
BAR, SHORTEST_BAR = 10, 4
"""Cells of a bar, and of one where lines are narrow."""
PARTS_SHOWN = 24
"""Limit of the domains inside one that are shown, unless all are requested."""
NODES_SHOWN = 24
"""Limit of nodes of a cluster without levels that are shown, unless all are requested."""
_LONGEST = 40
_GAP, _NODES = "  ", "nodes"
_USED, _FREE, _UNUSABLE = "█", "░", "×"  # noqa: RUF001 - a sign in a picture


@dataclasses.dataclass(frozen=True, slots=True)
class _Row:
    lead: str
    title: str
    nodes: int
    amounts: Mapping[str, SurveyedAmount]
    note: str = ""
    """Line below the row."""
    below: str = ""
    """Prefix of that line."""


def as_text(whole: SurveyedDomain, resources: Sequence[str], *, colour: bool, every: bool, columns: int = WIDTH) -> str:
    """Return the tree with a bar for each of *resources*, in lines of *columns*; with *every*, all domains and nodes.

    Where the lines are narrow, bars are shorter, and further resources have a table of their own below.
    """
    page = _Page(Paint(colour), columns, every)
    rows = [*_rows(whole, "", "", page)]
    titles = max(len(f"{row.lead}{row.title}") for row in rows)
    tables = _tables(rows, resources, columns - titles - len(_GAP) - len(_NODES))
    lines = "\n\n".join("\n".join(_table(rows, names, bar, titles, page, notes=number == 0)) for number, (names, bar) in enumerate(tables))
    legend = f"{_USED} used  {_FREE} free"
    if any(each.unusable for row in rows for each in row.amounts.values()):
        closed = "is" if whole.closed == 1 else "are"
        reasons = "cordoned, not ready, or without cpu, memory or pod slots"
        legend += f"  {_UNUSABLE} unusable: {counted(whole.closed, 'node')} {closed} {reasons}"
    return "\n".join([lines, "", *(page.paint.dim(each) for each in folded(legend, "", columns=columns))]) + "\n"


@dataclasses.dataclass(frozen=True, slots=True)
class _Page:
    """Style of the text; with *every*, nothing is omitted."""

    paint: Paint
    columns: int
    every: bool


def _tables(rows: Sequence[_Row], resources: Sequence[str], columns: int) -> list[tuple[Sequence[str], int]]:
    """Return the resources of each table, with the cells of its bars: all in one table if *columns* are enough for shorter bars."""
    widths = {name: max(len(_cell(row.amounts.get(name))) for row in rows) for name in resources}

    def width(names: Sequence[str], bar: int) -> int:
        return sum(len(_GAP) + max(len(name), bar + 1 + widths[name]) for name in names)

    for bar in (BAR, (BAR + SHORTEST_BAR) // 2, SHORTEST_BAR):
        if width(resources, bar) <= columns:
            return [(resources, bar)]
    tables: list[list[str]] = [[]]
    for name in resources:
        if tables[-1] and width([*tables[-1], name], SHORTEST_BAR) > columns:
            tables.append([])
        tables[-1].append(name)
    return [(names, SHORTEST_BAR) for names in tables]


def _table(rows: Sequence[_Row], names: Sequence[str], bar: int, titles: int, page: _Page, *, notes: bool) -> Iterator[str]:
    """Yield the lines of a table about the resources *names*; *notes*: with those below the rows."""
    cells = [[_cell(row.amounts.get(name)) for name in names] for row in rows]
    widths = [max(len(name), bar + 1 + max(len(line[column]) for line in cells)) for column, name in enumerate(names)]
    head = ["".ljust(titles), _NODES, *(name.ljust(width) for name, width in zip(names, widths, strict=True))]
    yield page.paint.bold(_GAP.join(head).rstrip())
    for row, texts in zip(rows, cells, strict=True):
        title = f"{row.lead}{row.title}".ljust(titles)
        bars = [f"{_bar(row.amounts.get(name), bar)} {text}".ljust(width) for name, text, width in zip(names, texts, widths, strict=True)]
        yield _GAP.join([title, f"{row.nodes:5,}" if row.nodes else " " * len(_NODES), *bars]).rstrip()
        if row.note and notes:
            yield page.paint.dim(f"{row.below}{row.note}")


def _rows(domain: SurveyedDomain, lead: str, below: str, page: _Page) -> Iterator[_Row]:
    shown = domain.parts if page.every else domain.parts[:PARTS_SHOWN]
    nodes = domain.members if page.every or (not domain.path and len(domain.members) <= NODES_SHOWN) else ()
    hidden = domain.parts[len(shown) :]
    inner = f"{below}│  " if shown or nodes else f"{below}   "
    note = "" if domain.parts and domain.path else _groups(domain.groups, page.columns - len(inner))
    yield _Row(lead, _short(domain.title, page), domain.nodes, _by_name(domain.amounts), note, inner)
    for number, part in enumerate(shown):
        last = number + 1 == len(shown) and not hidden
        yield from _rows(part, f"{below}{'└─' if last else '├─'} ", f"{below}{'   ' if last else '│  '}", page)
    for number, node in enumerate(nodes):
        last = number + 1 == len(nodes)
        yield _node_row(node, f"{below}{'└─' if last else '├─'} ", f"{below}{'   ' if last else '│  '}", page)
    if hidden:
        rest = sum(part.nodes for part in hidden)
        yield _Row(f"{below}└─ ", f"… and {counted(len(hidden), 'more domain')}", rest, _summed(hidden))


def _node_row(node: SurveyedNode, lead: str, below: str, page: _Page) -> _Row:
    note = "; ".join(filter(None, (node.reason, _groups(node.groups, page.columns - len(below)))))
    return _Row(lead, _short(node.name, page), 0, _by_name(node.amounts), note, f"{below}   ")


def _short(title: str, page: _Page) -> str:
    text, longest = printable(title), min(_LONGEST, page.columns // 3)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _by_name(amounts: Sequence[SurveyedAmount]) -> dict[str, SurveyedAmount]:
    return {each.resource: each for each in amounts}


def _summed(domains: Sequence[SurveyedDomain]) -> dict[str, SurveyedAmount]:
    """Return the sums over *domains*, one at least."""
    columns = zip(*(each.amounts for each in domains), strict=True)
    return {
        column[0].resource: SurveyedAmount(
            column[0].resource,
            sum(each.capacity for each in column),
            sum(each.used for each in column),
            sum(each.free for each in column),
            sum(each.unusable for each in column),
        )
        for column in columns
    }


def _groups(groups: Mapping[Name, int], columns: int) -> str:
    """Return the groups with their numbers of pods, and the number of pods without a group."""
    ordered = sorted((group for group in groups if group != WITHOUT_GROUP), key=lambda each: (-groups[each], natural(_name(each))))
    parts = [f"{printable(_name(each))} {counted(groups[each], 'pod')}" for each in ordered]
    if alone := groups.get(WITHOUT_GROUP, 0):
        parts.append(f"{counted(alone, 'pod')} without a group")
    return fitting(parts, columns) if parts else ""


def _name(group: Name) -> str:
    return f"{group.namespace}/{group.name}"


def _cell(amount: SurveyedAmount | None) -> str:
    """Return ``12 of 64``: used of the capacity."""
    if amount is None or not amount.capacity:
        return "none"
    return f"{size(amount.resource, amount.used)} of {size(amount.resource, amount.capacity)}"


def _bar(amount: SurveyedAmount | None, bar: int) -> str:
    """Return used, unusable and free shares of the capacity in *bar* cells; a share that is not 0 has a cell at least."""
    if amount is None or not amount.capacity:
        return " " * bar
    used = min(_cells(amount.used, amount.capacity, bar), bar - bool(amount.free) - bool(amount.unusable))
    unusable = min(_cells(amount.unusable, amount.capacity, bar), bar - used - bool(amount.free)) if amount.free else bar - used
    if not amount.free and not amount.unusable:
        used, unusable = bar, 0
    return _USED * used + _FREE * (bar - used - unusable) + _UNUSABLE * unusable


def _cells(part: int, whole: int, bar: int) -> int:
    return max(min(round(bar * part / whole), bar), min(part, 1))


def as_json(levels: Sequence[str], whole: SurveyedDomain, problems: Iterable[Problem]) -> str:
    """Return one JSON document: the levels, and every domain, parents first."""
    worded = [{"object": object_words(each), "message": problem_words(each)} for each in problems]
    content = {"version": VERSION, "levels": [*levels], "domains": [_domain(each) for each in whole.walk()], "problems": worded}
    return json_text(content, indent=2)


def _domain(domain: SurveyedDomain) -> dict[str, object]:
    path = [None if each is None else {"key": each.key, "value": each.value} for each in domain.path]
    groups = sorted((each for each in domain.groups if each != WITHOUT_GROUP), key=lambda each: (each.namespace, each.name))
    return {
        "path": path,
        "nodes": domain.nodes,
        "unusableNodes": domain.closed,
        "resources": {each.resource: _amounts(each) for each in domain.amounts},
        "groups": [{"namespace": each.namespace, "name": each.name, "pods": domain.groups[each]} for each in groups],
        "podsWithoutGroup": domain.groups.get(WITHOUT_GROUP, 0),
    }


def _amounts(amount: SurveyedAmount) -> dict[str, float]:
    """Return cpu in cores, memory and storage in bytes, other resources in units."""
    parts = {"capacity": amount.capacity, "used": amount.used, "free": amount.free, "unusable": amount.unusable}
    return {key: value / 1000 if amount.resource == "cpu" else value for key, value in parts.items()}
