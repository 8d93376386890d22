"""Help for the field at a position: its documentation, and the definition of the object or template that it names."""

from __future__ import annotations

import dataclasses

from lsprotocol import types
from pygls.workspace import PositionCodec

from kubeapi.field_path import FieldPath
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.session import Session
from validators import rules
from validators.lint import cursor
from validators.lint.cursor import Cursor
from validators.reports import field_docs


@dataclasses.dataclass(frozen=True, slots=True)
class DefinitionTarget:
    """Definition: a range in a file."""

    file: str
    range: types.Range


def hover(session: Session, path: str, position: types.Position, codec: PositionCodec) -> types.Hover | None:
    """Return the documentation of the field at a position, with the rules about it; those with a finding there come first."""
    at = _cursor(session, path, position, codec)
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
    at = _cursor(session, path, position, codec)
    reference = None if at is None else cursor.reference_at(at)
    if reference is None:
        return None
    document = session.workspace.named(reference.kind, reference.namespace, reference.name)
    if document is None:
        return None
    name: FieldPath | None = FieldPath("metadata", "name")
    if reference.template:
        name = cursor.template_path(document.content, reference.template)
    return None if name is None else DefinitionTarget(document.file, Positions(document.chunk.lines, codec).range_of(document.span(name)))


def _cursor(session: Session, path: str, position: types.Position, codec: PositionCodec) -> Cursor | None:
    documents = session.documents(path)
    if not documents:
        return None
    return cursor.at_offset(documents, Positions(documents[0].chunk.lines, codec).offset(position))
