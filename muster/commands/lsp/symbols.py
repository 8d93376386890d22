"""Outline of a file: its objects, and the templates of Workloads as trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec

from kubeapi.field_path import FieldPath
from muster.commands.lsp import references
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.references import Template
from muster.commands.lsp.session import Session
from validators.lint.documents import Document
from validators.lint.examination import subject_of
from validators.lint.places import Entry, Place

_GROUPS = frozenset({"PodGroup", "CompositePodGroup"})


def outline(session: Session, path: str, codec: PositionCodec) -> list[types.DocumentSymbol]:
    """Return the objects of a file in their order; the templates of a Workload are below it, each below its parent."""
    documents = session.documents(path)
    if not documents:
        return []
    positions = Positions(documents[0].chunk.lines, codec)
    return [_object(each, positions) for each in documents]


def flat(symbols: Iterable[types.DocumentSymbol], uri: str, container: str = "") -> Iterator[types.SymbolInformation]:
    """Yield the symbols of an outline for an editor that shows no tree, each with the name of its parent."""
    for each in symbols:
        yield types.SymbolInformation(types.Location(uri, each.range), each.name, each.kind, container_name=container or None)
        yield from flat(each.children or (), uri, each.name)


def _object(document: Document, positions: Positions) -> types.DocumentSymbol:
    subject = subject_of(document.content)
    kind = types.SymbolKind.Class if subject.kind in _GROUPS else types.SymbolKind.Object
    symbol = _symbol(document, positions, FieldPath(), subject.name or subject.kind or "object", kind)
    symbol.detail = subject.kind if subject.name else None
    if subject.kind == "Workload" and references.is_of_groups(document):
        symbol.children = _templates(document, positions, [*references.templates(document.content)])
    return symbol


def _templates(document: Document, positions: Positions, templates: Sequence[Template]) -> list[types.DocumentSymbol]:
    """Return the templates of a Workload as trees."""
    tops: list[types.DocumentSymbol] = []
    known: dict[FieldPath, types.DocumentSymbol] = {}
    for each in templates:
        symbol = _symbol(document, positions, each.path, each.name or str(each.path), types.SymbolKind.Struct)
        symbol.detail = f"template of {each.kind}s"
        parent = known.get(FieldPath(*each.path.parts[:-2]))
        if parent is None:
            tops.append(symbol)
        else:
            parent.children = [*(parent.children or ()), symbol]
        known[each.path] = symbol
    return tops


def _symbol(document: Document, positions: Positions, path: FieldPath, name: str, kind: types.SymbolKind) -> types.DocumentSymbol:
    """Return the symbol of an object or template; its name is selected if it is written in there."""
    chunk = document.chunk
    way = chunk.way_to(document.route, path)
    whole = way[-1] if way else chunk.root
    value = whole.value if isinstance(whole, Entry) else whole
    start, end = value.start, _trimmed(chunk.text, value)
    at = chunk.way_to(document.route, path / "name" if path.parts else FieldPath("metadata", "name"))
    named = at[-1] if at else None
    shown = (named.start, max(named.end, named.value.end)) if isinstance(named, Entry) else (value.first, value.first_end)
    inside = positions.range_between(chunk.base + max(shown[0], start), chunk.base + min(shown[1], end))
    return types.DocumentSymbol(name, kind, positions.range_between(chunk.base + start, chunk.base + end), inside)


def _trimmed(text: str, place: Place) -> int:
    """Return the offset of the end of a place without the blank lines after it."""
    return max(place.start + len(text[place.start : place.end].rstrip()), place.first_end)
