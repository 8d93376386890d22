"""Values of new objects that no API server accepts, in the words of ``validation``; an object with one is left out.

``fit`` validates new objects completely.  A simulation also takes objects that are not complete, such as pods without an image; of
these, only the values that decide on the placement are validated.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping

from expansion.admission import validation
from expansion.admission.quota_charges import is_new
from kubeapi import decode
from kubeapi.decode import Json
from kubeapi.gather import left_out, written_name
from kubeapi.gathered import GatheredObjects, Given, ObjectList, StoredObjects, Unusable, content_of
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.problem import Problem
from kubeapi.versions import served_versions
from kubeapi.versions.kubernetes_releases import TODAY
from validators.field import ErrorType, FieldError

_GROUPS = frozenset({"PodGroup", "CompositePodGroup", "Workload", "PriorityClass"})
_OF_PODS = ("affinity", "preemptionPolicy", "tolerations", "topologySpreadConstraints")
_CONTAINERS, _PORTS = "containers", "ports"
_MARKS = (*(f'"{each}"'.encode() for each in _OF_PODS), b'"hostPort"')
"""Fields of pods that are validated: quantities are validated when they are read."""
_LABEL = f'"{POD_GROUP_LABEL}"'.encode(), b'"schedulingGroup"'
"""Marks of pods that name their PodGroup in both ways."""
_CACHED = 1024


def without_invalid(objects: Iterable[Given], problems: list[Problem], kubernetes: int = TODAY) -> Iterator[Given]:
    """Yield *objects* without new groups and pods that have an invalid value in Kubernetes 1.*kubernetes*, which are added to *problems*."""
    for each in objects:
        if isinstance(each, GatheredObjects):
            if not _is_invalid(each, problems, kubernetes):
                yield each
        elif isinstance(each, StoredObjects) and each.kind in _GROUPS:
            listed = ObjectList()
            listed.extend(each)
            yield from listed.given(lambda stored: _is_invalid(stored, problems, kubernetes))
        else:
            # Created objects are valid, and the pods of a large file are those of a cluster.
            yield each


def _is_invalid(gathered: GatheredObjects, problems: list[Problem], kubernetes: int) -> bool:
    """Return whether a new object has an invalid value, which is added to *problems*."""
    if (gathered.kind not in _GROUPS and gathered.kind != "Pod") or not is_new(gathered):
        return False
    try:
        errors = _errors_of_pod(gathered.text) if gathered.kind == "Pod" else _errors_of_group(gathered, kubernetes)
    except Unusable:
        # Its reader reports the problem.
        return False
    if errors:
        namespace, name = written_name(gathered.text)
        place = "" if gathered.kind in CLUSTER_SCOPED else namespace or "default"
        words = "; ".join(map(validation.described, errors))
        problems.append(left_out(gathered.kind, (place, name), words))
    return bool(errors)


def _errors_of_group(gathered: GatheredObjects, kubernetes: int) -> tuple[FieldError, ...]:
    content = gathered.content()
    # Most groups differ only in their names.
    return _errors_of_content(decode.ENCODER.encode({**content, "metadata": {"name": "group"}}), kubernetes)


@functools.lru_cache(maxsize=_CACHED)
def _errors_of_content(text: bytes, kubernetes: int) -> tuple[FieldError, ...]:
    content = content_of(text)
    return tuple(each for each in validation.errors_of_object(content, kubernetes=kubernetes) if _is_of_value(each, content))


def _errors_of_pod(text: decode.Text) -> tuple[FieldError, ...]:
    whole = bytes(text)
    if all(mark in whole for mark in _LABEL) and (errors := tuple(validation.errors_of_label(content_of(text)))):
        return errors
    if not any(mark in whole for mark in _MARKS):
        return ()
    try:
        spec = decode.FIELDS.decode(decode.FIELDS.decode(text)["spec"])
    except (ValueError, KeyError, RecursionError):
        return ()
    names = (*_OF_PODS, *((_CONTAINERS,) if b'"hostPort"' in whole else ()))
    return _errors_of_fields(tuple((name, bytes(spec[name])) for name in names if name in spec))


@functools.lru_cache(maxsize=_CACHED)
def _errors_of_fields(fields: tuple[tuple[str, bytes], ...]) -> tuple[FieldError, ...]:
    """Return the errors of some fields of the specification of a pod, by name, as JSON."""
    text = b",".join(b'"%b":%b' % (name.encode(), value) for name, value in fields)
    spec = content_of(b"{%b}" % text)
    found = validation.errors_of_spec(decode.encode({_CONTAINERS: [{"name": "c", "image": "c"}], **spec}))
    return tuple(
        each
        for each in found
        if _is_of_value(each, {"spec": spec})
        and each.origin != validation.UNKNOWN
        and (_CONTAINERS not in each.path.parts or _PORTS in each.path.parts)
    )


def _is_of_value(error: FieldError, content: Json) -> bool:
    """Return whether an error is about *content*, and not about a field that is missing or another object."""
    if error.type is ErrorType.NOT_FOUND:
        return False
    # Retired versions are read as the versions of Kubernetes that served them; a version that no Kubernetes has cannot be read.
    if str(error.path) == "apiVersion":
        return not served_versions.is_known(str(content.get("apiVersion")))
    if error.type is not ErrorType.REQUIRED:
        return True
    for part in error.path.parts:
        if isinstance(content, Mapping):
            content = content.get(part)
        else:
            content = content[part] if isinstance(content, list) and isinstance(part, int) and part < len(content) else None
    return content is not None
