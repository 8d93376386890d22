"""Gathered objects to typed values, one of each name; what cannot be used becomes a Problem.

Nothing depends on the order in which objects come.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from scheduler_core.loading import object_errors
from scheduler_core.loading.gather import DEEP, GatheredObjects, Name, Unusable, label, left_out, written_name
from scheduler_core.model import wire
from scheduler_core.model.problem import Problem
from validators.model.meta import ObjectMeta
from validators.model.objects import CLUSTER_SCOPED

T = TypeVar("T")
M = TypeVar("M", wire.Pod, wire.Node, wire.PodDisruptionBudget)

SEVERAL = "is there several times, and not alike; the one that sorts first as JSON counts"
"""What is told of objects of one name that are unlike."""


def typed(found: GatheredObjects, model: type[M]) -> M:
    """The object as *model*.

    Raises:
        Unusable: a value has the wrong JSON type.
    """
    try:
        read: M = wire.DECODERS[model].decode(found.text)
    except wire.ValidationError:
        # Null where the model admits none, and 3.0 for 3, are well: look again without them.
        return _again(found, model)
    except RecursionError:
        raise Unusable(DEEP) from None
    except ValueError as error:
        raise Unusable(f"is not JSON: {error}") from None
    return read


def _again(found: GatheredObjects, model: type[M]) -> M:
    try:
        read: M = wire.DECODERS[model].decode(wire.ENCODER.encode(found.content()))
    except wire.ValidationError as error:
        raise Unusable(object_errors.shape(str(error))) from None
    return read


def name_in(kind: str, metadata: ObjectMeta) -> Name:
    """Namespace and name, the namespace as the API server fills it in.

    Raises:
        Unusable: there is no name, or none that an object can have.
    """
    return _sound(kind, (metadata.namespace, metadata.name))


@dataclasses.dataclass(frozen=True, slots=True)
class Each(Generic[T]):
    """Objects of one kind by name: what was made of them, and the names of those that cannot be used."""

    good: Mapping[Name, T]
    unusable: tuple[Name, ...]


def one_each(found: Iterable[GatheredObjects], read: Callable[[GatheredObjects], tuple[Name, T]], problems: list[Problem]) -> Each[T]:
    """What *read*, which may raise Unusable, makes of each object.

    Of several objects of one name the one that sorts first as JSON counts; unless they are alike that is a problem.
    """
    good: dict[Name, T] = {}
    failed: dict[Name, Unusable] = {}
    sources: dict[Name, GatheredObjects] = {}
    several: set[Name] = set()
    for each in found:
        try:
            name, value = attempt(each, read)
        except Unusable as error:
            problems.append(Problem(each.kind, left_out(each.kind, str(error))))
            continue
        if name in sources:
            before, after = sources[name].canonical(), each.canonical()
            if before != after:
                several.add(name)
            if before <= after:
                continue
            good.pop(name, None)
            failed.pop(name, None)
        sources[name] = each
        if isinstance(value, Unusable):
            failed[name] = value
        else:
            good[name] = value
    problems += [Problem(label(sources[name].kind, name), SEVERAL) for name in several]
    problems += [Problem(label(sources[name].kind, name), left_out(sources[name].kind, str(why))) for name, why in failed.items()]
    return Each(good, tuple(sorted(failed)))


def attempt(found: GatheredObjects, read: Callable[[GatheredObjects], tuple[Name, T]]) -> tuple[Name, T | Unusable]:
    """What *read* makes of an object, or why it cannot be used.

    Raises:
        Unusable: not even its name can be told.

    """
    try:
        return read(found)
    except Unusable as error:
        return _sound(found.kind, written_name(found.text), error), error


def _sound(kind: str, name: Name, otherwise: Unusable | None = None) -> Name:
    if not name[1]:
        raise otherwise or Unusable("metadata.name is missing")
    whole = ("" if kind in CLUSTER_SCOPED else name[0] or "default", name[1])
    for field, value in zip(("namespace", "name"), whole, strict=True):
        if "/" in value or not value.isprintable():
            raise otherwise or Unusable(f"metadata.{field} must be one that an object can have")
    return whole
