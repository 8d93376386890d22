"""Shapes of objects from the structs of ``kubeapi`` and the marks of their fields, as far as placement decodes them."""

from __future__ import annotations

import functools
import types
from typing import Annotated, Any, Union, get_args, get_origin

from kubeapi.decoders import READ
from kubeapi.meta import Struct
from kubeapi.redaction import KEPT, UNREAD, Inner, Like, Mark, Only, WasScalar, WithoutEmpty
from kubeapi.view import types_of
from muster.commands.snapshot.shapes import Each, Entries, OrScalar, Shape, Unread

_fields: dict[type, dict[str, Shape]] = {}


def fields_of(struct: type[Struct]) -> dict[str, Shape]:
    """Return the fields of *struct* that placement decodes."""
    view = READ.of_struct(struct)
    if view not in _fields:
        # A struct can contain itself.
        fields = _fields[view] = {}
        fields.update({name: shape_of(hint) for name, hint in types_of(view).items()})
    return _fields[view]


def shape_of(hint: Any) -> Shape:
    """Return the shape of a value of a type; equal types have the same shape."""
    return _shape(hint, ())


@functools.cache
def _shape(hint: Any, marks: tuple[object, ...]) -> Shape:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _shape(parts[0], (*marks, *parts[1:]))
    if origin in (Union, types.UnionType) and len(parts) == 2 and types.NoneType in parts:
        return _shape(next(each for each in parts if each is not types.NoneType), marks)
    if (like := next((each for each in marks if isinstance(each, Like)), None)) is not None:
        return _shape(like.type, tuple(each for each in marks if each is not like))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _object(hint, marks)
    return _list_or_scalar(origin, parts, marks)


def _object(struct: type[Struct], marks: tuple[object, ...]) -> Shape:
    others = {name: mark for each in marks if isinstance(each, Inner) for name, mark in each.marks}
    fields = fields_of(struct) | others if others else fields_of(struct)
    return OrScalar(fields) if WasScalar() in marks else fields


def _list_or_scalar(origin: Any, parts: tuple[Any, ...], marks: tuple[object, ...]) -> Shape:
    if UNREAD in marks and origin is dict and parts == (str, str):
        return Unread(dict)
    if UNREAD in marks and origin is tuple and parts == (str, ...):
        return Unread(list)
    if UNREAD in marks or origin not in (tuple, dict):
        return next((each for each in marks if isinstance(each, Mark)), KEPT)
    if origin is tuple:
        only = frozenset(text for each in marks if isinstance(each, Only) for text in each.types)
        inner = tuple(each for each in marks if isinstance(each, Inner))
        return Each(_shape(parts[0], inner), only, compact=WithoutEmpty() in marks)
    # Of parsed JSON, the presence is read.
    key, value = parts
    return {} if value is object else Entries(next((each for each in get_args(key) if isinstance(each, Mark)), KEPT), shape_of(value))
