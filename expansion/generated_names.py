"""Names for given objects that have only ``metadata.generateName``: the API server would append random letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi import decode
from kubeapi.gathered import Given, Unusable, content_of

_FIELD = b'"generateName"'


def named(objects: Iterable[Given]) -> Iterator[Given]:
    """Yield *objects*, each with a name: the prefix with a number.

    The first object with a prefix stays as it is if it is no Pod: its adapter gives it a name, with a warning.  Lists stay as they are.
    """
    numbers: Counter[tuple[str, ...]] = Counter()
    for each in objects:
        content = _without_name(each)
        if content is None:
            yield each
            continue
        metadata = content["metadata"]
        kind, prefix = str(content.get("kind")), str(metadata["generateName"])
        key = (str(content.get("apiVersion")), kind, str(metadata.get("namespace")), prefix)
        numbers[key] += 1
        number = numbers[key]
        yield each if number == 1 and kind != "Pod" else {**content, "metadata": {**metadata, "name": f"{prefix}{number}"}}


def _without_name(given: Given) -> dict[str, Any] | None:
    """Return an object that has a prefix and no name; None for others."""
    if not isinstance(given, Mapping) and not (isinstance(given, decode.Text) and _FIELD in bytes(given)):
        return None
    try:
        content = dict(given) if isinstance(given, Mapping) else content_of(given)
    except Unusable:
        # The reader of the object reports the problem.
        return None
    metadata = content.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("name") or not isinstance(metadata.get("generateName"), str):
        return None
    return content if metadata["generateName"] else None
