"""Objects and documents to start from: recorded reviews, the cases of tests, and examples."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import yaml

from tests.quick_yaml import documents

TREE = Path(__file__).parents[2]
MOST_BYTES = 20_000
"""Larger documents only cost time: their parts are in others."""


@functools.cache
def texts() -> tuple[bytes, ...]:
    """Return the YAML and JSON documents of cases and examples."""
    folders = ("tests/cases/lint", "tests/cases/compile", "tests/cases/controllers", "tests/cases/fit", "examples", "docs")
    found = [each for folder in folders for each in sorted((TREE / folder).rglob("*")) if each.suffix in {".yaml", ".yml", ".json"}]
    return tuple(content for content in (each.read_bytes() for each in found) if len(content) <= MOST_BYTES)


@functools.cache
def objects() -> tuple[dict[str, Any], ...]:
    """Return the objects in ``texts`` that can be read, and those of recorded answers of the API server."""
    found: list[Any] = []
    for each in texts():
        try:
            found += documents(each.decode())
        except (yaml.YAMLError, UnicodeDecodeError):
            continue
    cases = json.loads((TREE / "tests/cases/admission.json").read_text())
    found += [case[key] for case in cases for key in ("object", "oldObject") if case.get(key)]
    kept = [
        each for each in found if isinstance(each, dict) and isinstance(each.get("kind"), str) and isinstance(each.get("apiVersion"), str)
    ]
    return tuple(json.loads(json.dumps(each, default=str)) for each in kept)


@functools.cache
def reviews() -> tuple[dict[str, Any], ...]:
    """Return recorded AdmissionReviews, and one for each of ``objects``."""
    lines = (TREE / "tests/cases/reviews.jsonl").read_bytes().splitlines()
    return (*(json.loads(line)["review"] for line in lines), *(_review(number, each) for number, each in enumerate(objects())))


def _review(number: int, content: dict[str, Any]) -> dict[str, Any]:
    group, _, version = content["apiVersion"].rpartition("/")
    metadata = content.get("metadata")
    request = {
        "uid": f"u-{number}",
        "kind": {"group": group, "version": version, "kind": content["kind"]},
        "resource": {"group": group, "version": version, "resource": content["kind"].lower() + "s"},
        "operation": ("CREATE", "UPDATE")[number % 3 == 0],
        "namespace": "default",
        "name": metadata.get("name") if isinstance(metadata, dict) and isinstance(metadata.get("name"), str) else "a",
        "object": content,
        "oldObject": content if number % 3 == 0 else None,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
