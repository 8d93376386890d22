"""Rename of a template, a group or a Workload, with all references to it in the workspace."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import PositionCodec

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from muster.commands.lsp import field_help, references
from muster.commands.lsp.field_help import Cursor
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.references import NamedObject
from muster.commands.lsp.session import Session
from validators.field import Fix, Repair
from validators.lint import fixes
from validators.lint.documents import Document
from validators.lint.examination import subject_of
from validators.lint.finding import TextFix
from validators.rules import checks, template_names_unique

_KINDS = frozenset({"Workload", "PodGroup", "CompositePodGroup"})


class RenameError(JsonRpcException):
    """Refusal of a rename; the editor shows the message."""

    CODE = types.LSPErrorCodes.RequestFailed.value


def prepare(session: Session, path: str, position: types.Position, codec: PositionCodec) -> types.PrepareRenamePlaceholder:
    """Return the range of the name at a position.

    Raises:
        RenameError: what is there has no name, or its definition is not known.

    """
    at, named = _named(session, path, position, codec)
    _definition(session, named)
    change = _change(session, at.document, at.path, named, "new")
    edit = change.edits[0]
    start, end = edit.start, edit.end
    if at.document.chunk.text[start - at.document.chunk.base] in {'"', "'"}:
        start, end = start + 1, end - 1
    shown = Positions(at.document.chunk.lines, codec).range_between(start, end)
    return types.PrepareRenamePlaceholder(shown, named.template or named.name)


def edits(session: Session, path: str, position: types.Position, new: str, codec: PositionCodec) -> dict[str, list[types.TextEdit]]:
    """Return the edits by file that give the object or template at a position the name *new*.

    Raises:
        RenameError: the name is not valid, or taken; or a reference cannot be changed.

    """
    _, named = _named(session, path, position, codec)
    definition, field = _definition(session, named)
    old = named.template or named.name
    if new == old:
        return {}
    _check_format(session, definition, field, named, new)
    _check_free(session, definition, field, named, new)
    for each in session.unreadable_with(old):
        raise RenameError(f"{session.label(each.file)}:{each.line} cannot be read, and may name {old}: correct it first")
    changed: dict[str, list[types.TextEdit]] = {}
    for document, reference in _occurrences(session, named, old):
        positions = Positions(document.chunk.lines, codec)
        found = _change(session, document, reference, named, new).edits
        changed.setdefault(document.file, []).extend(
            types.TextEdit(positions.range_between(each.start, each.end), each.text) for each in found
        )
    return dict(sorted(changed.items()))


def _named(session: Session, path: str, position: types.Position, codec: PositionCodec) -> tuple[Cursor, NamedObject]:
    at = field_help.cursor(session, path, position, codec)
    named = None if at is None else references.name_at(at.document, at.path)
    # Other API groups have kinds of the same names.
    is_other = at is not None and at.path.parts == ("metadata", "name") and not references.is_of_groups(at.document)
    if at is None or named is None or is_other or named.kind not in _KINDS or not named.name:
        raise RenameError(
            "only the name of a template, a PodGroup, a CompositePodGroup or a Workload can be renamed, here or where it is used"
        )
    return at, named


def _definition(session: Session, named: NamedObject) -> tuple[Document, FieldPath]:
    """Return the document that defines an object or template, and the path of its name.  Raises RenameError: there is not exactly one."""
    found = [(document, path) for document, path in _definitions(session, named)]
    if not found:
        raise RenameError(f"{named} is not in the workspace: rename it where it is defined")
    if len(found) > 1:
        places = " and ".join(_place(session, *each) for each in found[:2])
        raise RenameError(f"{named} is defined more than once, at {places}: which one a reference means is not known")
    return found[0]


def _definitions(session: Session, named: NamedObject) -> Iterator[tuple[Document, FieldPath]]:
    for document in _documents(session, named.name):
        if references.is_of_groups(document):
            yield from ((document, path) for path in references.definitions(document, named))


def _check_format(session: Session, definition: Document, field: FieldPath, named: NamedObject, new: str) -> None:
    by_label = named.kind == "PodGroup" and _is_label_value(session, definition, named)
    formats = [content.label if named.template else content.subdomain, *([content.label_value] if by_label else [])]
    for error in (each for check_value in formats for each in checks.messages(field, new, check_value)):
        raise RenameError(f"{error.path}: {error}")


def _is_label_value(session: Session, definition: Document, named: NamedObject) -> bool:
    """Return whether the name of a PodGroup is the value of a label: that of a custom resource is, and that of others can be."""
    is_custom = served_versions.form_of(subject_of(definition.content).api_version).custom
    return is_custom or any(path.parts[-1] == POD_GROUP_LABEL for _, path in _occurrences(session, named, named.name))


def _check_free(session: Session, definition: Document, field: FieldPath, named: NamedObject, new: str) -> None:
    if named.template:
        taken = [each.path for each in references.templates(definition.content) if each.name == new]
        if taken:
            error = template_names_unique.duplicate(field, new, taken[0])
            raise RenameError(f"{error.path}: {error}")
        return
    target = NamedObject(named.kind, named.namespace, new)
    for document, path in _definitions(session, target):
        raise RenameError(f"{target} exists already, at {_place(session, document, path)}: choose another name")


def _occurrences(session: Session, named: NamedObject, old: str) -> Iterator[tuple[Document, FieldPath]]:
    """Yield the fields of the workspace that define an object or template, or refer to it."""
    for document in _documents(session, old):
        for path in references.named_fields(document.content, old):
            if references.name_at(document, path) == named and (path.parts != ("metadata", "name") or references.is_of_groups(document)):
                yield document, path


def _documents(session: Session, word: str) -> Iterator[Document]:
    """Yield the documents whose text has *word*; quotes and escapes that hide it are not used for names."""
    for _, manifest in sorted(session.workspace.files.items()):
        yield from (each for each in manifest.documents if word in each.chunk.text)


def _change(session: Session, document: Document, path: FieldPath, named: NamedObject, new: str) -> TextFix:
    """Return the edit of a name.  Raises RenameError: the text is not the name alone."""
    change = fixes.edits_at(document, path, Fix(Repair.REPLACE, new, is_safe=True))
    if change is None or not change.is_safe:
        raise RenameError(
            f"{_place(session, document, path)}: an alias, an anchor or a tag writes {named.template or named.name}: write it as plain text first"
        )
    return change


def _place(session: Session, document: Document, path: FieldPath) -> str:
    return f"{session.label(document.file)}:{document.span(path).line}"
