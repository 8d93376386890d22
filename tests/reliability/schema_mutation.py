"""Random changes of an object by the schema of its kind: values, limits, enums, missing, repeated, added and unknown fields, wrong types."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Json = Any
Schema = Mapping[str, Any]
_TEXTS = (
    "", "a", "main", "x-1", "1", "0", "-1", "A_b", "UPPER", "-x", "a b", "a.b", "a.b/c", "a/b/c", "/x", "../x", "é", "100Mi", "1500m", "1e3", "2",
    "None", "Always", "Never", "default", "true", "80", "10%", "kubernetes.io/os", "example.com/gpu", "cpu", "memory", "*", "a=b", "0-3", "1,3",
    "system-node-critical", "12345678-1234-1234-1234-123456789abc", "2026-01-01T00:00:00Z", "a" * 63, "a" * 64, "a" * 253, "a" * 254,
)  # fmt: skip
_NUMBERS = (-(2**31), -1, 0, 1, 2, 3, 5, 10, 100, 101, 1000, 1001, 65535, 65536, 100_000, 100_001, 2**31 - 1, 2**31)
_LENGTHS = (8, 9, 16, 17, 20, 21, 64, 65)
"""Lengths of lists about the usual limits."""
_RARE = 0.04
"""Share of changes with which an object is not read at all: unknown fields and wrong types."""


class Place(NamedTuple):
    """A value in an object: what contains it, its key there, and the schema of the value."""

    parent: Json
    key: str | int
    schema: Schema

    @property
    def value(self) -> Json:
        return self.parent[self.key]


class Mutator:
    """Changes of objects under *schema*, whose references are to *definitions*."""

    def __init__(self, chance: random.Random, schema: Schema, definitions: Mapping[str, Schema]) -> None:
        self._chance, self._schema, self._definitions = chance, schema, definitions

    def changed(self, base: Json, roots: Sequence[tuple[str, ...]], most: int = 3) -> Json:
        """Return a copy of *base* with up to *most* changes at or below *roots*, and now and then none."""
        holder = {"": copy.deepcopy(base)}
        for _ in range(self._chance.choices(range(most + 1), [1, *([6, 4, 2, 1, 1][:most])])[0]):
            places = [each for root in roots for each in self._below(holder, root)]
            if places:
                self._change(self._chance.choice(places), places)
        return holder[""]

    def _below(self, holder: Json, root: tuple[str, ...]) -> Iterator[Place]:
        """Yield the places at and below *root* of the object in *holder*; none if there is no such value."""
        parent, key, schema = holder, "", self._resolved(self._schema)
        for part in root:
            parent, key, schema = parent[key], part, self._member(schema, part)
            if not isinstance(parent, dict) or key not in parent:
                return
        yield from self._walk(Place(parent, key, schema))

    def _walk(self, place: Place) -> Iterator[Place]:
        yield place
        value = place.value
        if isinstance(value, dict):
            for key in value:
                yield from self._walk(Place(value, key, self._member(place.schema, key)))
        elif isinstance(value, list):
            for index in range(len(value)):
                yield from self._walk(Place(value, index, self._resolved(place.schema.get("items", {}))))

    def _resolved(self, schema: Schema | bool) -> Schema:
        while isinstance(schema, Mapping) and "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        return schema if isinstance(schema, Mapping) else {}

    def _member(self, schema: Schema, key: str) -> Schema:
        return self._resolved(schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {})

    def _change(self, place: Place, places: Sequence[Place]) -> None:
        if self._chance.random() < _RARE:
            self._spoil(place)
            return
        self._chance.choice((self._replace, self._delete, self._vary, self._vary, self._swap))(place, places)

    def _spoil(self, place: Place) -> None:
        if isinstance(place.value, dict) and self._chance.random() < 0.5:
            place.value["zzz"] = 1
        else:
            place.parent[place.key] = self._chance.choice(("text", 3, -1, True, None, [], {}, [None], 1.5))

    def _replace(self, place: Place, _: Sequence[Place]) -> None:
        place.parent[place.key] = self.value(place.schema)

    def _delete(self, place: Place, _: Sequence[Place]) -> None:
        if place.key != "":
            del place.parent[place.key]

    def _swap(self, place: Place, places: Sequence[Place]) -> None:
        """Put a value of the same type from elsewhere here."""
        alike = [each for each in places if type(each.value) is type(place.value) and each.schema.keys() == place.schema.keys()]
        place.parent[place.key] = copy.deepcopy(self._chance.choice(alike).value) if alike else place.value

    def _vary(self, place: Place, _: Sequence[Place]) -> None:
        """Change a value a little; an object gets a field, a list loses, repeats or gets an item."""
        value = place.value
        if isinstance(value, dict):
            absent = [key for key in place.schema.get("properties", {}) if key not in value]
            if absent:
                key = self._chance.choice(absent)
                value[key] = self.value(self._member(place.schema, key))
            elif place.schema.get("additionalProperties"):
                value[self._chance.choice(_TEXTS)] = self.value(self._resolved(place.schema["additionalProperties"]))
        elif isinstance(value, list):
            self._vary_list(value, self._resolved(place.schema.get("items", {})))
        elif isinstance(value, bool):
            place.parent[place.key] = not value
        elif isinstance(value, int):
            place.parent[place.key] = self._chance.choice((value - 1, value + 1, -value, value * 10, *_NUMBERS))
        elif isinstance(value, str):
            place.parent[place.key] = self._chance.choice(
                (value[:-1], value + "x", value.upper(), value.lower(), value + "_", "", value * 30)
            )

    def _vary_list(self, value: list[Json], items: Schema) -> None:
        what = self._chance.random()
        if value and what < 0.3:
            value.append(copy.deepcopy(self._chance.choice(value)))
        elif value and what < 0.5:
            del value[self._chance.randrange(len(value))]
        elif what < 0.6:
            value.clear()
        elif value and what < 0.7:
            self._lengthen(value)
        else:
            value.append(self.value(items))

    def _lengthen(self, value: list[Json]) -> None:
        for number in range(self._chance.choice(_LENGTHS) - len(value)):
            added = copy.deepcopy(value[0])
            if isinstance(added, dict) and isinstance(added.get("name"), str):
                added["name"] = f"n{number}"
            elif isinstance(added, str):
                added = f"{added}{number}"
            value.append(added)

    def value(self, schema: Schema, depth: int = 0) -> Json:
        """Return a value that *schema* describes, nearly always of the right type."""
        schema = self._resolved(schema)
        if schema.get("enum") and self._chance.random() < 0.85:
            return self._chance.choice(schema["enum"])
        type_ = schema.get("type", "string")
        if isinstance(type_, list):
            type_ = self._chance.choice(type_)
        if type_ == "object":
            return self._mapping(schema, depth)
        if type_ == "array":
            return [self.value(schema.get("items", {}), depth + 1) for _ in range(self._chance.choice((0, 1, 1, 2)))]
        if type_ in {"integer", "number"}:
            return self._chance.choice([each for each in _NUMBERS if abs(each) < 2**31] if self._chance.random() < 0.98 else _NUMBERS)
        return self._chance.random() < 0.5 if type_ == "boolean" else self._chance.choice(_TEXTS)

    def _mapping(self, schema: Schema, depth: int) -> Json:
        properties = schema.get("properties", {})
        if not properties and schema.get("additionalProperties"):
            return {
                self._chance.choice(_TEXTS): self.value(schema["additionalProperties"], depth + 1)
                for _ in range(self._chance.randint(0, 2))
            }
        required = set(schema.get("required", ()))
        share = 0.5 if len(properties) < 4 else 0.15 / (1 + depth)
        taken = [key for key in properties if self._chance.random() < (0.9 if key in required else share)]
        return {key: self.value(properties[key], depth + 1) for key in taken}
