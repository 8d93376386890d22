"""Fields of an untrusted object: each is checked by type when it is read, and errors are collected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from workloadbuilder.shapes import MOST


class Fields:
    """One JSON object at *path*; *errors* collects the errors in it and below.  A null field counts as absent.

    A field of a wrong type is reported once and then counts as absent.  Unknown fields are ignored, as the schemas of the
    kinds cover them.
    """

    __slots__ = ("_given", "_reported", "errors", "path")

    def __init__(self, value: Json, path: FieldPath, errors: list[FieldError]) -> None:
        self.path = path
        self.errors = errors
        self._given: Mapping[str, Json] = {}
        self._reported: set[str] = set()
        if isinstance(value, Mapping):
            self._given = value
        elif value is not None:
            self.errors.append(_type(path, value, "a mapping"))

    @property
    def given(self) -> Mapping[str, Json]:
        """Return the JSON object itself; empty if it is absent."""
        return self._given

    def __contains__(self, name: str) -> bool:
        return self._given.get(name) is not None

    def raw(self, name: str) -> Json:
        """Return the value of a field without a check."""
        return self._given.get(name)

    def mapping(self, name: str) -> Fields:
        """Return the fields of an object inside this one; no fields if it is absent."""
        return Fields(self._checked(name, Mapping, "a mapping"), self.path / name, self.errors)

    def text(self, name: str, default: str = "") -> str:
        """Return a string; *default* if it is absent."""
        value = self._checked(name, str, "a string")
        return default if value is None else str(value)

    def flag(self, name: str) -> bool:
        """Return a boolean; False if it is absent."""
        return bool(self._checked(name, bool, "true or false"))

    def count(self, name: str, default: int | None, *, minimum: int = 0) -> int | None:
        """Return an integer from *minimum* to 2**31 - 1; *default* if it is absent or invalid."""
        value = self._given.get(name)
        if value is None or name in self._reported:
            return default
        # 3.0 in YAML reaches the API server as 3.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._report(name, _type(self.path / name, value, "an integer"))
        elif value < minimum:
            self._report(name, field.invalid(self.path / name, value, f"must be greater than or equal to {minimum}"))
        elif value > MOST:
            self._report(name, field.invalid(self.path / name, value, f"must be at most {MOST}: more does not fit into this field's type"))
        else:
            return value
        return default

    def number(self, name: str, default: int, *, minimum: int = 0) -> int:
        """Return an integer as ``count`` does; the default is an integer too."""
        value = self.count(name, default, minimum=minimum)
        return default if value is None else value

    def each_item(self, name: str) -> Iterator[Fields]:
        """Yield the objects of a list, in order; an entry that is no object is reported and yields no fields."""
        for index, value in enumerate(self._checked(name, list, "a list") or ()):
            yield Fields({} if value is None else value, self.path.join((name, index)), self.errors)

    def texts(self, name: str) -> list[str]:
        """Return the strings of a list, in order."""
        strings = []
        for index, value in enumerate(self._checked(name, list, "a list") or ()):
            if isinstance(value, str):
                strings.append(value)
            else:
                self.errors.append(_type(self.path.join((name, index)), value, "a string"))
        return strings

    def annotations(self, name: str = "annotations") -> dict[str, str]:
        """Return a map of strings; other values are reported and omitted."""
        strings = {}
        for key, value in self.mapping(name).given.items():
            if isinstance(value, str) and isinstance(key, str):
                strings[key] = value
            elif value is not None:
                self.errors.append(_type(self.path.join((name, Key(key))), value, "a string"))
        return strings

    def _checked(self, name: str, kind: type, expected: str) -> Json:
        value = self._given.get(name)
        if value is None or isinstance(value, kind):
            return value
        self._report(name, _type(self.path / name, value, expected))
        return None

    def _report(self, name: str, error: FieldError) -> None:
        if name not in self._reported:
            self._reported.add(name)
            self.errors.append(error)


def _type(path: FieldPath, value: Json, expected: str) -> FieldError:
    # Lists and mappings are not quoted: they may be large and deeply nested.
    shown = "{…}" if isinstance(value, Mapping) else "[…]" if isinstance(value, (list, tuple)) else value
    return field.type_invalid(path, shown, f"must be {expected}")
