"""Decoding of JSON text or parsed JSON to typed objects.

Decoding validates only JSON types and the range of integers.  Null means absent, and a whole number is an integer
however it is written (``3.0`` in YAML reaches the API server as 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kubeapi.meta import S
from validators.model.objects import KINDS, Object

Json = Any
"""A parsed JSON value."""
Source = bytes | bytearray | memoryview | msgspec.Raw | Mapping[str, Json]
"""An object as JSON text or as parsed JSON."""


class WrongShapeError(ValueError):
    """A value of the object has the wrong type.  ``content`` is the parsed JSON."""

    def __init__(self, message: str, content: Json) -> None:
        super().__init__(message)
        self.content = content


class NotJson(ValueError):
    """The source is not JSON."""


def decode(kind: str, source: Source) -> Object:
    """Return the typed object of *kind* (a key of ``KINDS``).

    Raises:
        WrongShapeError: a value has the wrong JSON type, or an integer does not fit.
        NotJson: *source* is not JSON.
        RecursionError: *source* is nested too deeply to be read.
    """
    try:
        # isinstance with an abstract class is slow.
        if isinstance(source, dict) or (not isinstance(source, bytes) and isinstance(source, Mapping)):
            decoded: Object = msgspec.convert(source, KINDS[kind])
        else:
            decoded = _DECODERS[kind].decode(source)
    except msgspec.ValidationError:
        # The object may still be valid: null is permitted where the model does not admit None.  Decode again without nulls.
        return _convert(kind, parse(source))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error)) from None
    return decoded


def parse(source: Source) -> Json:
    """Return the JSON value of *source*, untyped.

    Raises:
        NotJson: *source* is not JSON.
    """
    if isinstance(source, Mapping):
        return source
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error)) from None


def plain(value: Json) -> Json:
    """Return the value without null fields and with whole floats as integers; list items keep their places."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Created at import, in one thread: msgspec inspects a type on first use, and many threads decode.
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(model) for kind, model in KINDS.items()}


def convert(content: Json, model: type[S]) -> S:
    """Return parsed JSON without null fields (see ``plain``) as a struct.  Raises msgspec.ValidationError."""
    return msgspec.convert(content, model)


def _convert(kind: str, content: Json) -> Object:
    try:
        return convert(plain(content), KINDS[kind])
    except msgspec.ValidationError as error:
        raise WrongShapeError(str(error), content) from None


def encode(value: Json) -> bytes:
    """Return a JSON value as text."""
    return msgspec.json.encode(value)
