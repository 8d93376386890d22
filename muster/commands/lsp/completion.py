"""Completion of keys, values and names at a position of a text that need not parse."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec

from kubeapi.field_path import FieldPath, Part
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.versions import served_versions
from kubeapi.workloads import PodGroupTemplate, Workload
from muster.commands.lsp import known_fields, references
from muster.commands.lsp.flow_text import ITEM, unquoted
from muster.commands.lsp.known_fields import KnownField
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.references import NamedObject
from muster.commands.lsp.session import Session
from muster.commands.lsp.typed_text import TypedField, typed_at
from validators.lint import documents, fixes
from validators.lint.places import Lines
from validators.model.objects import Object, namespace_of
from validators.model.templates import all_templates
from validators.model.views import Node, ResourceSlice
from validators.reports import field_docs

_NODE_LABELS = ("kubernetes.io/hostname", "topology.kubernetes.io/region", "topology.kubernetes.io/zone")
"""Labels of nodes that Kubernetes and its cloud providers set, by which pods are spread."""
_HEAD = ("apiVersion", "kind", "metadata")
"""Fields of any object."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Choice:
    """Text that can be typed: a key, or a value.

    Attributes:
        opens: for a key, what its value is: ``object``, ``array``, or empty for a single value.
        is_string: whether a value is a string, which may need quotes.

    """

    text: str
    kind: types.CompletionItemKind
    detail: str = ""
    about: str = ""
    opens: str = ""
    is_string: bool = True


def items(session: Session, path: str, position: types.Position, codec: PositionCodec) -> list[types.CompletionItem]:
    """Return what can be typed at a position, in the order in which it is shown."""
    text = session.text(path)
    if text is None:
        return []
    positions = Positions(Lines(text), codec)
    is_json = documents.is_json(path)
    typed = typed_at(text, positions.offset(position), is_json=is_json)
    if typed is None:
        return []
    quote = '"' if is_json else next((each for each in ('"', "'") if text.startswith(each, typed.start, typed.end)), "")
    if is_json and typed.is_key and typed.mappings[-1] is None:
        return []  # an item of a list, which has no key before its bracket
    choices, lacks_dash = _choices(session, typed, unquoted(text[typed.start : typed.end]))
    listed = {each.text: each for each in reversed(choices)}  # of two with one text, the first
    shown = positions.range_between(typed.start, typed.end)
    return [
        types.CompletionItem(
            label=choice.text,
            kind=choice.kind,
            detail=choice.detail or None,
            documentation=types.MarkupContent(types.MarkupKind.Markdown, choice.about) if choice.about else None,
            sort_text=f"{number:05d}",
            filter_text=f"{quote}{choice.text}",
            text_edit=types.TextEdit(shown, ("- " if lacks_dash else "") + _written(typed, choice, quote, 2 if lacks_dash else 0)),
            insert_text_mode=types.InsertTextMode.AsIs,
        )
        for number, choice in enumerate(reversed(listed.values()))
    ]


def _written(typed: TypedField, choice: _Choice, quote: str, deeper: int) -> str:
    """Return the text of a choice in the style of the file; after a key, the begin of its value *deeper* than the key by some columns."""
    if choice.kind != types.CompletionItemKind.Field:
        plain = choice.text if not choice.is_string else "" if quote else fixes.in_yaml(choice.text)
        return (" " if typed.is_directly_after_colon else "") + (plain or f"{quote}{choice.text}{quote}")
    key = f"{quote}{choice.text}{quote}"
    if typed.tail.lstrip().startswith(":"):
        return key
    if typed.column is None or not choice.opens or typed.tail.strip():
        return f"{key}: "
    return f"{key}:\n{' ' * (typed.column + deeper + 2)}{'- ' if choice.opens == 'array' else ''}"


def _choices(session: Session, typed: TypedField, word: str) -> tuple[list[_Choice], bool]:
    """Return what can be typed in place of *word*, and whether it is an item of a list whose dash is missing."""
    kind = typed.in_object("kind")
    version = _version(typed.in_object("apiVersion"), kind)
    path = typed.path[len(typed.route) :]
    field = known_fields.field_at(version, kind, path)
    if not typed.is_key:
        return [*_values(session, typed, path, field)], False
    lacks_dash = field is not None and "array" in field.types and typed.column is not None
    if lacks_dash:
        path = (*path, ITEM)
        field = known_fields.field_at(version, kind, path)
    known = known_fields.fields_of(version, kind, path)
    if not path and not known:
        known = [KnownField(kind, (name,), ()) for name in _HEAD]
    holder = typed.mappings[-1]
    written = holder.keys() if holder is not None else []
    keys = [_key(each) for each in known if each.path[-1] == word or each.path[-1] not in written]
    return keys or ([*_values(session, typed, path, field)] if not known else []), lacks_dash


def _version(api_version: str, kind: str) -> str:
    """Return an API version of a kind: the one that is written, or the only one while that is not."""
    known = known_fields.versions().get(kind, frozenset())
    return next(iter(known)) if not api_version and len(known) == 1 else api_version


