"""Labels and resources that no node has, in topology keys of groups and in what pending pods require of nodes, with similar ones of nodes.

A name without a similar one is not reported here: the diagnosis of its group or pod names it.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator

from kubeapi.groups import Group
from kubeapi.problem import Problem
from kubeapi.resource_names import is_extended
from scheduler_core.causes.input_problems import LabelSource, LabelUnknown, ResourceUnknown, TopologyKeyUnknown
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from validators.field import is_slip
from validators.model.objects import namespace_of

_COMPARED = 1000
"""Maximum number of labels that are compared with one."""
_SEARCHES = 50
"""Maximum number of labels for which a similar one is searched."""
_SIMILAR = 0.8
"""Minimum ratio of similarity."""
_SHORT = 4
"""Minimum length of a name that is similar to one with another letter, or two letters exchanged, whatever the ratio is."""
_WORD, _FIGURE = re.compile("[a-z0-9]+"), re.compile("[0-9]")
_KNOWN = re.compile("x*large|medium|small|micro|nano|east|west|north|south")
"""Words of instance types and regions that are similar, and that nobody exchanges by mistake."""
_PRESENT = frozenset({"In", "Exists", "Gt", "Lt"})
"""Operators that a node without the label does not match."""


def problems(nodes: NodeTable, groups: Iterable[Group], pods: Iterable[PodRecord]) -> Iterator[Problem]:
    """Yield a problem for each label and resource that no node has, but a similar one; nothing without nodes."""
    if not len(nodes):
        return
    suggestions = LabelSuggestions(nodes)
    for group in groups:
        constraints = group.spec.scheduling_constraints
        for each in (constraints and constraints.topology) or ():
            if near := suggestions.key(each.key):
                name = Name(group.kind, namespace_of(group), group.metadata.name)
                yield Problem.about(name, TopologyKeyUnknown(each.key, near))
    pending = {id(pod.shape): pod for pod in reversed([*pods]) if pod.node < 0}
    misspelt = misspelt_resources(nodes)
    for pod in pending.values():
        for row in (row for row, _ in pod.shape.requests if row in misspelt):
            yield Problem.about(Name("Pod", pod.namespace, pod.name), ResourceUnknown(nodes.resources[row], misspelt[row]))
        for source, key, values in _required(pod.shape):
            name = Name("Pod", pod.namespace, pod.name)
            if near := suggestions.key(key):
                yield Problem.about(name, LabelUnknown(key, source, near))
            elif not any(suggestions.has(key, value) for value in values) and (near := suggestions.first_value(key, values)):
                yield Problem.about(name, LabelUnknown(key, source, near, values))


def misspelt_resources(nodes: NodeTable) -> dict[int, str]:
    """Return the rows of resources that no node has, each with the similar resource that nodes have."""
    present = [name for row, name in enumerate(nodes.resources) if is_extended(name) and nodes.allocatable[row].any()]
    missing = ((row, name) for row, name in enumerate(nodes.resources) if is_extended(name) and not nodes.allocatable[row].any())
    similar = ((row, _similar_resource(name, present)) for row, name in itertools.islice(missing, _SEARCHES))
    return {row: near for row, near in similar if near}


def _similar_resource(name: str, present: Iterable[str]) -> str:
    """Return one of *present* that *name* is probably meant to be: its domain and the rest are similar; empty if there is none."""
    domain, _, last = name.rpartition("/")
    for each in present:
        other_domain, _, other_last = each.rpartition("/")
        if is_slip(name, each) or (similar_name(domain, (other_domain,)) and similar_name(last, (other_last,))):
            return each
    return ""


def _required(shape: PodShape) -> Iterator[tuple[LabelSource, str, tuple[str, ...]]]:
    """Yield the labels that nodes must have: where they are required, the key, and the values, of which one is enough; none for any."""
    for key, value in shape.node_selector:
        yield LabelSource.NODE_SELECTOR, key, (value,)
    for constraint in shape.spread:
        if constraint.when_unsatisfiable != "ScheduleAnyway":
            yield LabelSource.TOPOLOGY_SPREAD, constraint.topology_key, ()
    if (affinity := shape.affinity) is None:
        return
    node_affinity = affinity.node_affinity
    selector = node_affinity and node_affinity.required_during_scheduling_ignored_during_execution
    for term in (selector and selector.node_selector_terms) or ():
        for each in term.match_expressions or ():
            if each.operator in _PRESENT:
                yield LabelSource.NODE_AFFINITY, each.key, tuple(each.values or ()) if each.operator == "In" else ()
    for source, side in ((LabelSource.POD_AFFINITY, affinity.pod_affinity), (LabelSource.POD_ANTI_AFFINITY, affinity.pod_anti_affinity)):
        for pod_term in (side and side.required_during_scheduling_ignored_during_execution) or ():
            yield source, pod_term.topology_key, ()


class LabelSuggestions:
    """Labels of *nodes* that are similar to misspelt ones."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._by_name: dict[str, list[str]] | None = None
        self._left = _SEARCHES

    def key(self, key: str) -> str:
        """Return a label key whose name is similar to that of *key*; empty if a node has *key*, or none is similar."""
        if key in self._nodes.device_levels or self._nodes.label_column(key).values:
            return ""
        if self._by_name is None:
            self._by_name = {}
            for each in sorted({name for labels in self._nodes.labels for name in labels}):
                self._by_name.setdefault(_name(each), []).append(each)
        # Only names are compared: keys with the same long prefix are always similar, and a prefix is often forgotten.
        return _near(key, self._by_name.get(self._similar(_name(key), self._by_name), ()), 0)

    def has(self, key: str, value: str) -> bool:
        """Return whether a node has the label."""
        return value in self._nodes.column(key).values

    def value(self, key: str, value: str) -> str:
        """Return a value of the label *key* that is similar to *value*; empty if a node has it, or none is similar."""
        values = self._nodes.column(key).values
        return "" if not values or value in values else self._similar(value, values)

    def first_value(self, key: str, values: Iterable[str]) -> str:
        """Return the first value of the label *key* that is similar to one of *values*; empty if there is none."""
        return next((near for value in values if (near := self.value(key, value))), "")

    def _similar(self, name: str, names: Iterable[str]) -> str:
        self._left -= 1
        return _near(name, names, _SIMILAR) if self._left >= 0 else ""


def _name(key: str) -> str:
    """Return a label key without its prefix."""
    return key.rpartition("/")[2]


def similar_name(name: str, names: Iterable[str]) -> str:
    """Return one of *names* that *name* is probably meant to be; empty if there is none."""
    return _near(name, names, _SIMILAR)


def _is_other_thing(name: str, near: str) -> bool:
    """Return whether two similar names say different things: other figures, as a100 and h100 or 2x2x1 and 2x2x4, or another size or side."""
    one, other = _words(name), _words(near)
    if "".join(one) == "".join(other):
        return False
    figures, others = (sorted(word for word in words if _FIGURE.search(word)) for words in (one, other))
    sides, other_sides = ({word for word in words if _KNOWN.fullmatch(word)} for words in (one, other))
    return figures != others or bool(sides and other_sides and sides != other_sides)


def _words(name: str) -> list[str]:
    return _WORD.findall(name.lower())


def _near(name: str, names: Iterable[str], cutoff: float) -> str:
    listed = [each for each in itertools.islice(names, _COMPARED) if not _is_other_thing(name, each)]
    if near := difflib.get_close_matches(name, listed, n=1, cutoff=cutoff):
        return near[0]
    return next((each for each in listed if is_slip(name, each)), "") if len(name) >= _SHORT else ""
