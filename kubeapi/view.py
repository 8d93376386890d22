"""Views of API structs: structs with only the fields that a reader needs.

An object with a value of a wrong type cannot be decoded, and every decoded value costs time and memory.  A reader of a few fields
therefore decodes a view, in which all other fields are unknown.  Names, types and defaults of its fields are those of the struct.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from kubeapi.base_structs import Record
from kubeapi.meta import S, Struct

_ZERO_VALUES: Final[Mapping[str, object]] = {"str": "", "Name": "", "Amount": 0}
"""Zero values of required fields that are not structs, by type."""
_class_names = re.compile(r"\b[A-Z]\w+").findall


class _Field(Record, frozen=True):
    owner: type[Struct]
    """The struct that declares it."""
    name: str
    wire_name: str
    hint: str
    scope: dict[str, Any]
    """The names with which its type can be evaluated."""
    default: Any

    def structs(self) -> Iterator[tuple[str, type[Struct]]]:
        """Yield the structs in its type, each with its name there."""
        for name in _class_names(self.hint):
            if isinstance(struct := self.scope.get(name), type) and issubclass(struct, Struct):
                yield name, struct


class Views:
    """Views for one reader, of structs and of the structs in them; a struct that the reader needs whole is its own view.

    Args:
        keeps: returns whether a field of a struct, the one that declares it, is in the view.
        instead: structs in place of others, and types in place of those of fields, which are given as ``(struct, name)``.
        optional: True if fields that the API requires may be absent; as in Go, an absent one has its zero value.
    """

    def __init__(
        self, keeps: Callable[[type[Struct], str], bool], *, instead: Mapping[object, Any] | None = None, optional: bool = False
    ) -> None:
        self._keeps, self._instead, self._optional = keeps, instead or {}, optional
        self._views: dict[type, type] = {}

    def of_struct(self, model: type[S]) -> type[S]:
        """Return the view of *model*; it has the methods of *model*, and takes keyword arguments only."""
        if model not in self._views:
            # A struct that contains itself is whole there.
            self._views[model] = model
            view = self._views[model] = self._derived(model)
            self._views[view] = view
        return self._views[model]

    def _derived(self, model: type) -> type:
        fields = [*_fields(model)]
        kept = [each for each in fields if self._keeps(each.owner, each.name)]
        views = {
            name: view
            for each in kept
            for name, struct in each.structs()
            if (view := self._instead.get(struct) or self.of_struct(struct)) is not struct
        }
        fills = self._optional and any(each.default is msgspec.NODEFAULT for each in kept)
        if len(kept) == len(fields) and not views and not fills:
            return model
        return msgspec.defstruct(
            model.__name__,
            [(each.name, self._type(each, views), msgspec.field(default=self._default(each, views), name=each.wire_name)) for each in kept],
            bases=(Struct,),
            namespace=_members(model),
            module=model.__module__,
            frozen=True,
            gc=False,
            kw_only=True,
        )

    def _type(self, field: _Field, views: Mapping[str, type]) -> object:
        if (other := self._instead.get((field.owner, field.name))) is not None:
            return other
        if views.keys().isdisjoint(_class_names(field.hint)):
            # Evaluated only if a decoder is created, in the module of the struct: the command line starts slowly enough.
            return field.hint
        return eval(field.hint, field.scope, views)  # noqa: S307 - an annotation of ours

    def _default(self, field: _Field, views: Mapping[str, type]) -> object:
        is_required = field.default is msgspec.NODEFAULT
        if is_required and not self._optional:
            return field.default
        if isinstance(field.default, Struct) or (is_required and field.hint not in _ZERO_VALUES):
            return views.get(field.hint, field.scope[field.hint])()
        return _ZERO_VALUES[field.hint] if is_required else field.default


def types_of(struct: type[Struct]) -> dict[str, Any]:
    """Return the types of the fields of *struct*, with their marks, by wire name."""
    return {each.encode_name: each.type for each in msgspec.structs.fields(struct)}


def _fields(model: type) -> Iterator[_Field]:
    structs, struct = _structs(model), cast("type[Struct]", model)
    typed = {name: (hint, each) for each in structs for name, hint in vars(each).get("__annotations__", {}).items()}
    scopes = {each: vars(importlib.import_module(each.__module__)) for each in structs}
    required = len(struct.__struct_fields__) - len(struct.__struct_defaults__)
    defaults = (*(msgspec.NODEFAULT,) * required, *struct.__struct_defaults__)
    for name, wire_name, default in zip(struct.__struct_fields__, struct.__struct_encode_fields__, defaults, strict=True):
        hint, typing = typed[name]
        yield _Field(next(each for each in structs if name in each.__struct_fields__), name, wire_name, hint, scopes[typing], default)


def _structs(model: type) -> list[type[Struct]]:
    """Return *model* and its bases, the most general one first."""
    return [each for each in model.__mro__[::-1] if issubclass(each, Struct) and each is not Struct]


def _members(model: type) -> dict[str, Any]:
    """Return the docstring, the methods, the properties and the constants of *model*."""
    members = {name: value for struct in _structs(model) for name, value in vars(struct).items() if name[:2] != "__"}
    fields = cast("type[Struct]", model).__struct_fields__
    return {"__doc__": model.__doc__} | {name: value for name, value in members.items() if name not in fields}
