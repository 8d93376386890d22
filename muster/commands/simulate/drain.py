"""Nodes selected by ``--drain`` and ``--cordon``: by name, or by a label such as ``rack=r3``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeapi.gathered import GatheredObjects, Unusable
from muster.commands import options

_SHOWN = 5


class NoSuchNode(ValueError):
    """No node has that name or label; the message has similar names."""


def selected_nodes(texts: Sequence[str], nodes: Mapping[str, GatheredObjects]) -> frozenset[str]:
    """Return the names of all nodes that *texts* select; *nodes* are all nodes by name.

    Each text is a name or ``KEY=VALUE``.  A key is the full key of a label, or, if no node has that label, the part after the
    prefix: ``zone`` for ``topology.kubernetes.io/zone``.

    Raises:
        NoSuchNode: a text selects no node, or its key is ambiguous.

    """
    selected: set[str] = set()
    labels: dict[str, dict[str, list[str]]] | None = None
    for text in texts:
        key, equals, value = text.partition("=")
        if equals:
            # No node has a name with an equals sign in it.
            labels = _by_label(nodes) if labels is None else labels
            selected.update(_labelled(key.strip(), value.strip(), labels))
        elif text in nodes:
            selected.add(text)
        else:
            raise NoSuchNode(f"there is no node {text!r} among the inputs{options.near(text, nodes)}")
    return frozenset(selected)


def _labelled(key: str, value: str, labels: Mapping[str, Mapping[str, Sequence[str]]]) -> Sequence[str]:
    whole = _whole_key(key, labels)
    values = labels[whole]
    if value not in values:
        known = options.near(value, values) or f"; its values are {_some(sorted(values))}"
        raise NoSuchNode(f"there is no node with the label {whole}={value} among the inputs{known}")
    return values[value]


def _whole_key(key: str, labels: Mapping[str, object]) -> str:
    if key in labels:
        return key
    behind = sorted(each for each in labels if key and each.rpartition("/")[2] == key)
    if len(behind) > 1:
        raise NoSuchNode(f"the label {key!r} is ambiguous: give {' or '.join(behind)}")
    if not behind:
        near = options.near(key, {*labels, *(each.rpartition("/")[2] for each in labels)})
        raise NoSuchNode(f"there is no node with a label {key!r} among the inputs{near}")
    return behind[0]


def _some(values: Sequence[str]) -> str:
    return f"{', '.join(values[:_SHOWN])}{' and more' if len(values) > _SHOWN else ''}"


def _by_label(nodes: Mapping[str, GatheredObjects]) -> dict[str, dict[str, list[str]]]:
    """Return the names of nodes by key and value of their labels."""
    names: dict[str, dict[str, list[str]]] = {}
    for name, node in nodes.items():
        for key, value in _labels(node):
            names.setdefault(key, {}).setdefault(value, []).append(name)
    return names


def _labels(node: GatheredObjects) -> Iterator[tuple[str, str]]:
    try:
        metadata = node.content().get("metadata")
    except Unusable:
        return
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if isinstance(labels, Mapping):
        yield from ((key, value) for key, value in labels.items() if isinstance(value, str))
