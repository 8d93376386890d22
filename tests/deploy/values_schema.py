"""Types of the ``env`` sections in ``values.schema.json`` of the chart, generated from the settings of the programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scheduler_core.sidecar import settings as sidecar_settings
from validators import rule_options
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


def _listed(part: str) -> Schema:
    """Return the schema of texts that are lists of *part*."""
    part = rf"\s*({part})?\s*"
    return {"type": "string", "pattern": f"^{part}([,\\n]{part})*$"}


BY_METAVAR: Mapping[str | None, Schema] = {
    admission_options.ENFORCEMENT.type.metavar: _listed(rf"([^=,\s]+\s*=)?({'|'.join(Enforcement)})"),
    rule_options.GATES.type.metavar: _listed(r"[A-Za-z0-9]+\s*=([Tt]rue|[Ff]alse)"),
    rule_options.RULES.type.metavar: _listed(rf"[^=,\s]+\s*=({'|'.join(Severity)})"),
}
"""Schema of a setting with this placeholder in the help."""


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
    """Return the content of *path*, a values.schema.json, with the current schemas of both sections."""
    sections = iter(variables()[name] for name in ("webhooks", "sidecar"))
    return LINE.sub(lambda _: ",\n".join(_lines(next(sections))) + "\n", path.read_text(encoding="utf-8"))


def _lines(section: Mapping[str, Schema]) -> Iterator[str]:
    for name, each in sorted(section.items()):
        yield f'      "{name}": {json.dumps(each)}'
