"""JSON text, parsed JSON, and structs.

Decoding validates only JSON types and the range of integers.  Null means absent, and a whole number is an integer
however it is written (``3.0`` in YAML reaches the API server as 3).
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kubeapi.meta import S

Json = Any
"""A parsed JSON value."""
Text = bytes | bytearray | memoryview | msgspec.Raw
"""JSON text."""
Source = Text | Mapping[str, Json]
"""An object as JSON text or as parsed JSON."""
ValidationError = msgspec.ValidationError

_parts = re.compile(r"(?P<what>.*?)(?: - at `(?:key` in `)?\$\.?(?P<path>.*)`)?", re.DOTALL).fullmatch
_expected = re.compile(r"Expected `(?P<want>[^`]*)`(?:, got `(?P<got>[^`]*)`| (?P<relation>[<>]=) (?P<bound>-?[0-9]+))").fullmatch
_missing = re.compile(r"Object missing required field `(?P<field>[^`]*)`").fullmatch
_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}
_BOUNDS = {"<=": "at most", ">=": "at least"}


def section(content: object, *names: str) -> Mapping[str, Any]:
    """Return the object at a path in parsed JSON; empty if it is absent or something else."""
    # Most are absent, or dicts: another type is tested for slowly.
    for name in names:
        if content is None or not isinstance(content, (dict, Mapping)):
            return {}
        content = content.get(name)
    return {} if content is None or not isinstance(content, (dict, Mapping)) else content


class WrongShapeError(ValueError):
    """A value of the object has the wrong type.  ``content`` is the parsed JSON."""

    def __init__(self, message: str, content: Json) -> None:
        super().__init__(message)
        self.content = content


class NotJson(ValueError):
    """The source is not JSON."""


class Decoders(dict[type, msgspec.json.Decoder[Any]]):
    """Decoder of each struct, created on first use.  With *view*, it is that of the view of the struct."""

    def __init__(self, view: Callable[[type], type] | None = None) -> None:
        super().__init__()
        self._view = view

    def __missing__(self, model: type) -> msgspec.json.Decoder[Any]:
        with _creating:
            decoder = self[model] = msgspec.json.Decoder(model if self._view is None else self._view(model))
        return decoder


_creating = threading.Lock()
"""The process crashes if two threads have msgspec inspect a type for the first time at once."""


def decode(source: Source, decoder: msgspec.json.Decoder[S]) -> S:
    """Return the struct of *decoder*.

    Raises:
        WrongShapeError: a value has the wrong JSON type, or an integer does not fit.
        NotJson: *source* is not JSON.
        RecursionError: *source* is nested too deeply to be read.
    """
    try:
        # isinstance with an abstract class is slow.
        if isinstance(source, dict) or (not isinstance(source, bytes) and isinstance(source, Mapping)):
            decoded: S = msgspec.convert(source, decoder.type)
        else:
            decoded = decoder.decode(source)
    except ValidationError:
        # The object may still be valid: null is permitted where the struct does not admit None.  Decode again without nulls.
        return _convert(parse(source), decoder)
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


_OF_NULL: Final[dict[str, Json]] = {
    **dict.fromkeys(("annotations", "labels", "matchLabels", "nodeSelector"), ""),
    **dict.fromkeys(("allocatable", "capacity", "hard", "limits", "overhead", "requests"), 0),
}
"""Fields that are maps, and what null is as a value in them.  Templates write it where a value is not set: ``cpu: {{ .Values.cpu }}``."""


def plain(value: Json) -> Json:
    """Return the value without null fields and with whole floats as integers; list items keep their places.

    Null in a map is the empty text or amount.  Source: Go, encoding/json, Unmarshal.
    """
    # Mostly strings; a mapping of another type than dict is tested for slowly.
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, Mapping)):
        return {key: _filled(item, _OF_NULL[key]) if key in _OF_NULL else plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_plain(value: Json) -> Json:
    """Return the same as ``plain``, to be read only: *value* itself if that is the same."""
    try:
        text = _ENCODE(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return plain(value)
    return plain(value) if _NULL in text or _FLOAT in text else value


_ENCODE = msgspec.msgpack.Encoder().encode
_NULL, _FLOAT = b"\xc0", b"\xcb"
"""Null and the first byte of a float in MessagePack; ASCII texts have neither."""


def _filled(value: Json, of_null: Json) -> Json:
    if not isinstance(value, Mapping):
        return plain(value)
    return plain({key: of_null if item is None else item for key, item in value.items()})


def convert(content: Json, decoder: msgspec.json.Decoder[S]) -> S:
    """Return parsed JSON without null fields (see ``plain``) as a struct.  Raises ValidationError."""
    return msgspec.convert(content, decoder.type)


def _convert(content: Json, decoder: msgspec.json.Decoder[S]) -> S:
    try:
        return convert(plain(content), decoder)
    except ValidationError as error:
        raise WrongShapeError(str(error), content) from None


def encode(value: Json) -> bytes:
    """Return a JSON value as text."""
    return msgspec.json.encode(value)


def shape_error(message: str) -> str:
    """Return the message of a ValidationError: ``spec.priority must be a whole number, not a string``."""
    match = _parts(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    if missing := _missing(what):
        return f"{path}.{missing['field']}".lstrip(".") + " is missing"
    subject = f"a value of {path.removesuffix('[...]')}" if path.endswith("[...]") else path or "it"
    if (expected := _expected(what)) is None:
        return f"{subject}: {what}"
    if expected["relation"]:
        return f"{subject} must be {_BOUNDS[expected['relation']]} {expected['bound']}"
    types = " or ".join(_TYPES.get(each, each) for each in expected["want"].split(" | ") if each != "null")
    return f"{subject} must be {types}, not {_TYPES.get(expected['got'], expected['got'])}"


def _float(text: str) -> float | str:
    """Return the number of *text*; the text itself if it is too large for a double, so that a typed decoder refuses it."""
    number = float(text)
    return number if math.isfinite(number) else text


ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
WHOLE: Final = msgspec.json.Decoder(float_hook=_float)
"""Decoder of any value, with all values in it."""
VALUE: Final = msgspec.json.Decoder(msgspec.Raw)
ENCODER: Final = msgspec.json.Encoder(order="deterministic")
"""Encoder with sorted keys."""
