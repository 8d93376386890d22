"""Declaration of an option, from which its forms derive: command line, environment variable, key of a request, setting, documentation.

Each type of values reads two forms: the texts of a command line or variable, and the value of a key in JSON.  Both readers raise ValueError
with the requirement, such as ``must be true or false``; the caller adds the option and the value.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar

Value = TypeVar("Value")
_DECLARATION = "option"
"""Key of the declaration in the metadata of a field of settings."""
_LARGEST_PORT = 65535


class OptionError(ValueError):
    """Invalid value of an option; the message has the option, the value and the requirement."""


def _no_key(_: object) -> NoReturn:
    raise ValueError("must be an option of the command line")


@dataclasses.dataclass(frozen=True, slots=True)
class OptionType(Generic[Value]):
    """Type of the values of an option.

    Attributes:
        parse: reads the texts of a command line, several if the option is repeatable, or the text of a variable.
        decode: reads the value of a key; without it no request can have the option.
        metavar: placeholder of the value in the help; None for flags and choices.
        choices: allowed texts; empty if not restricted.
        bounds: minimum and maximum, of type int for whole numbers.
        repeatable: whether the option can be given several times.
        is_flag: whether the option has no value.

    """

    parse: Callable[[Sequence[str]], Value]
    decode: Callable[[object], Value] = _no_key
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    repeatable: bool = False
    is_flag: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Option(Generic[Value]):
    """Declaration of an option.

    Attributes:
        flag: ``--writers``, or ``--labels/--no-labels``; empty if only a variable has the value.
        type: type of its values.
        help: text of ``--help``.
        default: text of the default, in the form of the variable; empty if there is none.
        unset: words for what applies without a value, if no text can express it.
        purpose: text of the documentation, with the reason for the default; empty: the help.
        field: field of the settings; empty if no settings have it.
        other_variable: environment variable, if its name does not follow from the flag.

    """

    flag: str
    type: OptionType[Value]
    help: str = ""
    default: str = ""
    unset: str = ""
    purpose: str = ""
    field: str = ""
    other_variable: str = ""

    @property
    def long(self) -> str:
        """The flag alone: ``--labels`` of ``--labels/--no-labels``."""
        return self.flag.partition("/")[0]

    @property
    def name(self) -> str:
        """The option as an identifier: ``scheduler_name``."""
        return self.long.removeprefix("--").replace("-", "_") or self.field

    @property
    def variable(self) -> str:
        """The environment variable: ``MUSTER_SCHEDULER_NAME``."""
        return self.other_variable or f"MUSTER_{self.name.upper()}"

    @property
    def key(self) -> str:
        """The key of a request: ``schedulerName``."""
        first, *more = self.name.split("_")
        return first + "".join(each.capitalize() for each in more)

    @property
    def label(self) -> str:
        """Flag and variable, for messages."""
        return f"{self.long} ({self.variable})" if self.flag else self.variable


def setting(option: Option[Value], default: Any = dataclasses.MISSING) -> Any:
    """Return the field of a dataclass of settings that *option* sets.

    Args:
        option: its declaration.
        default: default of the field if the text of the option's default does not express it.

    """
    value = option.type.parse([option.default]) if default is dataclasses.MISSING else default
    return dataclasses.field(default=value, metadata={_DECLARATION: option})


def options_of(settings: type) -> dict[str, Option[Any]]:
    """Return the option of each field of the dataclass *settings*, by field."""
    fields = dataclasses.fields(settings)
    return {
        each.name: dataclasses.replace(each.metadata[_DECLARATION], field=each.name) for each in fields if _DECLARATION in each.metadata
    }


def read_variable(option: Option[Value], environ: Mapping[str, str]) -> Value:
    """Return the value of the option's variable; an absent or empty variable means the default.

    Raises:
        OptionError: the value is invalid.

    """
    text = environ.get(option.variable, "").strip() or option.default
    try:
        return option.type.parse([text])
    except ValueError as error:
        raise OptionError(f"{option.label} is {text!r}: {error}") from None


def scalar(read: Callable[[str], Value], metavar: str | None = None) -> OptionType[Value]:
    """Return the type of single values that *read* reads from a text."""
    return OptionType(lambda texts: read(texts[-1]), metavar=metavar)


def items(texts: Sequence[str]) -> list[str]:
    """Return the parts of *texts*, which commas or line breaks separate."""
    return [part.strip() for text in texts for part in re.split(r"[,\n]", text) if part.strip()]


def names(metavar: str) -> OptionType[tuple[str, ...]]:
    """Return the type of lists of names, which commas separate."""
    return OptionType(lambda texts: tuple(items(texts)), decode_names, metavar, repeatable=True)


def decode_names(value: object) -> tuple[str, ...]:
    """Return the names in a list, or in a text with commas."""
    if isinstance(value, str):
        return tuple(items([value]))
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("must be a list of names")
    return tuple(each.strip() for each in value if each.strip())


def whole_number(low: int, high: int, metavar: str = "N", *, unit: str = "") -> OptionType[int]:
    """Return the type of whole numbers from *low* to *high*; *unit* is what they count, in the plural."""
    must = f"must be a {f'number of {unit}' if unit else 'whole number'} from {low} to {high}"

    def parse(texts: Sequence[str]) -> int:
        try:
            number = int(texts[-1])
        except ValueError:
            raise ValueError(must) from None
        return decode(number)

    def decode(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(must)
        return value

    return OptionType(parse, decode, metavar, bounds=(low, high))


def seconds(low: float, high: float) -> OptionType[float]:
    """Return the type of durations from *low* to *high* seconds."""
    must = f"must be a number of seconds from {low:g} to {high:g}"

    def parse(texts: Sequence[str]) -> float:
        try:
            number = float(texts[-1])
        except ValueError:
            raise ValueError(must) from None
        return decode(number)

    def decode(value: object) -> float:
        # NaN is neither below nor above a bound.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and low <= value <= high):
            raise ValueError(must)
        return value

    return OptionType(parse, decode, "SECONDS", bounds=(float(low), float(high)))


def one_of(choices: Sequence[str], as_value: Callable[[str], Value]) -> OptionType[Value]:
    """Return the type of values that are one of *choices*, each as *as_value* returns it."""
    must = f"must be one of {', '.join(choices)}"

    def parse(texts: Sequence[str]) -> Value:
        if texts[-1] not in choices:
            raise ValueError(must)
        return as_value(texts[-1])

    def decode(value: object) -> Value:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{must}, is {value!r}")
        return as_value(value)

    return OptionType(parse, decode, choices=tuple(map(str, choices)))


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Listening address.  Port 0 selects a free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read HOST:PORT."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    must = f"must be HOST:PORT with a port from 0 to {_LARGEST_PORT}, an IPv6 host in brackets"
    if not colon or not host or (":" in host and not text.startswith("[")) or not port.isascii() or not port.isdigit():
        raise ValueError(must)
    if int(port) > _LARGEST_PORT:
        raise ValueError(must)
    return Address(host, int(port))


def _parse_switch(texts: Sequence[str]) -> bool:
    if texts[-1].lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return texts[-1].lower() == "true"


def _decode_switch(value: object) -> bool:
    if value is not True and value is not False:
        raise ValueError("must be true or false")
    return value


SWITCH = OptionType(_parse_switch, _decode_switch, is_flag=True)
ADDRESS = scalar(parse_address, "HOST:PORT")
FILE = scalar(str, "FILE")
NAME = scalar(str, "NAME")
PATHS: OptionType[tuple[str, ...]] = OptionType(
    lambda texts: tuple(line for text in texts for line in text.split("\n") if line), metavar="PATH", repeatable=True
)
"""Paths; in a variable one per line."""
