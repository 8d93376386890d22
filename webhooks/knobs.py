"""Knobs of the webhook server and parsers of their values.

Each reader raises ValueError with the requirement; the caller adds name and value.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable
from typing import Any

from certs.pair import names_of
from kubeapi import content
from kubeapi.versions import releases
from validators.gates import Gates
from validators.rules.base import Profile, Severity
from webhooks.enforcement import Enforcement, EnforcementPolicy


class Finalizers(enum.StrEnum):
    """Protection finalizers added on creation; one that no controller removes must not be added.

    The controllers of Kubernetes remove those that its API server adds; those of CompositePodGroups from 1.38 on.
    """

    NONE = "none"
    PODGROUP = "podgroup"
    ALL = "all"


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Listening address.  Port 0 selects a free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """Parser of a knob's text, and the arguments of its option: one value called *metavar*, several, or none.

    *choices* are the allowed values, empty if not restricted; *bounds* are minimum and maximum, of type int for whole numbers.
    """

    read: Callable[[str], Any]
    metavar: str | None = None
    repeatable: bool = False
    is_flag: bool = False
    choices: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Knob:
    """Declaration of a setting.

    Attributes:
        kind: kind of its value.
        default: text of the default.
        reason: purpose, and reason for the default.
        option: option of ``muster serve``; empty if there is none.
        help: help text of the option.
        field: field of Settings that it sets.

    """

    kind: Kind
    default: str
    reason: str
    option: str = ""
    help: str = ""
    field: str = ""

    @property
    def name(self) -> str:
        """Return the environment variable."""
        return f"MUSTER_{self.field.upper()}"

    @property
    def label(self) -> str:
        """Return its name for messages."""
        return f"{self.option} ({self.name})" if self.option else self.name


def whole_number(low: int, high: int) -> Kind:
    """Return the kind of whole numbers from *low* to *high*."""

    def read(text: str) -> int:
        must = f"must be a whole number from {low} to {high}"
        try:
            number = int(text)
        except ValueError:
            raise ValueError(must) from None
        if not low <= number <= high:
            raise ValueError(must)
        return number

    return Kind(read, "N", bounds=(low, high))


def seconds(low: float, high: float) -> Kind:
    """Return the kind of durations from *low* to *high* seconds."""

    def read(text: str) -> float:
        must = f"must be a number of seconds from {low:g} to {high:g}"
        try:
            number = float(text)
        except ValueError:
            raise ValueError(must) from None
        if not (math.isfinite(number) and low <= number <= high):
            raise ValueError(must)
        return number

    return Kind(read, "SECONDS", bounds=(float(low), float(high)))


def one_of(names: tuple[str, ...]) -> Kind:
    """Return the kind of values that are one of *names*."""
    return Kind(lambda text: _one_of(names, text), "|".join(names), choices=names)


def _one_of(names: tuple[str, ...], text: str) -> str:
    if text not in names:
        raise ValueError(f"must be one of {', '.join(names)}")
    return text


def _address(text: str) -> Address:
    """Read HOST:PORT."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    must = "must be HOST:PORT with a port from 0 to 65535, an IPv6 host in brackets"
    if not colon or not host or (":" in host and not text.startswith("[")) or not port.isascii() or not port.isdigit():
        raise ValueError(must)
    if int(port) > 65535:
        raise ValueError(must)
    return Address(host, int(port))


def _switch(text: str) -> bool:
    """Read true or false."""
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _lines(text: str) -> tuple[str, ...]:
    """Read one value per line."""
    return tuple(line for line in text.split("\n") if line)


def finalizers_of(text: str, minor: int) -> Finalizers:
    """Return the protection finalizers that *text* names; if empty, those that the API server of Kubernetes 1.*minor* adds."""
    if text:
        return Finalizers(text)
    return Finalizers.ALL if minor >= releases.FIRST_WITH_COMPOSITE_FINALIZER else Finalizers.PODGROUP


def gates(text: str, minor: int = releases.TODAY) -> Gates:
    """Read feature gates: A=true,B=false.  Raises GateError if the API server of Kubernetes 1.*minor* does not start with them."""
    switches = []
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, equals, value = part.partition("=")
        if not equals or value.lower() not in ("true", "false"):
            raise ValueError("must be NAME=true or NAME=false, several separated by commas")
        switches.append((name.strip(), value.lower() == "true"))
    return Gates.from_switches(switches, minor)


def _rules(text: str) -> tuple[tuple[str, Severity], ...]:
    """Read severities by rule: ID=warning,ID=off.  If a rule is given twice, its last severity is used.  The result is sorted by id."""
    severities: dict[str, Severity] = {}
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, equals, value = part.partition("=")
        if not name or not equals or value not in tuple(Severity):
            raise ValueError("must be ID=error, ID=warning or ID=off, several separated by commas")
        severities[name.strip()] = Severity(value)
    return tuple(sorted(severities.items()))


def _enforcement(text: str) -> EnforcementPolicy:
    """Read modes of enforcement: MODE,ID=MODE.  A mode that is given twice is used as given last."""
    default, by_rule = Enforcement.DENY, dict[str, Enforcement]()
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, equals, mode = part.rpartition("=")
        if mode not in tuple(Enforcement) or (equals and not name):
            raise ValueError("must be deny, warn or audit, or ID=deny, ID=warn or ID=audit for a rule, several separated by commas")
        if equals:
            by_rule[name.strip()] = Enforcement(mode)
        else:
            default = Enforcement(mode)
    return EnforcementPolicy(default, tuple(sorted(by_rule.items())))


def _object_name(text: str) -> str:
    """Read the name of an object, which becomes a part of URLs."""
    if complaints := content.subdomain(text):
        raise ValueError(complaints[0])
    return text


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]


ADDRESS = Kind(_address, "HOST:PORT")
ADDRESSES = Kind(lambda text: tuple(str(_address(each)) for each in _listed(text)), "HOST:PORT")
OBJECT_NAME = Kind(_object_name, "NAME")
OBJECT_NAMES = Kind(lambda text: tuple(_object_name(each) for each in _listed(text)), "NAME,NAME")
HOST_NAMES = Kind(lambda text: names_of(tuple(_listed(text))) if text else None, "NAME,NAME")
MAYBE_ADDRESS = Kind(lambda text: _address(text) if text else None, "HOST:PORT")
FILE = Kind(str, "FILE")
NAME = Kind(str, "NAME")
SWITCH = Kind(_switch, is_flag=True)
LINES = Kind(_lines, "PATH", repeatable=True)
PROFILE = Kind(lambda text: Profile(_one_of(tuple(Profile), text)), "|".join(Profile), choices=tuple(Profile))
VERSION = Kind(lambda text: releases.names()[_one_of(tuple(releases.names()), text)], "VERSION", choices=tuple(releases.names()))
GATES = Kind(gates, "A=true,B=false", repeatable=True)
FINALIZERS = Kind(lambda text: text and _one_of(tuple(Finalizers), text), "|".join(Finalizers), choices=tuple(Finalizers))
RULES = Kind(_rules, "ID=SEVERITY", repeatable=True)
ENFORCEMENT = Kind(_enforcement, "MODE|ID=MODE", repeatable=True)
