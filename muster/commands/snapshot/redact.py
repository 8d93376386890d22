"""Names replaced by hashes, so that a snapshot can be shared.

Every name of an object and every value of a label is replaced by its position in the sorted order and a hash.  References still
match, ties by name have the same result, and the same cluster gives the same text.  Keys of labels, taints and topologies
are kept, as are numbers, indexes of pods, resources, schedulers, gates and times.  A name that equals a kept text, such as a
driver, is kept too: a selector can compare it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeapi.gather import DEVICE_KINDS
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import Toleration, has_tag
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.redaction import Mark
from kubeapi.resource_names import OF_CLASS, OF_DEVICE_CLASS, OF_STORAGE_CLASS
from kubeapi.selectors import Requirement
from muster.commands.snapshot import selector_texts
from muster.commands.snapshot.fields import FIELDS, UNLIKE
from muster.commands.snapshot.other_projects_fields import key_of
from muster.commands.snapshot.shapes import Each, Entries, IfPresent, OrScalar, Shape
from muster.commands.snapshot.struct_fields import shape_of
from scheduler_core.model.pod_ranks import INDEX_LABELS, is_index

Json = Any
_DIGITS = 10
"""Hexadecimal digits of a hash; the position before it makes names unique."""
_NOT_NAMES = frozenset({"", "0.0.0.0", *SYSTEM_CLASSES})  # noqa: S104 - how core/v1 writes "every address of the host", not a socket
"""Values of name fields that are not hashed."""
_TAG = ":tag"
"""Tag of a hashed image that has a tag."""
_EXPRESSIONS = shape_of(tuple[Requirement, ...])
_TOLERATIONS = shape_of(tuple[Toleration, ...])
_COMPARING = frozenset({"Lt", "Gt"})


def redacted(objects: Sequence[Mapping[str, Json]], salt: bytes) -> list[dict[str, Json]]:
    """Return *objects*, already pruned, with names hashed with *salt*."""
    whole = [_with_namespace(_without_annotations({key: value for key, value in each.items() if key != UNLIKE})) for each in objects]
    texts: set[str] = set()
    for each in whole:
        _changed(each, _fields(each), _noting(texts))
    names = _hashes(texts - _NOT_NAMES - _compared(whole) - _of_devices(whole), salt)
    names |= {f"{pod}-{volume}": f"{names.get(pod, pod)}-{names.get(volume, volume)}" for pod, volume in _ephemeral_volumes(whole)}
    changed = (_changed(each, _fields(each), lambda text: names.get(text, text)) for each in whole)
    return [{**each, UNLIKE: True} if UNLIKE in before else each for before, each in zip(objects, changed, strict=True)]


def _fields(content: Mapping[str, Json]) -> Mapping[str, Shape]:
    group = str(content.get("apiVersion")).rpartition("/")[0]
    return FIELDS[key_of(group, content["kind"])]


def _ephemeral_volumes(objects: Iterable[Mapping[str, Json]]) -> Iterator[tuple[str, str]]:
    """Yield the names of pod and volume that are parts of the name of a claim."""
    for each in objects:
        metadata, spec = each.get("metadata"), each.get("spec")
        if each["kind"] != "Pod" or not isinstance(metadata, Mapping) or not isinstance(spec, Mapping):
            continue
        volumes = spec.get("volumes")
        for volume in volumes if isinstance(volumes, list) else ():
            if isinstance(volume, Mapping) and "ephemeral" in volume:
                yield str(metadata.get("name")), str(volume.get("name"))


def _hashes(texts: Iterable[str], salt: bytes) -> dict[str, str]:
    ordered = sorted(texts)
    width = len(f"{len(ordered):x}")
    return {text: f"{place:0{width}x}-{_hash(text, salt)}{_unsound(text)}" for place, text in enumerate(ordered)}


def _hash(text: str, salt: bytes) -> str:
    return hmac.new(salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:_DIGITS]


def _unsound(text: str) -> str:
    """Return a suffix that keeps an invalid name invalid; empty for a valid name."""
    return "/" if "/" in text or not text.isprintable() else ""


def _without_annotations(content: dict[str, Json]) -> dict[str, Json]:
    """Return a Namespace without annotations, whose texts contain names; any other object as it is."""
    metadata = content.get("metadata")
    if content["kind"] != "Namespace" or not isinstance(metadata, Mapping):
        return content
    return {**content, "metadata": {key: value for key, value in metadata.items() if key != "annotations"}}


def _with_namespace(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object with the default namespace filled in, so that both spellings have the same hash."""
    metadata = content.get("metadata", {})
    if (
        "metadata" not in _fields(content)
        or content["kind"] in CLUSTER_SCOPED
        or not isinstance(metadata, Mapping)
        or metadata.get("namespace", "") != ""
    ):
        return dict(content)
    return {**content, "metadata": {**metadata, "namespace": "default"}}


