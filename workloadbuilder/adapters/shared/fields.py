"""Fields of an object that came from outside: each is taken by the type it must have, and what is wrong is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from validators import field
from validators.field import FieldError, FieldPath, Key
from validators.model.decode import Json
from workloadbuilder.shapes import MOST


class Fields:
    """One JSON object at *path*, and the *errors* found in it and below; null is absence.

    A field of a wrong type is told once and then counts as absent.  Unknown fields are passed over: what they must be, the
    schemas of the kinds say.
    """

    __slots__ = ("_given", "_told", "errors", "path")

    def __init__(self, value: Json, path: FieldPath, errors: list[FieldError]) -> None:
        self.path = path
        self.errors = errors
        self._given: Mapping[str, Json] = {}
        self._told: set[str] = set()
        if isinstance(value, Mapping):
            self._given = value
        elif value is not None:
            self.errors.append(_type(path, value, "a mapping"))

    @property
    def given(self) -> Mapping[str, Json]:
        """The JSON object itself; empty where there is none."""
        return self._given

    def __contains__(self, name: str) -> bool:
        return self._given.get(name) is not None

    def raw(self, name: str) -> Json:
        """The value of a field, whatever it is."""
        return self._given.get(name)

    def mapping(self, name: str) -> Fields:
        """The fields of an object inside this one; none where it is absent."""
        return Fields(self._taken(name, Mapping, "a mapping"), self.path / name, self.errors)

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        value = self._taken(name, str, "a string")
        return default if value is None else str(value)

    def flag(self, name: str) -> bool:
        """True or false; false where it is absent."""
        return bool(self._taken(name, bool, "true or false"))

    def count(self, name: str, default: int | None, *, least: int = 0) -> int | None:
        """A whole number from *least* on that fits into 32 bits; *default* where it is absent or cannot be one."""
        value = self._given.get(name)
        if value is None or name in self._told:
            return default
        # A whole number stays one however it is written: 3.0 in YAML reaches the API server as 3.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._tell(name, _type(self.path / name, value, "an integer"))
        elif value < least:
            self._tell(name, field.invalid(self.path / name, value, f"must be greater than or equal to {least}"))
        elif value > MOST:
            self._tell(name, field.invalid(self.path / name, value, f"must be at most {MOST}: more does not fit into this field's type"))
        else:
            return value
        return default

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        """As ``count``, with a default that is a number."""
        value = self.count(name, default, least=least)
        return default if value is None else value

    def each_item(self, name: str) -> Iterator[Fields]:
        """The objects of a list, in order; an entry that is none is told and is empty."""
        for place, value in enumerate(self._taken(name, list, "a list") or ()):
            yield Fields({} if value is None else value, self.path.join((name, place)), self.errors)

    def texts(self, name: str) -> list[str]:
        """The strings of a list, in order."""
        found = []
        for place, value in enumerate(self._taken(name, list, "a list") or ()):
            if isinstance(value, str):
                found.append(value)
            else:
                self.errors.append(_type(self.path.join((name, place)), value, "a string"))
        return found

    def annotations(self, name: str = "annotations") -> dict[str, str]:
        """A map with free keys, of strings; what is none is told and left out."""
        found = {}
        for key, value in self.mapping(name).given.items():
            if isinstance(value, str) and isinstance(key, str):
                found[key] = value
            elif value is not None:
                self.errors.append(_type(self.path.join((name, Key(key))), value, "a string"))
        return found

    def wrong(self, name: str, detail: str) -> None:
        """Tell that the field's value as a whole is wrong."""
        self._tell(name, field.invalid_struct(self.path / name, detail))

    def _taken(self, name: str, kind: type, wanted: str) -> Json:
        value = self._given.get(name)
        if value is None or isinstance(value, kind):
            return value
        self._tell(name, _type(self.path / name, value, wanted))
        return None

    def _tell(self, name: str, error: FieldError) -> None:
        if name not in self._told:
            self._told.add(name)
            self.errors.append(error)


def _type(path: FieldPath, value: Json, wanted: str) -> FieldError:
    # Lists and mappings are not echoed: they may be large, and deep.
    shown = "{…}" if isinstance(value, Mapping) else "[…]" if isinstance(value, (list, tuple)) else value
    return field.type_invalid(path, shown, f"must be {wanted}")
