"""Parts of ``values.schema.json`` of the chart that follow from the programs.

They are the types of the ``env`` sections, with the ids of all rules and the names of all gates, and the conditions between settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scheduler_core.sidecar import settings as sidecar_settings
from validators import gates, rule_options, rules
from validators.options import OptionType
from validators.rules.base import Severity
from webhooks import admission_options
from webhooks import settings as webhook_settings
from webhooks.enforcement import Enforcement

Schema = Mapping[str, Any]
TEXT: Schema = {"$ref": "#/definitions/scalar"}
ON_OFF: Schema = {"enum": [True, False, "true", "false"]}
LINE = re.compile(r'(?:      "MUSTER_\w+": .*\n)+')
"""Lines of one section."""
IS = "[ \\t]*=[ \\t]*"
ON, OFF, ANY = "[Tt]rue", "[Ff]alse", ""
TIMEOUTS = 3, 30
"""Bounds of ``webhooks.timeoutSeconds``."""


def _listed(part: str) -> Schema:
    """Return the schema of texts that are lists of *part*, separated by commas or line breaks."""
    return {"type": "string", "pattern": rf"^[\s,]*({part}[ \t]*([,\n][\s,]*|$))*$"}


def _switch(gate: str, value: str) -> Schema:
    """Return the schema of texts that have this switch of a gate."""
    return {"pattern": rf"\b{gate}{IS}{value}"}


def _gates() -> Schema:
    """Return the schema of switches of gates: a gate is off if one that it needs is off.

    Of a gate that is off by itself then, or that some versions do not have, only a switch that is given is judged.
    """
    conditions = []
    for name, needs in gates.NEEDS.items():
        judged = [_switch(name, ANY)] if name == gates.DESIRED_COUNT or name in gates.LAST_VERSIONS else []
        conditions += [{"if": {"allOf": [_switch(need, OFF), *judged]}, "then": _switch(name, OFF)} for need in needs]
    return {**_listed(f"({'|'.join(gates.NEEDS)}){IS}({ON}|{OFF})"), "allOf": conditions}


RULES = "|".join(rules.discover())
BY_METAVAR: Mapping[str | None, Schema] = {
    admission_options.ENFORCEMENT.type.metavar: _listed(f"(({RULES})[ \\t]*=)?({'|'.join(Enforcement)})"),
    rule_options.GATES.type.metavar: _gates(),
    rule_options.RULES.type.metavar: _listed(f"({RULES}){IS}({'|'.join(Severity)})"),
}
"""Schema of a setting with this placeholder in the help."""


def _with_gates(section: str, switches: Schema) -> Schema:
    """Return the schema of values with these switches of gates in a section."""
    env = {"required": ["MUSTER_GATES"], "properties": {"MUSTER_GATES": switches}}
    return {"properties": {section: {"required": ["env"], "properties": {"env": env}}}}


def _gates_agree() -> Schema:
    """Return the schema of values whose components do not have opposite switches of a gate: they describe one API server."""
    return {
        "allOf": [
            {
                "if": {"allOf": [_with_gates("webhooks", _switch(gate, value)), _with_gates("sidecar", _switch(gate, ANY))]},
                "then": _with_gates("sidecar", _switch(gate, value)),
            }
            for gate in gates.NEEDS
            for value in (ON, OFF)
        ]
    }


def _deadlines() -> Schema:
    """Return the schema of webhooks whose deadline for a review is less than the time that the API server waits."""
    return {
        "allOf": [
            {
                "if": {"properties": {"timeoutSeconds": {"const": seconds}}},
                "then": {"properties": {"env": {"properties": {"MUSTER_REQUEST_SECONDS": {"exclusiveMaximum": seconds}}}}},
            }
            for seconds in range(TIMEOUTS[0], TIMEOUTS[1] + 1)
        ]
    }


def schema(kind: OptionType[Any]) -> Schema:
    """Return the schema of values of *kind*.  A number of a values file has no quotes, so that its bounds are checked."""
    if kind.is_flag:
        return ON_OFF
    if kind.choices:
        numbers = [float(each) for each in kind.choices if re.fullmatch(r"\d+\.\d+", each)]
        return {"enum": [*kind.choices, *numbers]}
    if kind.bounds is None:
        return BY_METAVAR.get(kind.metavar, TEXT)
    low, high = kind.bounds
    return {"type": "integer" if isinstance(low, int) else "number", "minimum": low, "maximum": high}


def variables() -> dict[str, dict[str, Schema]]:
    """Return the schema of each variable, by section."""
    declared = {"webhooks": webhook_settings.OPTIONS, "sidecar": sidecar_settings.OPTIONS}
    schemas = {section: {each.variable: schema(each.type) for each in options.values()} for section, options in declared.items()}
    schemas["sidecar"][sidecar_settings.NAMESPACE_VARIABLE] = TEXT
    return schemas


def render(path: Path) -> str:
    """Return the content of *path*, a values.schema.json, with the current schemas of both sections and the conditions between them."""
    sections = iter(variables()[name] for name in ("webhooks", "sidecar"))
    text = LINE.sub(lambda _: ",\n".join(_lines(next(sections))) + "\n", path.read_text(encoding="utf-8"))
    for name, condition in (("deadlines", _deadlines()), ("gatesAgree", _gates_agree())):
        line = f'  "{name}": {json.dumps(condition)},'
        text = "\n".join(line if each.startswith(f'  "{name}": ') else each for each in text.split("\n"))
    return text


def _lines(section: Mapping[str, Schema]) -> Iterator[str]:
    for name, each in sorted(section.items()):
        yield f'      "{name}": {json.dumps(each)}'
