"""Help for the field at a position: its documentation, and the definition of the object or template that it names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from lsprotocol import types
from pygls.workspace import PositionCodec

from kubeapi.field_path import FieldPath, Part
from muster.commands.lsp import references
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.session import Session
from validators import rules
from validators.lint.documents import Document
from validators.lint.places import Entry, Place
from validators.reports import field_docs


@dataclasses.dataclass(frozen=True, slots=True)
class DefinitionTarget:
    """Definition: a range in a file."""

    file: str
    range: types.Range


@dataclasses.dataclass(frozen=True, slots=True)
class Cursor:
    """Field at a position: its path, and the offsets of its key, or of the item of a list, in the file."""

    document: Document
    path: FieldPath
    start: int
    end: int


def hover(session: Session, path: str, position: types.Position, codec: PositionCodec) -> types.Hover | None:
    """Return the documentation of the field at a position, with the rules about it; those with a finding there come first."""
    at = cursor(session, path, position, codec)
    if at is None:
        return None
    kind = str(at.document.content.get("kind", ""))
    known = rules.discover()
    field = str(at.path)
    reported = [each.rule for each in session.findings(at.document.file) if each.index == at.document.index and each.field == field]
    about = [rule.id for rule in field_docs.rules_about(known.values(), kind, at.path)]
    text = field_docs.markdown(kind, at.path, [known[rule] for rule in dict.fromkeys((*reported, *about))])
    if not text:
        return None
    shown = Positions(at.document.chunk.lines, codec).range_between(at.start, at.end)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), shown)


def definition(session: Session, path: str, position: types.Position, codec: PositionCodec) -> DefinitionTarget | None:
    """Return the definition of the object or template that the field at a position names; None if it is not known."""
    at = cursor(session, path, position, codec)
    named = None if at is None else references.name_at(at.document, at.path)
    if named is None:
        return None
    document = session.workspace.named(named.kind, named.namespace, named.name)
    name = None if document is None else next(references.definitions(document, named), None)
    if at is None or document is None or name is None or (document is at.document and name == at.path):
        return None
    return DefinitionTarget(document.file, Positions(document.chunk.lines, codec).range_of(document.span(name)))


def cursor(session: Session, path: str, position: types.Position, codec: PositionCodec) -> Cursor | None:
    """Return the field at a position; None if there is none, or its document cannot be read."""
    documents = session.documents(path)
    if not documents:
        return None
    return _at_offset(documents, Positions(documents[0].chunk.lines, codec).offset(position))


def _at_offset(documents: Iterable[Document], offset: int) -> Cursor | None:
    """Return the field whose key or single value is at an offset of the file that has *documents*; None between fields."""
    for document in documents:
        within = offset - document.chunk.base
        if not 0 <= within <= len(document.chunk.text):
            continue
        steps = list(_steps(document.chunk.root, within))
        route = document.route
        if len(steps) > len(route) and tuple(part for part, _ in steps[: len(route)]) == route and _is_on(steps[-1][1], within):
            path = FieldPath(*(part for part, _ in steps[len(route) :]))
            last = steps[-1][1]
            return Cursor(document, path, document.chunk.base + last.start, document.chunk.base + last.end)
    return None


def _steps(place: Place, offset: int) -> Iterator[tuple[Part, Entry | Place]]:
    """Yield the keys and indices on the way to the innermost field at an offset, each with its place."""
    current: Place | None = place
    while current is not None and not current.alias:
        inside, current = current.inside, None
        for part, child in inside.items() if isinstance(inside, dict) else enumerate(inside or ()):
            value = child.value if isinstance(child, Entry) else child
            if child.start <= offset <= max(child.end, value.end):
                yield part, child
                current = value
                break


def _is_on(child: Entry | Place, offset: int) -> bool:
    """Return whether an offset is on a key or a single value, not between the fields of a mapping or list."""
    value = child.value if isinstance(child, Entry) else child
    return value.inside is None or value.alias or (isinstance(child, Entry) and offset <= child.end)
