"""New nodes of ``--add-nodes`` and ``--like``: copies of an existing node."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from kubeapi.base_structs import Record
from muster.commands.described_nodes.description_syntax import MOST_NODES

_LIKE = r"([^\s,=]+)\s*((?:,[^,=]+=[^,=]*)*)\s*"
_FORM = re.compile(rf"\s*(\d{{1,9}})\s+like\s+{_LIKE}")
_NODE = re.compile(rf"\s*{_LIKE}")
_NUMBER = re.compile(r"\s*-?\d{1,9}\s*")


class CopiedNode(Record, frozen=True):
    """The node that new ones copy, with other labels if given."""

    like: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Addition:
    """New nodes, copied from an existing one, with other labels if given."""

    count: int
    like: str
    labels: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError if the number is out of range."""
        if not 1 <= self.count <= MOST_NODES:
            raise ValueError(f"{f'{self.count} like {self.like}'!r}: the number of nodes must be from 1 to {MOST_NODES:,}")


def parse_additions(texts: Sequence[str]) -> tuple[Addition | int, ...]:
    """Read ``N like NODE[,label=value...]``, or a number alone, whose node is that of ``--like``."""
    return tuple(map(_addition, texts))


def _addition(text: str) -> Addition | int:
    if _NUMBER.fullmatch(text):
        return int(text)
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} must be 'N like NODE[,label=value...]', such as '2 like node-1,topology.kubernetes.io/zone=z2'")
    return Addition(int(match[1]), match[2], _labels(match[3]))


def parse_copied_nodes(texts: Sequence[str]) -> tuple[CopiedNode, ...]:
    """Read ``NODE[,label=value...]``."""
    matches = [(text, _NODE.fullmatch(text)) for text in texts]
    for text, match in matches:
        if match is None:
            raise ValueError(f"{text!r} must be NODE[,label=value...]")
    return tuple(CopiedNode(match[1], _labels(match[2])) for _, match in matches if match is not None)


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (each.split("=") for each in text.split(",") if each)
    return tuple((key.strip(), value.strip()) for key, value in pairs)


def decode_additions(value: object) -> tuple[Addition | int, ...]:
    """Return the additions of the key ``addNodes``: a text, a number, or a list of them."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in listed):
        raise ValueError("must be a list of strings such as '2 like node-1,topology.kubernetes.io/zone=z2'")
    return tuple(each if isinstance(each, int) else _addition(each) for each in listed)


def decode_copied_nodes(value: object) -> tuple[CopiedNode, ...]:
    """Return the nodes of the key ``like``: a text, or a list of them."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in listed):
        raise ValueError("must be a list of strings such as 'node-1,topology.kubernetes.io/zone=z2'")
    return parse_copied_nodes(listed)


def paired_additions(many: Sequence[Addition | int], nodes: Sequence[CopiedNode]) -> tuple[Addition, ...]:
    """Return *many*, in which each number has the next one of *nodes*.

    Raises:
        ValueError: there are more numbers than nodes, or more nodes than numbers.

    """
    numbers = sum(isinstance(each, int) for each in many)
    if numbers != len(nodes):
        count = f"{numbers} and {len(nodes)}"
        raise ValueError(f"each number needs a node to copy, as in '8 like node-7'; numbers and nodes: {count}")
    remaining = iter(nodes)
    return tuple(each if isinstance(each, Addition) else _copies(each, next(remaining)) for each in many)


def _copies(count: int, node: CopiedNode) -> Addition:
    return Addition(count, node.like, node.labels)
