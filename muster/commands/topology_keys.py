"""Topology keys on the command line: the key of a node label, or its name without the prefix where only one label has that name."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import click

from kubeapi.base_structs import replaced

if TYPE_CHECKING:
    from expansion.pod_creation import PodCreation
    from kubeapi.gathered import Given

_NAMED = 3
"""Maximum number of keys that are named."""


def whole_key(key: str, labels: Collection[str], option: str, advice: str = "") -> str:
    """Return the key among *labels* of nodes that *key* is, or of which it is the name.

    Raises:
        click.BadParameter: no node has the label, or several labels have the name; *option* is the option with the key, and
            *advice* a clause of the message if no label is similar.

    """
    if key in labels:
        return key
    named = sorted(each for each in labels if _name(each) == key)
    if len(named) == 1:
        return named[0]
    if named:
        more = f" or {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        raise click.BadParameter(f'"{key}" can be {" or ".join(named[:_NAMED])}{more}: give the whole key', param_hint=option)
    from workloadbuilder.adapters.shared.known_objects import similar_name

    # Only names are compared: keys with the same long prefix are always similar.
    near = similar_name(_name(key), sorted({_name(each) for each in labels}))
    similar = [each for each in sorted(labels) if near and _name(each) == near][:_NAMED]
    quoted = " or ".join(f'"{each}"' for each in similar)
    hint = f"; did you mean {quoted}?" if similar else advice
    raise click.BadParameter(f'no node has the label "{key}"{hint}', param_hint=option)


def with_whole_key(creation: PodCreation, objects: Iterable[Given], attributes: Collection[str]) -> PodCreation:
    """Return *creation* with the whole key of its gang's topology, as the nodes among *objects* have it; unchanged without nodes.

    Raises:
        click.BadParameter: no node has the label, nor is it one of the *attributes* of devices that are topology levels.

    """
    gang = creation.gang
    if gang is None or not gang.topology or gang.topology in attributes:
        return creation
    from kubeapi.gather import gather

    kinds, _ = gather(objects)
    if not kinds["Node"]:
        return creation
    labels = {key for each in kinds["Node"] for key in _labels(each.content())}
    advice = f"; for an attribute of devices, give --device-topology {gang.topology} too" if kinds["ResourceSlice"] else ""
    topology = whole_key(gang.topology, labels, "--topology", advice)
    return replaced(creation, gang=replaced(gang, topology=topology))


def _labels(node: Any) -> Iterable[str]:
    metadata = node.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else ()


def _name(key: str) -> str:
    return key.rpartition("/")[2]
