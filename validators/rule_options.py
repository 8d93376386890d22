"""Options of rules, which linter, webhooks, simulator and sidecar share: profile, version, feature gates, severities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeapi.versions import kubernetes_releases
from validators.gates import Gates
from validators.options import Option, OptionType, items, one_of
from validators.rules.base import Profile, Severity

_SWITCHES = {"true": True, "false": False}


def gate_switches(texts: Sequence[str]) -> list[tuple[str, bool]]:
    """Return names and values of ``A=true,B=false``.  Raises ValueError if a part has another form."""
    switches = []
    for part in items(texts):
        name, equals, switch = (each.strip() for each in part.partition("="))
        if not equals or switch.lower() not in _SWITCHES:
            raise ValueError(f"{part!r} must be NAME=true or NAME=false")
        switches.append((name, _SWITCHES[switch.lower()]))
    return switches


def decode_gate_switches(value: object) -> Mapping[str, bool]:
    """Return the switches in an object of JSON."""
    if not isinstance(value, Mapping) or not all(isinstance(on, bool) for on in value.values()):
        raise ValueError("must be an object of feature gates, each true or false")
    return value


def _severities(texts: Sequence[str]) -> tuple[tuple[str, Severity], ...]:
    """Return the severities of ``ID=warning``, by id; if a rule is given twice, the last one is used."""
    severities: dict[str, Severity] = {}
    for part in items(texts):
        name, equals, severity = (each.strip() for each in part.partition("="))
        if not name or not equals or severity not in tuple(Severity):
            raise ValueError(f"{part!r} must be ID=error, ID=warning or ID=off")
        severities[name] = Severity(severity)
    return tuple(sorted(severities.items()))


PROFILE = Option(
    "--profile",
    one_of(tuple(Profile), Profile),
    "kep: all rules of the KEPs; upstream: only the rules of the API server.",
    Profile.KEP.value,
)
KUBERNETES = Option(
    "--kubernetes",
    one_of(tuple(kubernetes_releases.names()), kubernetes_releases.names().__getitem__),
    "Version of the API server to mirror.",
    kubernetes_releases.name(kubernetes_releases.TODAY),
    purpose=f"version of the API server to mirror: {kubernetes_releases.name(kubernetes_releases.OLDEST)} to {kubernetes_releases.name(kubernetes_releases.NEWEST)}",
)
GATES = Option(
    "--gates",
    OptionType(lambda texts: Gates.from_switches(gate_switches(texts)), metavar="NAME=true|false,...", repeatable=True),
    "Feature gates of the API server; all others are on.",
    purpose="feature gates of the API server, as A=true,B=false; all others are on",
)
RULES = Option(
    "--rule",
    OptionType(_severities, metavar="ID=error|warning|off", repeatable=True),
    "Set the severity of a rule (repeatable).",
    purpose="severities of rules, as ID=warning,ID=off",
    field="rules",
    other_variable="MUSTER_RULES",
)
