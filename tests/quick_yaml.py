"""YAML by libyaml where it is there: for texts that are read while tests are collected, by each worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(text: str) -> Iterator[Any]:
    """Yield the documents of a text, as ``yaml.safe_load_all`` does."""
    yield from yaml.load_all(text, _LOADER)
