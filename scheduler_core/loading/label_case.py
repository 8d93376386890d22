"""Topology labels that differ only in case: usually a typing error, and always different domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi.affinity import terms_between_pods
from kubeapi.groups import Group
from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import KeyInOtherCase, ValueInOtherCase
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape


def problems(nodes: NodeTable, groups: Iterable[Group], pods: Iterable[PodRecord]) -> Iterator[Problem]:
    """Return problems for node labels that differ only in case from a topology key in use, or from another value of one."""
    shapes = {id(pod.shape): pod.shape for pod in pods}
    keys = sorted({*_keys_of_groups(groups), *(key for shape in shapes.values() for key in _keys_of(shape))})
    folded = {key.casefold(): key for key in keys}
    for other in sorted({name for labels in nodes.labels for name in labels}.difference(keys)):
        key = folded.get(other.casefold())
        if key is None:
            continue
        without = (node for node, labels in zip(nodes.names, nodes.labels, strict=True) if other in labels and key not in labels)
        if (node := next(without, None)) is not None:
            yield _problem(node, KeyInOtherCase(other, key))
    for key in keys:
        yield from _values(nodes, key)


def _values(nodes: NodeTable, key: str) -> Iterator[Problem]:
    column = nodes.column(key)
    if len({value.casefold() for value in column.values}) == len(column.values):
        return
    first: dict[str, int] = {}
    for index, value in enumerate(column.ids.tolist()):
        if value >= 0:
            first.setdefault(column.values[value], index)
    by_folded_value: dict[str, list[tuple[int, str]]] = {}
    for value, index in sorted(first.items(), key=lambda each: each[1]):
        by_folded_value.setdefault(value.casefold(), []).append((index, value))
    for (first_index, known), *others in by_folded_value.values():
        for index_of_other, value in others:
            yield _problem(nodes.names[index_of_other], ValueInOtherCase(key, value, known, nodes.names[first_index]))


def _problem(node: str, fact: KeyInOtherCase | ValueInOtherCase) -> Problem:
    return Problem.about(Name("Node", "", node), fact)


def _keys_of_groups(groups: Iterable[Group]) -> Iterator[str]:
    for group in groups:
        constraints = group.spec.scheduling_constraints
        yield from (each.key for each in (constraints and constraints.topology) or ())


def _keys_of(shape: PodShape) -> Iterator[str]:
    yield from (each.topology_key for each in shape.spread)
    yield from (term.topology_key for _, term in terms_between_pods(shape.affinity))
