"""What Kueue refuses of its topology annotations: their values, the sizes of slices, and groups of podsets.

Source: Kueue 0.17.0, ``pkg/controller/jobframework/tas_validation.go``.
That a slice size must divide the podset is stated in its KEP-2724; its scheduler gives the other pods no domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubeapi import content
from kubeapi.content import whole_number
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared import kueue_annotations as names
from workloadbuilder.adapters.shared.kueue_annotations import TopologyRequest, annotation_path, integer, parsed_slices
from workloadbuilder.adapters.shared.pod_template import PodTemplate

_MODES = (names.REQUIRED, names.PREFERRED, names.UNCONSTRAINED)
_MOST_LAYERS, _GROUP_SIZE = 3, 2
_is_boolean = re.compile(r"1|t|T|TRUE|true|True|0|f|F|FALSE|false|False").fullmatch


def errors_of_annotations(template: PodTemplate) -> Iterator[FieldError]:
    """Yield the errors of the annotations of a pod template, whatever the number of its pods."""
    given = template.annotations
    if sum(key in given for key in _MODES) > 1:
        listed = ", ".join(f'"{key}"' for key in _MODES)
        path = template.path.join(("metadata", "annotations"))
        yield field.invalid_struct(path, f"must not contain more than one topology annotation: [{listed}]")
    for key in (names.REQUIRED, names.PREFERRED, names.SLICE):
        for message in content.label_key(given[key]) if key in given else ():
            yield field.invalid(annotation_path(template, key), given[key], message)
    yield from _group(template)
    if names.UNCONSTRAINED in given and not _is_boolean(given[names.UNCONSTRAINED]):
        yield field.invalid(annotation_path(template, names.UNCONSTRAINED), given[names.UNCONSTRAINED], "must be a boolean value")
    yield from _size(template)
    if names.SLICES in given:
        yield from _slices(template)


def _group(template: PodTemplate) -> Iterator[FieldError]:
    given, path = template.annotations, annotation_path(template, names.GROUP)
    if names.GROUP not in given:
        return
    if whole_number(given[names.GROUP]) is not None:
        yield field.invalid(path, given[names.GROUP], "must not be a number")
    for key in (names.SLICE_SIZE, names.SLICE, names.SLICES):
        if key in given:
            yield field.forbidden(path, f"may not be set when '{key}' is specified")
    if names.PREFERRED not in given and names.REQUIRED not in given:
        yield field.forbidden(path, f"may not be set when neither '{names.PREFERRED}' nor '{names.REQUIRED}' is specified")


def _size(template: PodTemplate) -> Iterator[FieldError]:
    given, path = template.annotations, annotation_path(template, names.SLICE_SIZE)
    if names.SLICE_SIZE in given:
        size = integer(given[names.SLICE_SIZE])
        if size is None:
            yield field.invalid(path, given[names.SLICE_SIZE], "must be a numeric value")
        elif size < 1:
            yield field.invalid(path, given[names.SLICE_SIZE], "must be greater than or equal to 1")
        if names.SLICE not in given:
            yield field.forbidden(path, f"may not be set when '{names.SLICE}' is not specified")
    elif names.SLICE in given:
        yield field.required(path, f"must be set when '{names.SLICE}' is specified")


def _slices(template: PodTemplate) -> Iterator[FieldError]:
    given, path = template.annotations, annotation_path(template, names.SLICES)
    for key in (names.SLICE, names.SLICE_SIZE):
        if key in given:
            yield field.forbidden(path, f"may not be set when '{key}' is specified")
    listed = parsed_slices(given[names.SLICES])
    if listed is None:
        yield field.invalid(path, given[names.SLICES], "must be a valid JSON array")
        return
    if not 0 < len(listed) <= _MOST_LAYERS:
        detail = f"topology constraints must contain between 1 and {_MOST_LAYERS} entries"
        yield field.invalid(path, given[names.SLICES], detail)
        return
    above = 0
    seen: set[str] = set()
    for index, each in enumerate(listed):
        topology, size, at = str(each.get("topology") or ""), each.get("size"), path / index
        for message in content.label_key(topology):
            yield field.invalid(at / "topology", topology, message)
        if topology in seen:
            yield field.duplicate(at / "topology", topology)
        seen.add(topology)
        if not names.is_size(size):
            yield field.invalid(at / "size", size, "must be greater than or equal to 1")
            continue
        if above and above % size:
            yield field.invalid(at / "size", size, f"must evenly divide the parent layer size {above}")
        above = size


def errors_of_size(request: TopologyRequest, count: int) -> Iterator[FieldError]:
    """Yield the error of the size of the largest slices of a podset of *count* pods."""
    for layer in request.layers[:1]:
        path = FieldPath(*layer.path.parts[:-1], Key(names.SLICE_SIZE)) if layer.path.parts[-1] == names.SLICE else layer.path
        if layer.size > count:
            yield field.invalid(path, layer.size, f"must not be greater than pod set count {count}")
        elif count % layer.size:
            yield field.invalid(path, layer.size, f"must evenly divide pod set count {count}")


def errors_of_groups(podsets: Iterable[tuple[PodTemplate, int]]) -> Iterator[FieldError]:
    """Yield the errors of the groups of the podsets of an object; each has a template and a number of pods."""
    groups: dict[str, list[tuple[PodTemplate, int]]] = {}
    for template, count in podsets:
        given = template.annotations
        if names.GROUP in given and (names.REQUIRED in given or names.PREFERRED in given):
            groups.setdefault(given[names.GROUP], []).append((template, count))
    for group, members in groups.items():
        paths = [annotation_path(template, names.GROUP) for template, _ in members]
        if len(members) != _GROUP_SIZE:
            detail = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
            yield field.invalid(paths[0], group, detail)
            continue
        (one, first), (other, second) = members
        if 1 not in (first, second):
            detail = "can only define groups where at least one pod set has only 1 replica, got: "
            yield field.invalid(paths[0], group, f"{detail}{first} replica(s) and {second} replica(s) in the group")
        if any(one.annotations.get(key) != other.annotations.get(key) for key in (names.REQUIRED, names.PREFERRED)):
            detail = f"must specify '{names.REQUIRED}' or '{names.PREFERRED}' topology consistent with '{paths[1]}' in group '{group}'"
            yield field.invalid_struct(paths[0], detail)
