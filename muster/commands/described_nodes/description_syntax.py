"""Grammar of ``--nodes``.

::

    nodes    = N "x" ( amounts | MACHINE [ "," amounts ] ) { clause }
    amounts  = amount { "," amount }
    amount   = RESOURCE "=" QUANTITY | "deviceclass/" CLASS "=" N
    clause   = "in" level { "of" level } | "with" label { "," label } | "tainted" taint { "," taint }
    level    = N ( "zones" | "blocks" | "racks" | LABEL )
    label    = LABEL "=" VALUE
    taint    = KEY [ "=" VALUE ] ":" EFFECT

Words are separated by spaces; a space may follow a comma.  Each clause can be given once, in any order.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from kubeapi import content, quantity
from kubeapi.base_structs import Record, replaced
from kubeapi.resource_names import is_extended
from muster.commands.described_nodes.machine_types import ARCHITECTURE, MACHINE_TYPES, SYSTEM
from scheduler_core.model.names import HOSTNAME
from validators.options import FILE, Option, OptionType

Item = TypeVar("Item")

LEVELS = {"zone": "topology.kubernetes.io/zone", "block": "example.com/block", "rack": "example.com/rack"}
"""Node labels of the levels, widest first."""
MOST_NODES = 100_000
"""Maximum number of nodes that are described."""
MOST_DEVICES = 128
"""Devices of one class on a node, which are in one ResourceSlice: as many as the API allows in one."""
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
EXAMPLE = "32 x cpu=192,memory=2Ti,nvidia.com/gpu=8 in 4 racks"
DEVICE_CLASS = "deviceclass/"

_BUILT_IN = ("cpu", "memory", "ephemeral-storage", "pods")
_HUGE_PAGES, _GPU = "hugepages-", "nvidia.com/gpu"
_CLAUSES = ("in", "with", "tainted")
_LONGEST_DRIVER = 63
_LEAST_MEMORY = 2**20
_LONGEST_NOUN = 40
_SHOWN = 40
_words = re.compile(r"[^\s,]+|,").finditer
_bytes_unit = re.compile(r"([0-9.]+)([kKMGTPE])(i?)[bB]").fullmatch


class DescriptionError(ValueError):
    """A text that is no description; the message has the wrong part, its position, and what is allowed."""


class TopologyLevel(Record, frozen=True):
    """A level of the topology: the label, the noun of its values, and their number, those in all wider domains together."""

    key: str
    noun: str
    count: int


class Taint(Record, frozen=True):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class NodeDescription(Record, frozen=True):
    """Equal nodes, and the domains in which they are.

    Attributes:
        text: the description.
        count: number of nodes.
        allocatable: resources with their quantities.
        devices: device classes with the number of devices on each node.
        levels: levels of the topology, the widest first.
        labels: further labels.
        taints: taints of each node.
        machine: the machine that was named; empty if none was.

    """

    text: str
    count: int
    allocatable: tuple[tuple[str, str], ...]
    devices: tuple[tuple[str, int], ...] = ()
    levels: tuple[TopologyLevel, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    machine: str = ""


class _Word(Record, frozen=True):
    text: str
    start: int

    def refuse(self, problem: str) -> NoReturn:
        shown = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        raise DescriptionError(f"{shown!r} (character {self.start + 1}): {problem}")


class _Reader:
    """Reader of the words of one description."""

    def __init__(self, text: str) -> None:
        self._words = [_Word(match.group(), match.start()) for match in _words(text)]
        self._end = _Word("", len(text))
        self._place = 0

    @property
    def next(self) -> _Word:
        return self._words[self._place] if self._place < len(self._words) else self._end

    def word(self, expected: str) -> _Word:
        """Return the next word, and go on.  Raises DescriptionError at a comma, and at the end."""
        word = self.next
        if word.text in {"", ","}:
            word.refuse(f"{expected} must be here, as in {EXAMPLE!r}")
        self._place += 1
        return word

    def accepts(self, text: str) -> bool:
        """Return whether the next word is *text*, and go on if it is."""
        if self.next.text != text:
            return False
        self._place += 1
        return True

    def items(self, expected: str, read: Callable[[_Word], Item]) -> list[Item]:
        """Return what *read* makes of the items of a list, which commas separate."""
        listed = [read(self.word(expected))]
        while self.accepts(","):
            listed.append(read(self.word(expected)))
        return listed


def parse_description(text: str) -> NodeDescription:
    """Return the nodes that *text* describes.

    Raises:
        DescriptionError: *text* is not of the grammar, a name or amount in it is invalid, or there are fewer nodes than domains.

    """
    reader = _Reader(text)
    count = _count(reader)
    machine, amounts = _shape(reader)
    description = NodeDescription(" ".join(text.split()), count, (), machine=machine)
    given: set[str] = set()
    while word := reader.next.text:
        if word not in _CLAUSES:
            near = difflib.get_close_matches(word, _CLAUSES, n=1)
            reader.next.refuse(f"must be {', '.join(map(repr, _CLAUSES))} or the end{_mean(near)}; as in {EXAMPLE!r}")
        if word in given:
            reader.next.refuse("is given twice")
        given.add(word)
        reader.accepts(word)
        if word == "in":
            description = replaced(description, levels=_levels(reader, count))
        elif word == "with":
            description = replaced(description, labels=_distinct(reader.items("KEY=VALUE", _label)))
        else:
            description = replaced(description, taints=tuple(reader.items("KEY[=VALUE]:EFFECT", _taint)))
    keys = {each.key for each in description.levels}
    for key, _ in description.labels:
        if key in keys:
            raise DescriptionError(f"label {key} is that of a level: give it after 'in' or after 'with', not both")
    return _with_amounts(description, amounts)


def _count(reader: _Reader) -> int:
    word = reader.word("the number of nodes")
    digits = word.text.removesuffix("x")
    number = content.whole_number(digits)
    if number is None or not 1 <= number <= MOST_NODES:
        word.refuse(f"must be the number of nodes, from 1 to {MOST_NODES:,}, as in {EXAMPLE!r}")
    if digits == word.text and not reader.accepts("x"):
        reader.next.refuse(f"'x' must be between the number of nodes and their resources, as in {EXAMPLE!r}")
    return number


def _shape(reader: _Reader) -> tuple[str, list[tuple[_Word, str, str]]]:
    """Return the machine, empty if none is named, and the amounts, each with its word."""
    machine = ""
    if "=" not in reader.next.text:
        word = reader.word("RESOURCE=AMOUNT or a machine")
        machine = word.text
        if machine not in MACHINE_TYPES:
            near = difflib.get_close_matches(machine, MACHINE_TYPES, n=1)
            word.refuse(f"must be RESOURCE=AMOUNT, such as cpu=192, or one of the machines {', '.join(MACHINE_TYPES)}{_mean(near)}")
        if not reader.accepts(","):
            return machine, []
    return machine, reader.items("RESOURCE=AMOUNT", _amount)


def _with_amounts(description: NodeDescription, amounts: Sequence[tuple[_Word, str, str]]) -> NodeDescription:
    machine = MACHINE_TYPES.get(description.machine)
    resources = {"pods": "110"} if machine is None else dict(machine.allocatable)
    devices: dict[str, int] = {}
    given: set[str] = set()
    for word, name, amount in amounts:
        if name in given:
            word.refuse(f"{name} is given twice")
        given.add(name)
        if name.startswith(DEVICE_CLASS):
            devices[name.removeprefix(DEVICE_CLASS)] = int(amount)
        else:
            resources[name] = amount
    for name in ("cpu", "memory"):
        if name not in resources:
            raise DescriptionError(f"{name} is missing: each node needs cpu and memory, as in {EXAMPLE!r}")
    labels = {ARCHITECTURE: "amd64", SYSTEM: "linux", **({} if machine is None else machine.labels), **dict(description.labels)}
    order = sorted(resources, key=lambda name: (name not in {"cpu", "memory"}, name == "pods"))
    allocatable = tuple((name, resources[name]) for name in order)
    return replaced(description, allocatable=allocatable, devices=tuple(devices.items()), labels=tuple(labels.items()))


def _amount(word: _Word) -> tuple[_Word, str, str]:
    name, equals, amount = word.text.partition("=")
    if not equals:
        word.refuse("must be RESOURCE=AMOUNT, such as nvidia.com/gpu=8")
    if name.startswith(DEVICE_CLASS):
        device_class = name.removeprefix(DEVICE_CLASS)
        if content.subdomain(device_class) or len(device_class) > _LONGEST_DRIVER:
            word.refuse(f"must name a DeviceClass of at most {_LONGEST_DRIVER} characters, such as {DEVICE_CLASS}gpu.example.com=8")
        if not 1 <= (content.whole_number(amount) or 0) <= MOST_DEVICES:
            word.refuse(f"must have a number of devices from 1 to {MOST_DEVICES}, such as {name}=8")
    else:
        _check_resource(word, name)
        _check_quantity(word, name, amount)
    return word, name, amount


def _check_resource(word: _Word, name: str) -> None:
    if name in _BUILT_IN or is_extended(name) or (name.startswith(_HUGE_PAGES) and quantity.is_quantity(name.removeprefix(_HUGE_PAGES))):
        return
    near = [_GPU] if name.lower() in {"gpu", "gpus"} else difflib.get_close_matches(name, _BUILT_IN, n=1)
    allowed = f"{', '.join(_BUILT_IN)}, {_HUGE_PAGES}SIZE, DOMAIN/NAME such as {_GPU}, or {DEVICE_CLASS}CLASS"
    word.refuse(f"there is no resource {_short(name)!r}{_mean(near)}; allowed are {allowed}")


def _check_quantity(word: _Word, name: str, amount: str) -> None:
    try:
        number = quantity.exact(amount)
    except ValueError as error:
        unit = _bytes_unit(amount)
        units = [] if unit is None else [unit[2].upper() + "i"] if unit[3] else [unit[2].replace("K", "k"), unit[2].upper() + "i"]
        word.refuse(f"{error}{_mean(f'{name}={unit[1]}{each}' for each in units) if unit else ''}")
    if number <= 0:
        word.refuse("the amount must be more than 0")
    if number * (1000 if name == "cpu" else 1) > quantity.LARGEST:
        word.refuse("the amount is too large: it must fit in 64 bits")
    if name != "cpu" and number != int(number):
        word.refuse("the amount must be a whole number")
    if name == "memory" and number < _LEAST_MEMORY:
        word.refuse(f"is less than 1Mi: give a unit, such as {name}={int(number)}Gi" if int(number) == number else "is less than 1Mi")


def _levels(reader: _Reader, nodes: int) -> tuple[TopologyLevel, ...]:
    levels: list[TopologyLevel] = []
    while not levels or reader.accepts("of"):
        number = reader.word("the number of zones, blocks or racks")
        count = content.whole_number(number.text) or 0
        above = levels[-1].count if levels else 1
        if count < 1:
            number.refuse(f"must be a number of zones, blocks or racks, as in {EXAMPLE!r}")
        if above * count > nodes:
            domains = f"{above} x {count}" if levels else count
            number.refuse(f"there are more domains ({domains}) than nodes ({nodes}); each must have a node")
        word = reader.word("zones, blocks, racks or a label")
        levels.append(_level(word, above * count, levels))
    return tuple(levels)


def _level(word: _Word, count: int, wider: Sequence[TopologyLevel]) -> TopologyLevel:
    noun = word.text if word.text in LEVELS else word.text.removesuffix("s")
    key = LEVELS.get(noun, word.text)
    if noun not in LEVELS:
        if "/" not in key or content.label_key(key):
            near = difflib.get_close_matches(key, [f"{each}s" for each in LEVELS], n=1)
            word.refuse(f"must be zones, blocks, racks, or the key of a node label such as example.com/rack{_mean(near)}")
        noun = key.rpartition("/")[2].lower()[:_LONGEST_NOUN]
    ranks = [*LEVELS.values()]
    if key in {each.key for each in wider}:
        word.refuse("is given twice")
    if key in ranks and any(each.key in ranks and ranks.index(each.key) > ranks.index(key) for each in wider):
        word.refuse("the widest level is first: zones of blocks of racks, such as 'in 2 zones of 4 racks'")
    return TopologyLevel(key, noun, count)


def _label(word: _Word) -> tuple[str, str]:
    key, equals, value = word.text.partition("=")
    if not equals:
        word.refuse("must be LABEL=VALUE, such as pool=gpu")
    if errors := [*content.label_key(key), *content.label_value(value)]:
        word.refuse(f"is not a label: {errors[0]}")
    if key == HOSTNAME:
        word.refuse("each node has its own name in this label")
    return key, value


def _distinct(labels: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    listed = [*labels]
    for place, (key, _) in enumerate(listed):
        if key in dict(listed[:place]):
            raise DescriptionError(f"label {key} is given twice")
    return tuple(listed)


def _taint(word: _Word) -> Taint:
    left, colon, effect = word.text.rpartition(":")
    key, _, value = left.partition("=")
    if not colon:
        word.refuse("must be KEY[=VALUE]:EFFECT, such as nvidia.com/gpu=present:NoSchedule")
    if effect not in EFFECTS:
        near = difflib.get_close_matches(effect, EFFECTS, n=1)
        word.refuse(f"the effect must be one of {', '.join(EFFECTS)}{_mean(near)}")
    if errors := [*content.label_key(key), *content.label_value(value)]:
        word.refuse(f"is not a taint: {errors[0]}")
    return Taint(key, value, effect)


def _mean(near: Iterable[str]) -> str:
    texts = " or ".join(near)
    return f"; did you mean {texts}?" if texts else ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def parse_descriptions(texts: Sequence[str]) -> tuple[NodeDescription, ...]:
    """Return the nodes of all *texts*.  Raises DescriptionError, also if there are too many nodes in all."""
    descriptions = tuple(map(parse_description, texts))
    total = sum(each.count for each in descriptions)
    if total > MOST_NODES:
        raise DescriptionError(f"{total:,} nodes are described: at most {MOST_NODES:,} are possible")
    return descriptions


def _decode_descriptions(value: object) -> tuple[NodeDescription, ...]:
    listed: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in listed):
        raise ValueError(f"must be a list of strings such as {EXAMPLE!r}")
    return parse_descriptions(listed)


NODES = Option(
    "--nodes",
    OptionType(parse_descriptions, _decode_descriptions, "'N x RESOURCE=AMOUNT,...'", repeatable=True),
    "New nodes of the cluster, in one line (repeatable): 'N x RESOURCE=AMOUNT,... [in N racks|blocks|zones] [with LABEL=VALUE,...]"
    f" [tainted KEY=VALUE:EFFECT,...]', such as '{EXAMPLE}'.",
)
SAVE = Option("--save", FILE, "Write the nodes of --nodes to FILE, as YAML for --objects.")
