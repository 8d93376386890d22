"""From the wire to the model: JSON bytes or parsed JSON in, typed objects out.

Decoding checks JSON types and the range of integers and nothing else; null is absence, and a whole number stays one
however it is written (``3.0`` in YAML reaches the API server as 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from validators.model.objects import KINDS, Object

Json = Any
"""A parsed JSON value."""
Source = bytes | bytearray | memoryview | msgspec.Raw | Mapping[str, Json]
"""An object as it comes: JSON text, or parsed."""


class WrongShapeError(ValueError):
    """The JSON is an object of this kind in name only: a value has the wrong type.  ``content`` is the parsed JSON."""

    def __init__(self, message: str, content: Json) -> None:
        super().__init__(message)
        self.content = content


class NotJson(ValueError):
    """The source is no JSON."""


def decode(kind: str, source: Source) -> Object:
    """The typed object of *kind* (a key of ``KINDS``).

    Raises:
        WrongShapeError: a value has the wrong JSON type, or an integer does not fit.
        NotJson: *source* is not JSON.
        RecursionError: *source* is nested more deeply than can be read.
    """
    # A mapping is an abstract thing, and asking whether this is one costs more than that it is not bytes.
    if not isinstance(source, bytes) and isinstance(source, Mapping):
        return _convert(kind, source)
    try:
        decoded: Object = _DECODERS[kind].decode(source)
    except msgspec.ValidationError:
        # Null where the model admits none is the one thing that may still be well: look again without nulls.
        return _convert(kind, parse(source))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error)) from None
    return decoded


def parse(source: Source) -> Json:
    """The JSON value of *source*, untyped.  Raises NotJson where it is none."""
    if isinstance(source, Mapping):
        return source
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error)) from None


def plain(value: Json) -> Json:
    """The same value with every null field left out and whole floats as integers; list items stay where they are."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Made while the program starts, in one thread: many threads decode, none should be the first to look at a type.
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(model) for kind, model in KINDS.items()}


def _convert(kind: str, content: Json) -> Object:
    try:
        return msgspec.convert(plain(content), KINDS[kind])
    except msgspec.ValidationError as error:
        raise WrongShapeError(str(error), content) from None


def encode(value: Json) -> bytes:
    """A JSON value as text."""
    return msgspec.json.encode(value)
