"""Typed objects, unique by name; unusable objects become problems.

The result does not depend on the order of the objects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from kubeapi import decode
from kubeapi.decoders import DECODERS
from kubeapi.gather import Name, left_out, places_by_name, written_name
from kubeapi.gathered import DEEP, GatheredObjects, Objects, Unusable, in_memory
from kubeapi.meta import Struct
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.problem import Problem

T = TypeVar("T")
K = TypeVar("K", Name, str)
M = TypeVar("M", bound=Struct)


def typed(gathered: GatheredObjects, model: type[M]) -> M:
    """Return the object decoded as *model*.

    Raises:
        Unusable: a value has the wrong JSON type.

    """
    try:
        decoded: M = DECODERS[model].decode(gathered.text)
    except decode.ValidationError:
        # Nulls, and 3.0 for 3, are valid: decode again without them.
        return _decode_normalized(gathered, model)
    except RecursionError:
        raise Unusable(DEEP) from None
    except ValueError as error:
        raise Unusable(f"is not JSON: {error}") from None
    return decoded


def _decode_normalized(gathered: GatheredObjects, model: type[M]) -> M:
    try:
        decoded: M = DECODERS[model].decode(decode.ENCODER.encode(gathered.content()))
    except decode.ValidationError as error:
        raise Unusable(decode.shape_error(str(error))) from None
    return decoded


def name_in(kind: str, metadata: NamedMeta) -> Name:
    """Return namespace and name, with the default namespace of the API server.

    Raises:
        Unusable: the name is missing or invalid.

    """
    return _valid_name(kind, (metadata.namespace, metadata.name))


class NamedMeta(Protocol):
    """``metadata`` of an object."""

    @property
    def name(self) -> str:
        """Return the name; empty if it is missing."""

    @property
    def namespace(self) -> str:
        """Return the namespace; empty if it is missing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Each(Generic[K, T]):
    """Usable objects of one kind by name, and the names of the unusable ones."""

    good: Mapping[K, T]
    unusable: tuple[K, ...]


def _same(name: Name) -> Name:
    return name


@overload
def one_each(objects: Objects, read: Callable[[GatheredObjects], tuple[Name, T]], problems: list[Problem]) -> Each[Name, T]: ...
@overload
def one_each(
    objects: Objects, read: Callable[[GatheredObjects], tuple[str, T]], problems: list[Problem], key: Callable[[Name], str]
) -> Each[str, T]: ...
def one_each(
    objects: Objects, read: Callable[[GatheredObjects], tuple[Any, T]], problems: list[Problem], key: Callable[[Name], Any] = _same
) -> Each[Any, T]:
    """Return the result of *read*, which may raise Unusable, for each object, by the name that it returns; all are of one kind.

    *key* makes such a name of the namespace and name of an object that *read* refuses.

    Of several objects of one name, the one that sorts first as JSON is used; different objects of one name are a problem.  Of several
    API groups, the objects of the first are used, which is a problem too.
    """
    names: list[Any] = []
    values: list[T | Unusable] = []
    for each in in_memory(objects):
        value: T | Unusable
        try:
            name, value = read(each)
        except Unusable as error:
            name, value = _name_of_unusable(each, error, key), error
            if name is None:
                problems.append(left_out(each.kind, ("", ""), str(error)))
        names.append(name)
        values.append(value)
    found = dict(zip(names, values, strict=True))
    kind = objects[0].kind if objects else ""
    if len(found) < len(names):
        places, repeated = places_by_name(names, objects, _pair)
        found = {name: values[place] for name, place in places.items()}
        problems += repeated
    found.pop(None, None)
    failed = {name: value for name, value in found.items() if isinstance(value, Unusable)}
    problems += [left_out(kind, _pair(name), str(why)) for name, why in failed.items()]
    good = {name: value for name, value in found.items() if not isinstance(value, Unusable)} if failed else found
    return Each(cast("dict[Any, T]", good), tuple(sorted(failed)))


def _name_of_unusable(gathered: GatheredObjects, why: Unusable, key: Callable[[Name], Any]) -> Any:
    """Return the name of an object that cannot be used, by *key*; None if that is unusable too."""
    try:
        return key(_valid_name(gathered.kind, written_name(gathered.text), why))
    except Unusable:
        return None


def _pair(name: Name | str) -> Name:
    """Return the namespace and name of a key; a text is ``namespace/name``, and neither part has a slash."""
    if isinstance(name, tuple):
        return name
    namespace, _, own = name.rpartition("/")
    return namespace, own


def _valid_name(kind: str, name: Name, otherwise: Unusable | None = None) -> Name:
    if not name[1]:
        raise otherwise or Unusable("metadata.name is missing")
    namespace = "" if kind in CLUSTER_SCOPED else name[0] or "default"
    if (namespace + name[1]).isprintable() and "/" not in name[1] and "/" not in namespace:
        return namespace, name[1]
    for value in (namespace, name[1]):
        if "/" in value or not value.isprintable():
            field = "namespace" if value == namespace else "name"
            raise otherwise or Unusable(f"metadata.{field} must be a valid Kubernetes name")
    return namespace, name[1]
