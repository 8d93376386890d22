"""The two annotations by which a parent's controller tells a child's which group to make, and below which.

KEP-6089, "Downward Template and Parent Mapping via Well-Known Annotations".  The parent's annotation is written as
Kubernetes 1.37 spells it; the document's own spelling is read too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from validators import content, field
from validators.field import FieldError, FieldPath, Key
from validators.model.decode import Json
from validators.rules.linkage_annotations import PARENT, PARENT_IN_KEP, TEMPLATE

_ANNOTATIONS = FieldPath("metadata", "annotations")


@dataclasses.dataclass(frozen=True, slots=True)
class Linkage:
    """What the annotations of an object say; empty where they say nothing, or nothing usable."""

    template: str = ""
    """The template of which the object's group is made."""
    parent: str = ""
    """The CompositePodGroup below which that group stands."""
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()


def write(template: str, parent: str = "") -> dict[str, str]:
    """The annotations for a child whose group is made of *template*, below *parent* if there is one."""
    return {TEMPLATE: template, PARENT: parent} if parent else {TEMPLATE: template}


def read(metadata: Json) -> Linkage:
    """What an object's *metadata* says; never raises, whatever JSON that is."""
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping):
        return Linkage()
    given = {key: annotations[key] for key in (TEMPLATE, PARENT, PARENT_IN_KEP) if annotations.get(key) is not None}
    errors = [error for key, value in given.items() for error in _faults(key, value)]
    warnings: list[FieldError] = []
    if PARENT_IN_KEP in given:
        detail = f"Kubernetes 1.37 calls this annotation {PARENT}"
        warnings.append(field.invalid(_ANNOTATIONS / Key(PARENT_IN_KEP), PARENT_IN_KEP, detail))
        if PARENT in given and given[PARENT] != given[PARENT_IN_KEP]:
            errors.append(field.invalid_struct(_ANNOTATIONS / Key(PARENT_IN_KEP), f"must be the same as {PARENT}, or absent"))
    faulty = {error.path for error in errors}
    sound = {key: value for key, value in given.items() if _ANNOTATIONS / Key(key) not in faulty}
    parent = sound.get(PARENT) or sound.get(PARENT_IN_KEP, "")
    return Linkage(sound.get(TEMPLATE, ""), parent, tuple(errors), tuple(warnings))


def _faults(key: str, value: Json) -> Iterator[FieldError]:
    path = _ANNOTATIONS / Key(key)
    if not isinstance(value, str):
        yield field.type_invalid(path, "", "must be a string")
        return
    legal: Callable[[str], list[str]] = content.label if key == TEMPLATE else content.subdomain
    for text in legal(value):
        yield field.invalid(path, value, text)
