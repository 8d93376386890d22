"""Fields of objects of any shape, selectors of labels, and kubectl commands.

Objects in files are not validated: a field of another type than expected counts as absent.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

Manifest = Mapping[str, Any]
_PERCENT = re.compile(r"(\d{1,9})%")


def value_at(content: object, *keys: str) -> Any:
    """Return the value below *keys*; None if it is missing."""
    current = content
    for key in keys:
        current = current.get(key) if isinstance(current, Mapping) else None
    return current


def mapping_at(content: object, *keys: str) -> Manifest:
    """Return the object below *keys*; empty if there is none."""
    value = value_at(content, *keys)
    return value if isinstance(value, Mapping) else {}


def mappings_at(content: object, *keys: str) -> list[Manifest]:
    """Return the objects in the list below *keys*."""
    value = value_at(content, *keys)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def texts_at(content: object, *keys: str) -> list[str]:
    """Return the strings in the list below *keys*."""
    value = value_at(content, *keys)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def text_at(content: object, *keys: str) -> str:
    """Return the string below *keys*; empty if there is none."""
    value = value_at(content, *keys)
    return value if isinstance(value, str) else ""


def number_at(content: object, *keys: str, default: int) -> int:
    """Return the integer below *keys*; *default* if there is none."""
    value = value_at(content, *keys)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def bytes_at(content: object, *keys: str) -> bytes:
    """Return the decoded base64 text below *keys*; empty if there is none."""
    # kustomize breaks long values into lines, and the API server ignores line breaks.
    text = text_at(content, *keys).translate({ord("\r"): None, ord("\n"): None})
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def labels_at(content: object, *keys: str) -> Mapping[str, str]:
    """Return the object of strings below *keys*."""
    return {key: value for key, value in mapping_at(content, *keys).items() if isinstance(value, str)}


def selects(selector: Manifest, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches *labels*; an empty one matches all."""
    wanted = labels_at(selector, "matchLabels")
    expressions = mappings_at(selector, "matchExpressions")
    return all(labels.get(key) == value for key, value in wanted.items()) and all(_matches(each, labels) for each in expressions)


def _matches(expression: Manifest, labels: Mapping[str, str]) -> bool:
    key, values = text_at(expression, "key"), texts_at(expression, "values")
    match text_at(expression, "operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


def scaled(value: object, replicas: int) -> int | None:
    """Return a number, or the rounded-up percentage of *replicas*; None if *value* is neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return math.ceil(replicas * int(percent[1]) / 100) if percent else None


def kubectl(namespace: str, *words: str) -> str:
    """Return a command line of kubectl, in *namespace* if that is not empty."""
    return shlex.join(["kubectl", *(["-n", namespace] if namespace else []), *words])


def describe_pods(namespace: str, labels: Mapping[str, str]) -> str:
    """Return the command line that shows pods with *labels* and their ReplicaSets, whose events tell why a pod is not created."""
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    return kubectl(namespace, "describe", "replicasets,pods", f"--selector={selector}")


def kubectl_patch(kind: str, namespace: str, name: str, operations: Sequence[Manifest]) -> str:
    """Return the command line that applies a JSON patch to an object."""
    return kubectl(namespace, "patch", kind.lower(), name, "--type=json", f"--patch={json.dumps(operations)}")