def _key(field: KnownField) -> _Choice:
    detail = ", ".join(each for each in (field.type_in_words, "required" if field.is_required else "") if each)
    about = field_docs.markdown(field.kind, FieldPath(*field.path), ())
    if not about and field.values and field.types != ("boolean",):
        about = f"One of {', '.join(field.values)}"
    opens = next((each for each in ("array", "object") if each in field.types), "")
    return _Choice(str(field.path[-1]), types.CompletionItemKind.Field, detail, about, opens)


def _values(session: Session, typed: TypedField, path: Sequence[Part], field: KnownField | None) -> Iterator[_Choice]:
    """Yield the values of a field: names of objects first, then those of its schema."""
    if [*path] in (["apiVersion"], ["kind"]):
        yield from _head(session, typed, str(path[0]))
        return
    namespace = typed.in_object("metadata", "namespace") or "default"
    named = references.reference_at(path, "", namespace, typed.sibling)
    if named is not None:
        yield from _templates(session, typed, named) if references.names_template(path) else _names(session, named)
        return
    if [*path[-1:]] == ["topologyKey"] or [*path[-3:]] == ["topology", ITEM, "key"]:
        yield from _topology_keys(session)
    if field is not None and not {"object", "array"}.intersection(field.types):
        for value in field.values or ((field.default,) if field.default else ()):
            detail = "default" if value == field.default else ""
            yield _Choice(value, types.CompletionItemKind.EnumMember, detail, is_string="string" in field.types)


def _head(session: Session, typed: TypedField, name: str) -> Iterator[_Choice]:
    """Yield the kinds of the API version, or the API versions of the kind: those that Kubernetes serves, the preferred first."""
    known = known_fields.versions()
    kind, api_version = typed.in_object("kind"), typed.in_object("apiVersion")
    if name == "kind":
        fitting = [each for each in known if api_version in known[each]] or [*known]
        yield from (_Choice(each, types.CompletionItemKind.Class) for each in fitting)
        return
    listed = {kind: known[kind]} if kind in known else known
    for each in dict.fromkeys(version for one in listed for version in _served(one, listed[one], session.minor)):
        yield _Choice(each, types.CompletionItemKind.Module)


def _served(kind: str, versions: frozenset[str], minor: int) -> list[str]:
    """Return the API versions of a kind in the version of Kubernetes *minor*, and those of other projects."""
    tabled = {each for each in versions if served_versions.find(each, kind) is not None}
    served = [row.name for row in served_versions.current(kind, minor=minor)] if tabled else []
    return [*served, *sorted(versions - tabled)]


def _names(session: Session, named: NamedObject) -> Iterator[_Choice]:
    objects = session.workspace.objects(named.kind)
    found = {each.metadata.name for each in objects if namespace_of(each) == named.namespace and each.metadata.name}
    further = sorted({*SYSTEM_CLASSES} - found) if named.kind == "PriorityClass" else []
    for name in (*sorted(found), *further):
        yield _Choice(name, types.CompletionItemKind.Reference, named.kind)


def _templates(session: Session, typed: TypedField, named: NamedObject) -> Iterator[_Choice]:
    """Yield the templates of the Workload that is named beside the field, else of all of the namespace; for a group those of its kind."""
    kind = typed.in_object("kind")
    workloads = [each for each in session.workspace.objects("Workload") if namespace_of(each) == named.namespace]
    for workload in workloads:
        if named.name in {"", workload.metadata.name}:
            for name, of in _template_names(session, workload):
                if name and (of == kind or kind not in {"PodGroup", "CompositePodGroup"}):
                    detail = f"{of} template of Workload {workload.metadata.name}"
                    yield _Choice(name, types.CompletionItemKind.Reference, detail)


def _template_names(session: Session, workload: Object) -> list[tuple[str, str]]:
    """Return the names of the templates of a Workload, each with the kind of its groups."""
    if isinstance(workload, Workload):
        return [(each.name, "PodGroup" if isinstance(each, PodGroupTemplate) else "CompositePodGroup") for each in all_templates(workload)]
    document = session.workspace.named("Workload", namespace_of(workload), workload.metadata.name)
    return [(each.name, each.kind) for each in references.templates(document.content)] if document is not None else []


def _topology_keys(session: Session) -> Iterator[_Choice]:
    """Yield the labels of the nodes of the workspace and attributes of its devices, then the well-known labels."""
    labels = {key for node in session.workspace.objects("Node") if isinstance(node, Node) for key in node.metadata.labels or {}}
    slices = (each for each in session.workspace.objects("ResourceSlice") if isinstance(each, ResourceSlice))
    attributes = {name for each in slices for name in each.spec.attribute_names()}
    for key in sorted(labels):
        yield _Choice(key, types.CompletionItemKind.Value, "label of nodes")
    for key in sorted(attributes - labels):
        yield _Choice(key, types.CompletionItemKind.Value, "attribute of devices")
    for key in _NODE_LABELS:
        if key not in labels:
            yield _Choice(key, types.CompletionItemKind.Value, "well-known label")
