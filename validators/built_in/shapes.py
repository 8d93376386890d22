"""Shapes of the kinds that create pods, and of the queues of Kueue: built-in kinds, and custom kinds in the versions that their projects serve.

``schemas/kinds/controllers.json`` has them, and names the release of each project that they are from.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from kubeapi.decode import Json
from validators import schema
from validators.field import FieldError

_FILE = "kinds/controllers"


@functools.cache
def kinds() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the versions of each known kind, by API group and kind."""
    versions: dict[tuple[str, str], list[str]] = {}
    for each in sorted(schema.stored(_FILE)["kinds"]):
        group, version, kind = ("", *each.split("/"))[-3:]
        versions.setdefault((group, kind), []).append(version)
    return {key: tuple(sorted(listed)) for key, listed in versions.items()}


def versions_of(group: str, kind: str) -> tuple[str, ...]:
    """Return the versions of a group that serve a kind; none if the kind is not known."""
    return kinds().get((group, kind), ())


def source_of(group: str) -> str:
    """Return the project and release that the shapes of a known group are from."""
    sources: dict[str, str] = schema.stored(_FILE)["sources"]
    return sources.get(group) or sources[""]


def errors(api_version: str, kind: str, content: Json) -> list[FieldError]:
    """Return the errors in the shape of an object without null values; its kind must be known."""
    found = schema.check(f"{_FILE}:{api_version}/{kind}", content)
    # The API server decodes null and an empty string as a value that is absent.
    return [each for each in found if each.value is not None and not (each.origin == "schema-enum" and each.value == "")]
