"""Values of parameters and items in the templates of a workflow, as far as they are known before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kubeapi import decode
from kubeapi.decode import Json
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS
from workloadbuilder.adapters.shared.fields import Fields

_PLACEHOLDER = re.compile(r"\{\{\s*([\w.\-]+)\s*\}\}", re.ASCII)
_UNKNOWN = re.compile(r"\{\{[^}]{0,80}")
_CONDITION = re.compile(r"""\s*['"]?([\w.\-]*)['"]?\s*(==|!=)\s*['"]?([\w.\-]*)['"]?\s*""", re.ASCII)

Scope = Mapping[str, str]
"""Known values by the names in placeholders, such as ``inputs.parameters.size``."""


class NotStaticError(Exception):
    """The pods of a workflow depend on what happens while it runs; the message is the reason."""


def substituted(value: Json, scope: Scope) -> Json:
    """Return a copy of *value* with the known placeholders replaced."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda matched: scope.get(matched[1], matched[0]), value) if "{{" in value else value
    if isinstance(value, Mapping):
        return {key: substituted(each, scope) for key, each in value.items()}
    if isinstance(value, list):
        return [substituted(each, scope) for each in value]
    return value


def unknown_in(text: str) -> str:
    """Return the first placeholder in *text* that is not replaced; empty if there is none."""
    matched = _UNKNOWN.search(text)
    return f"{matched[0]}}}}}" if matched else ""


def parameters(holder: Fields, prefix: str) -> dict[str, str]:
    """Return the values of the ``parameters`` of *holder* that have one, by the names that placeholders have."""
    values = {}
    for each in holder.each_item("parameters"):
        given = next((each.raw(name) for name in ("value", "default") if each.raw(name) is not None), None)
        if given is not None and not isinstance(given, (Mapping, list)):
            values[f"{prefix}{each.text('name')}"] = _text(given)
    return values


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else decode.ENCODER.encode(value).decode()


def is_run(step: Fields) -> bool:
    """Return whether the condition of a *step* is true.

    Raises:
        NotStaticError: it is not known.

    """
    if not (condition := step.text("when")):
        return True
    matched = _CONDITION.fullmatch(condition)
    if matched is None:
        raise NotStaticError(f"the condition {step.path}.when is evaluated only when it runs")
    return (matched[1] == matched[3]) == (matched[2] == "==")


def items_of(step: Fields) -> Iterator[Scope]:
    """Yield the values of each item of a *step*; one without values if it has no loop.

    Raises:
        NotStaticError: the items are not known.

    """
    if "withItems" in step or "withParam" in step:
        yield from map(_item, _listed(step))
    elif "withSequence" in step:
        yield from ({"item": str(number)} for number in _sequence(step.mapping("withSequence")))
    else:
        yield {}


def _listed(step: Fields) -> Sequence[Json]:
    given = step.raw("withItems")
    if given is None:
        try:
            given = decode.parse(step.text("withParam").encode())
        except (ValueError, RecursionError):
            raise NotStaticError(f"the items of {step.path}.withParam are known only when it runs") from None
    if not isinstance(given, list):
        raise NotStaticError(f"the items of {step.path} are no list")
    return given


def _item(value: Json) -> Scope:
    if isinstance(value, Mapping):
        return {f"item.{name}": _text(each) for name, each in value.items()}
    return {"item": _text(value)}


def _sequence(given: Fields) -> range:
    """Return the numbers of a ``withSequence``."""
    numbers = {}
    for name in ("count", "start", "end"):
        text = _text(given.raw(name)) if name in given else ""
        if text and not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
            raise NotStaticError(f"the numbers of {given.path}.{name} are known only when it runs")
        numbers[name] = int(text) if text else 0
    start = numbers["start"]
    if "count" in given:
        listed = range(start, start + numbers["count"])
    else:
        listed = range(start, numbers["end"] + 1) if numbers["end"] >= start else range(start, numbers["end"] - 1, -1)
    if len(listed) > MAX_PODS:
        raise NotStaticError(f"{given.path} has more than {MAX_PODS} items")
    return listed
