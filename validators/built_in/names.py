"""Names, labels and annotations of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in.shared_checks import Content, formatted, items, text
from validators.field import FieldError

Format = Callable[[str], list[str]]
_MOST_ANNOTATIONS = 256 * 1024
"""Bytes of all annotations of an object."""


def metadata(given: Content, at: FieldPath, name_format: Format = content.subdomain) -> Iterator[FieldError]:
    """Yield the errors of the metadata of an object whose name has *name_format*."""
    name, prefix = text(given, "name"), text(given, "generateName")
    if prefix:
        yield from formatted(prefix, at / "generateName", name_format(content.mask_trailing_dash(prefix)))
    if not name and not prefix:
        yield field.required(at / "name", "name or generateName is required")
    elif name:
        yield from formatted(name, at / "name", name_format(name))
    if namespace := text(given, "namespace"):
        yield from formatted(namespace, at / "namespace", content.label(namespace))
    yield from labels(section(given, "labels"), at / "labels")
    yield from annotation_keys(section(given, "annotations"), at / "annotations")
    yield from _finalizers(given, at / "finalizers")
    yield from _owners(given, at)


def _finalizers(given: Content, at: FieldPath) -> Iterator[FieldError]:
    listed = given.get("finalizers")
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        yield from formatted(name, at / index, content.label_key(str(name)))
        if "/" not in str(name) and name not in _FINALIZERS:
            yield field.invalid(at / index, name, "name is neither a standard finalizer name nor is it fully qualified")


def _owners(given: Content, at: FieldPath) -> Iterator[FieldError]:
    listed = items(given, "ownerReferences", at)
    controllers = [path for path, each in listed if each.get("controller") is True]
    if len(controllers) > 1:
        yield field.invalid(at / "ownerReferences", len(controllers), "Only one reference can have Controller set to true")
    for path, each in listed:
        if (each.get("apiVersion"), each.get("kind")) == ("v1", "Event"):
            yield field.invalid(path, "Event", "/v1, Kind=Event is disallowed from being an owner")


_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
"""Finalizers without a domain."""


def labels(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of labels, or of a node selector: keys and values."""
    if content.all_label_keys(given) and content.all_label_values([value for value in given.values() if isinstance(value, str)]):
        return
    for key, value in given.items():
        yield from formatted(key, at, content.label_key(key))
        if isinstance(value, str):
            yield from formatted(value, at, content.label_value(value))


def annotation_keys(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of annotations: keys, and the size of all."""
    if not content.all_label_keys(given):
        for key in given:
            yield from formatted(key, at, content.label_key(key.lower()))
    size = sum(len(key.encode()) + len(str(value).encode()) for key, value in given.items())
    if size > _MOST_ANNOTATIONS:
        yield FieldError(field.ErrorType.TOO_LONG, at, "", f"may not be more than {_MOST_ANNOTATIONS} bytes")
