"""Help for the field at a position: its documentation, and the definition of the object or template that it names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from lsprotocol import types
from pygls.workspace import PositionCodec

from kubeapi.field_path import FieldPath, Part
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.session import Session
from validators import rules
from validators.lint.documents import Document
from validators.lint.examination import subject_of
from validators.lint.places import Entry, Place
from validators.model.templates import COMPOSITES, LEAVES
from validators.reports import field_docs

_TARGETS = {
    "podGroupName": "PodGroup",
    "parentCompositePodGroupName": "CompositePodGroup",
    "workloadName": "Workload",
    "priorityClassName": "PriorityClass",
}
"""Fields whose value is the name of an object, with its kind."""
_TEMPLATE = "templateName"


@dataclasses.dataclass(frozen=True, slots=True)
class DefinitionTarget:
    """Definition: a range in a file."""

    file: str
    range: types.Range


@dataclasses.dataclass(frozen=True, slots=True)
class _Cursor:
    """Field at a position: its path, and the offsets of its key, or of the item of a list, in the file."""

    document: Document
    path: FieldPath
    start: int
    end: int

    @property
    def value(self) -> object:
        """The value of the field."""
        value: object = self.document.content
        for part in self.path.parts:
            value = _item(value, part)
        return value


@dataclasses.dataclass(frozen=True, slots=True)
class _NamedObject:
    """Object that a field names; and the template in it, if the field names one."""

    kind: str
    namespace: str
    name: str
    template: str = ""


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
    reference = None if at is None else _reference_at(at)
    if reference is None:
        return None
    document = session.workspace.named(reference.kind, reference.namespace, reference.name)
    if document is None:
        return None
    name: FieldPath | None = FieldPath("metadata", "name")
    if reference.template:
        name = _template_path(document.content, reference.template)
    return None if name is None else DefinitionTarget(document.file, Positions(document.chunk.lines, codec).range_of(document.span(name)))


def _cursor(session: Session, path: str, position: types.Position, codec: PositionCodec) -> _Cursor | None:
    documents = session.documents(path)
    if not documents:
        return None
    return _at_offset(documents, Positions(documents[0].chunk.lines, codec).offset(position))


def _at_offset(documents: Iterable[Document], offset: int) -> _Cursor | None:
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
            return _Cursor(document, path, document.chunk.base + last.start, document.chunk.base + last.end)
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


def _reference_at(cursor: _Cursor) -> _NamedObject | None:
    """Return what the field at the cursor names, as an object or a template of a Workload; None if it names nothing."""
    name = str(cursor.path.parts[-1]) if cursor.path.parts else ""
    value = cursor.value
    if not isinstance(value, str) or not value:
        return None
    namespace = subject_of(cursor.document.content).namespace or "default"
    if name in _TARGETS:
        return _NamedObject(_TARGETS[name], "" if name == "priorityClassName" else namespace, value)
    if name == _TEMPLATE:
        workload = _Cursor(cursor.document, FieldPath(*cursor.path.parts[:-1], "workloadName"), 0, 0).value
        return _NamedObject("Workload", namespace, workload, value) if isinstance(workload, str) else None
    return None


def _template_path(content: object, name: str) -> FieldPath | None:
    """Return the path of the name of a template in a Workload."""
    waiting: list[tuple[FieldPath, object]] = [(FieldPath("spec"), _item(content, "spec"))]
    while waiting:
        path, holder = waiting.pop(0)
        for field in (LEAVES, COMPOSITES):
            templates = _item(holder, field)
            for index, template in enumerate(templates if isinstance(templates, list) else ()):
                below = path / field / index
                if _item(template, "name") == name:
                    return below / "name"
                waiting.append((below, template))
    return None


def _item(value: object, part: Part) -> object:
    if isinstance(value, dict):
        return value.get(part)
    return value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None