def _noting(texts: set[str]) -> Callable[[str], str]:
    def note(text: str) -> str:
        texts.add(text)
        return text

    return note


def _compared(objects: Iterable[Mapping[str, Json]]) -> set[str]:
    """Return the values that are compared as numbers, and the values of labels and taints compared with them."""
    keys: set[str] = set()
    values: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for each in objects:
        for key, operator, texts in _expressions(each, _fields(each)):
            if operator in _COMPARING:
                keys.add(key)
                values.update(texts)
        if each["kind"] == "Node":
            pairs |= {*_pairs(each)}
    return {text for text in values | {value for key, value in pairs if key in keys} if text.lstrip("+-").isdigit()}


def _of_devices(objects: Sequence[Mapping[str, Json]]) -> set[str]:
    """Return drivers, values of attributes of which a selector reads parts, and names of attributes and domains in selectors."""
    leaves = [leaf for each in objects if each["kind"] in DEVICE_KINDS for leaf in _leaves(each, FIELDS[each["kind"]])]
    selectors = {str(value) for _, value, leaf in leaves if leaf is Mark.SELECTOR}
    parts = [each for each in selectors if selector_texts.compares_parts(each)]
    words = frozenset().union(*map(selector_texts.words, parts))
    kept = {text for each in parts for text in selector_texts.all_texts(each)}
    kept |= {str(value) for name, value, leaf in leaves if leaf is Mark.ATTRIBUTE and (name in words or name.rpartition("/")[2] in words)}
    texts = {text for each in selectors for text in selector_texts.all_texts(each)}
    keys = {key for each in objects if each["kind"] in DEVICE_KINDS for key in _keys(each, FIELDS[each["kind"]])}
    kept |= texts & {part for key in keys for part in (key, *key.split("/"))}
    return kept | {str(value) for name, value, _ in leaves if name == "driver"}


def _keys(value: Json, shape: Shape) -> Iterator[str]:
    """Yield the keys of objects with any keys, such as names of attributes."""
    match shape:
        case Each() if isinstance(value, list):
            for each in value:
                yield from _keys(each, shape.of)
        case Entries() if isinstance(value, dict):
            yield from value
        case dict() if isinstance(value, dict):
            for key, each in value.items():
                yield from _keys(each, shape[key])


def _leaves(value: Json, shape: Shape, name: str = "") -> Iterator[tuple[str, Json, Mark]]:
    """Yield the scalars of *value*, each with its key; the value of an attribute with the name of the attribute."""
    match shape:
        case Mark():
            yield name, value, shape
        case Each() if isinstance(value, list):
            for each in value:
                yield from _leaves(each, shape.of, name)
        case Entries() if isinstance(value, dict):
            for key, each in value.items():
                yield from _leaves(each, shape.value, key)
        case dict() if isinstance(value, dict):
            for key, each in value.items():
                yield from _leaves(each, shape[key], name if shape[key] is Mark.ATTRIBUTE else key)


