"""Types of the ``env`` sections in ``values.schema.json`` of the chart, generated from the settings of the programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scheduler_core.sidecar import settings as sidecar_settings
from validators.rules.base import Severity
from webhooks import settings as webhook_settings
from webhooks.enforcement import Enforcement
from webhooks.knobs import SWITCH

Schema = Mapping[str, Any]
TEXT: Schema = {"$ref": "#/definitions/scalar"}
ON_OFF: Schema = {"enum": [True, False, "true", "false"]}
LINE = re.compile(r'(?:      "MUSTER_\w+": .*\n)+')
"""Lines of one section."""


def _listed(part: str) -> Schema:
    """Return the schema of texts that are lists of *part*."""
    part = rf"\s*({part})?\s*"
    return {"type": "string", "pattern": f"^{part}([,\\n]{part})*$"}


BY_METAVAR: Mapping[str, Schema] = {
    "MODE|ID=MODE": _listed(rf"([^=,\s]+\s*=)?({'|'.join(Enforcement)})"),
    "A=true,B=false": _listed(r"[A-Za-z0-9]+\s*=([Tt]rue|[Ff]alse)"),
    "ID=SEVERITY": _listed(rf"[^=,\s]+\s*=({'|'.join(Severity)})"),
}
"""Schema of a setting with this placeholder in the help."""


def schema(choices: tuple[str, ...], bounds: tuple[float, float | None] | None, metavar: str | None) -> Schema:
    """Return the schema of one setting.  A number of a values file has no quotes, so that its bounds are checked."""
    if choices:
        numbers = [float(each) for each in choices if re.fullmatch(r"\d+\.\d+", each)]
        return {"enum": [*map(str, choices), *numbers]}
    if bounds is None:
        return BY_METAVAR.get(metavar or "", TEXT)
    low, high = bounds
    limits = {"minimum": low} | ({} if high is None else {"maximum": high})
    return {"type": "integer" if isinstance(low, int) else "number", **limits}


def variables() -> dict[str, dict[str, Schema]]:
    """Return the schema of each variable, by section."""
    webhooks = {
        each.name: ON_OFF if each.kind is SWITCH else schema(each.kind.choices, each.kind.bounds, each.kind.metavar)
        for each in webhook_settings.KNOBS
    }
    sidecar = {
        each.variable: ON_OFF if "/" in each.option else schema(each.choices, each.bounds, each.metavar)
        for each in sidecar_settings.knobs().values()
    }
    return {"webhooks": webhooks, "sidecar": {**sidecar, sidecar_settings.NAMESPACE_VARIABLE: TEXT}}


def render(path: Path) -> str:
    """Return the content of *path*, a values.schema.json, with the current schemas of both sections."""
    sections = iter(variables()[name] for name in ("webhooks", "sidecar"))
    return LINE.sub(lambda _: ",\n".join(_lines(next(sections))) + "\n", path.read_text(encoding="utf-8"))


def _lines(section: Mapping[str, Schema]) -> Iterator[str]:
    for name, each in sorted(section.items()):
        yield f'      "{name}": {json.dumps(each)}'
