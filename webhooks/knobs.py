"""What a knob of the webhook server is, and how the text of one is read.

Each reader raises ValueError with what must hold; who asked adds the name and the value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from validators.gates import Gates
from validators.rules.base import Profile, Severity
from validators.versions import releases


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Where to listen.  Port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclasses.dataclass(frozen=True, slots=True)
class Knob:
    """One setting: environment variable, option of ``muster serve`` (empty: none), default, reason and reader."""

    name: str
    option: str
    default: str
    reason: str
    read: Callable[[str], Any]

    @property
    def field(self) -> str:
        """The field of Settings that holds it."""
        return self.name.removeprefix("MUSTER_").lower()


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers from *low* to *high*."""

    def read(text: str) -> int:
        must = f"must be a whole number from {low} to {high}"
        try:
            number = int(text)
        except ValueError:
            raise ValueError(must) from None
        if not low <= number <= high:
            raise ValueError(must)
        return number

    return read


def seconds(low: float, high: float) -> Callable[[str], float]:
    """A reader of durations in seconds from *low* to *high*."""

    def read(text: str) -> float:
        must = f"must be a number of seconds from {low:g} to {high:g}"
        try:
            number = float(text)
        except ValueError:
            raise ValueError(must) from None
        if not (math.isfinite(number) and low <= number <= high):
            raise ValueError(must)
        return number

    return read


def address(text: str) -> Address:
    """HOST:PORT."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    must = "must be HOST:PORT with a port from 0 to 65535, an IPv6 host in brackets"
    if not colon or not host or (":" in host and not text.startswith("[")) or not port.isascii() or not port.isdigit():
        raise ValueError(must)
    if int(port) > 65535:
        raise ValueError(must)
    return Address(host, int(port))


def maybe_address(text: str) -> Address | None:
    """HOST:PORT, or nothing."""
    return address(text) if text else None


def switch(text: str) -> bool:
    """True or false."""
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def lines(text: str) -> tuple[str, ...]:
    """One value a line."""
    return tuple(line for line in text.split("\n") if line)


def one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    """A reader of one of *names*."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return text

    return read


def profile(text: str) -> Profile:
    """The profile of that name."""
    return Profile(one_of(tuple(Profile))(text))


def version(text: str) -> int:
    """The minor version out of an API server's version."""
    known = releases.names()
    return known[one_of(tuple(known))(text)]


def gates(text: str) -> Gates:
    """A=true,B=false: feature gates.  Raises GateError where no API server starts with them."""
    switches = []
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, equals, value = part.partition("=")
        if not equals or value.lower() not in ("true", "false"):
            raise ValueError("must be NAME=true or NAME=false, several separated by commas")
        switches.append((name.strip(), value.lower() == "true"))
    return Gates.from_switches(switches)


def rules(text: str) -> tuple[tuple[str, Severity], ...]:
    """ID=warning,ID=off: severities by rule, in order of their ids; of two for one rule the later counts."""
    switched: dict[str, Severity] = {}
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, equals, value = part.partition("=")
        if not name or not equals or value not in tuple(Severity):
            raise ValueError("must be ID=error, ID=warning or ID=off, several separated by commas")
        switched[name.strip()] = Severity(value)
    return tuple(sorted(switched.items()))