def _pairs(node: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    metadata, spec = node.get("metadata"), node.get("spec")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    taints = spec.get("taints") if isinstance(spec, Mapping) else None
    yield from ((key, value) for key, value in (labels if isinstance(labels, Mapping) else {}).items() if isinstance(value, str))
    for each in taints if isinstance(taints, list) else ():
        if isinstance(each, dict) and isinstance(value := each.get("value"), str):
            yield str(each.get("key")), value


def _expressions(value: Json, shape: Shape) -> Iterator[tuple[str, str, list[str]]]:
    """Yield key, operator and values of every selector expression and every toleration."""
    if isinstance(shape, Each) and isinstance(value, list):
        for each in value:
            if isinstance(each, dict) and (shape is _EXPRESSIONS or shape is _TOLERATIONS):
                texts = each.get("values") if shape is _EXPRESSIONS else [each.get("value")]
                listed = texts if isinstance(texts, list) else ()
                yield str(each.get("key")), str(each.get("operator")), [text for text in listed if isinstance(text, str)]
            else:
                yield from _expressions(each, shape.of)
    elif isinstance(shape, IfPresent) and isinstance(value, dict):
        yield from _expressions(value, shape.fields_of(value))
    elif isinstance(shape, dict) and isinstance(value, dict):
        for key, each in value.items():
            yield from _expressions(each, shape[key])


def _changed(value: Json, shape: Shape, rename: Callable[[str], str]) -> Json:
    if isinstance(shape, IfPresent) and isinstance(value, dict):
        shape = shape.fields_of(value)
    match shape:
        case Mark():
            return _leaf(value, shape, rename)
        case Each() if isinstance(value, list):
            return [_changed(each, shape.of, _renaming(each, rename) if shape is _EXPRESSIONS else rename) for each in value]
        case Entries() if isinstance(value, dict):
            pairs = ((key, _leaf(key, shape.key, rename), each) for key, each in value.items())
            return {name: each if _is_rank(key, each) else _changed(each, shape.value, rename) for key, name, each in pairs}
        case OrScalar() if isinstance(value, dict):
            return _changed(value, shape.fields, rename)
        case dict() if isinstance(value, dict):
            return {key: _changed(each, shape[key], rename) for key, each in value.items()}
        case _:
            return value


def _is_rank(key: str, value: Json) -> bool:
    """Return whether a label is the index of a pod, which decides the order of nodes as a number."""
    return key in INDEX_LABELS and isinstance(value, str) and is_index(value)


def _renaming(expression: Json, rename: Callable[[str], str]) -> Callable[[str], str]:
    """Return *rename*, which keeps indexes if a selector's *expression* is about them."""
    if isinstance(expression, dict) and str(expression.get("key")) in INDEX_LABELS:
        return lambda text: text if is_index(text) else rename(text)
    return rename


def _leaf(value: Json, leaf: Mark, rename: Callable[[str], str]) -> Json:
    if not isinstance(value, str):
        return value
    match leaf:
        case Mark.TEXT:
            result = ""
        case Mark.SELECTOR:
            result = selector_texts.renamed(value, rename)
        case Mark.POD_IMAGE:
            result = rename(value if has_tag(value) else f"{value}:latest") + _TAG
        case Mark.NODE_IMAGE:
            result = rename(value) + (_TAG if has_tag(value) else "")
        case Mark.ZONES:
            result = "__".join(map(rename, value.split("__")))
        case Mark.RESOURCE:
            result = _resource(value, rename)
        case Mark.NAME | Mark.ATTRIBUTE:
            result = rename(value)
        case _:
            result = value
    return result


def _resource(resource: str, rename: Callable[[str], str]) -> str:
    """Return the name of a resource with the class in it renamed."""
    head, of_class, name = resource.partition(OF_CLASS)
    if of_class:
        return f"{head}{of_class}{rename(name)}"
    for marker in (OF_STORAGE_CLASS, OF_DEVICE_CLASS):
        name, of_class, of_quota = resource.partition(marker)
        if of_class:
            return f"{rename(name)}{of_class}{of_quota}"
    return resource
