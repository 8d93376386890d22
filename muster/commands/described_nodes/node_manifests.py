"""Objects of described nodes: a Node each, a ResourceSlice for its devices of each class, and the DeviceClasses.

The names follow from the descriptions and their order: nodes are ``node-001`` and so on, domains ``rack-1``.  Descriptions share domains of
the same name, so that nodes of two kinds can be in the same zones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import click

from kubeapi.gather import by_name, gather
from kubeapi.gathered import Given
from muster import standard_output
from muster.commands.described_nodes.description_syntax import NODES, SAVE, NodeDescription
from muster.commands.described_nodes.machine_types import MACHINE_TYPES
from muster.commands.options import STDOUT
from muster.commands.outputs import to_file
from scheduler_core.model.names import HOSTNAME

_FEWEST_DIGITS = 3
_DEVICES_API = "resource.k8s.io/v1"


def described_objects(descriptions: Sequence[NodeDescription], others: Iterable[Given] = ()) -> list[dict[str, Any]]:
    """Return the objects of *descriptions*; no Node has the name of one of *others*, and DeviceClasses among those are not repeated."""
    if not descriptions:
        return []
    kinds, _ = gather(others)
    nodes, classes = ({name for _, name in by_name(kinds[kind], [])} for kind in ("Node", "DeviceClass"))
    return [*_device_classes(descriptions, classes), *_nodes(descriptions, nodes)]


def _device_classes(descriptions: Sequence[NodeDescription], existing: Collection[str]) -> Iterator[dict[str, Any]]:
    names = dict.fromkeys(name for each in descriptions for name, _ in each.devices)
    for name in names:
        if name not in existing:
            selector = {"cel": {"expression": f'device.driver == "{name}"'}}
            yield {"apiVersion": _DEVICES_API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": [selector]}}


def _nodes(descriptions: Sequence[NodeDescription], existing: Collection[str]) -> Iterator[dict[str, Any]]:
    names = _names(sum(each.count for each in descriptions), existing)
    for description in descriptions:
        for place in range(description.count):
            name = next(names)
            yield _node(description, name, place)
            for driver, number in description.devices:
                yield _slice(name, driver, number)


def _names(count: int, existing: Collection[str]) -> Iterator[str]:
    digits, number = max(_FEWEST_DIGITS, len(str(count))), 0
    while True:
        number += 1
        if (name := f"node-{number:0{digits}d}") not in existing:
            yield name


def _node(description: NodeDescription, name: str, place: int) -> dict[str, Any]:
    """Return the node at *place* of its description; each domain has neighbours, and as many nodes as any other, or one more."""
    domains = {each.key: f"{each.noun}-{place * each.count // description.count + 1}" for each in description.levels}
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **domains, **dict(description.labels)}},
        "status": {"allocatable": dict(description.allocatable)},
    }
    if description.taints:
        taints = [{"key": each.key, **({"value": each.value} if each.value else {}), "effect": each.effect} for each in description.taints]
        node["spec"] = {"taints": taints}
    return node


def _slice(node: str, driver: str, number: int) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"device-{each}"} for each in range(number)]
    return {
        "apiVersion": _DEVICES_API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {"driver": driver, "nodeName": node, "pool": pool, "devices": devices},
    }


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedNodes:
    """The options ``--nodes`` and ``--save`` of a command.

    Attributes:
        descriptions: the described nodes.
        save: the file for them; None for no file.
        command: the subcommand, for messages.

    """

    descriptions: Sequence[NodeDescription] = ()
    save: str | None = None
    command: str = ""

    def __post_init__(self) -> None:
        """Raise click.UsageError if there is a file and no description, or the file is standard output."""
        if self.save is not None and not self.descriptions:
            raise click.UsageError(f"{SAVE.flag} needs {NODES.flag}: it writes the nodes that are described")
        if self.save == STDOUT:
            raise click.UsageError(f"{SAVE.flag} must be a file: standard output has the answer")

    def __bool__(self) -> bool:
        return bool(self.descriptions)

    def objects(self, others: Iterable[Given]) -> list[dict[str, Any]]:
        """Return the objects, which no object of *others* has the name of; they are saved, and the sources of machines reported.

        Raises:
            click.UsageError: the file cannot be written.

        """
        created = described_objects(self.descriptions, others)
        notes = _machine_notes(self.descriptions)
        for note in notes:
            standard_output.report(f"muster {self.command}: {note}")
        if self.save is not None:
            from muster.render import yaml_text

            comments = [f"# --nodes '{each.text}'" for each in self.descriptions] + [f"# {each}" for each in notes]
            text = "---\n".join(map(yaml_text.dump, created))
            to_file(self.save, "\n".join([*comments, text]))
        return created


def _machine_notes(descriptions: Iterable[NodeDescription]) -> list[str]:
    """Return for each machine that is named what its amounts are, and their source."""
    machines = {each.machine: MACHINE_TYPES[each.machine] for each in descriptions if each.machine}
    return [f"{name}: {each.note} ({each.source}, {each.as_of})" for name, each in machines.items()]
