"""Selectors of Services and of controllers of pods; the default selector of a pod (helper.DefaultSelector of kube-scheduler).

The default selector is the union of the selectors of all Services of the namespace that select the pod, and the selector of its
controller: a ReplicationController, ReplicaSet or StatefulSet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from kubeapi.base_structs import Record, record_field
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.selector_clause import SelectorClause
from scheduler_core.model.selectors import Clauses


class WorkloadSelectors(Record, frozen=True):
    """Selectors in use."""

    services: Mapping[str, Mapping[str, Mapping[str, str]]] = record_field(default_factory=dict)
    """Selectors, not empty, of Services by namespace and name."""
    controllers: Mapping[tuple[str, str, str], Clauses] = record_field(default_factory=dict)
    """Selectors, not empty, of controllers by kind, namespace and name."""

    def __bool__(self) -> bool:
        return bool(self.services or self.controllers)


class _Services(Record, frozen=True):
    """Services of one namespace."""

    keys: tuple[str, ...]
    """Labels that their selectors read."""
    selectors: tuple[Mapping[str, str], ...]
    """In the order of names."""
    by_label: Mapping[tuple[str, str | None], Sequence[int]]
    """Indices of selectors by one label that they require: the one that fewest selectors of the namespace require."""

    @classmethod
    def from_selectors(cls, selectors: tuple[Mapping[str, str], ...]) -> Self:
        """Return the Services that have *selectors*."""
        required = Counter(label for selector in selectors for label in selector.items())
        by_label: dict[tuple[str, str | None], list[int]] = {}
        for number, selector in enumerate(selectors):
            by_label.setdefault(min(selector.items(), key=required.__getitem__), []).append(number)
        return cls(tuple(sorted({key for key, _ in required})), selectors, by_label)

    def selecting(self, labels: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        """Yield the selectors that select *labels*, in the order of names."""
        for number in sorted(number for key in self.keys for number in self.by_label.get((key, labels.get(key)), ())):
            selector = self.selectors[number]
            if selector.items() <= labels.items():
                yield selector


_NO_SERVICES = _Services((), (), {})


class DefaultSelectors:
    """Default selectors of pods, computed once for pods that no selector distinguishes; *selectors* must not change."""

    def __init__(self, selectors: WorkloadSelectors) -> None:
        self._selectors = selectors
        self._services: dict[str, _Services] = {}
        self._found: dict[tuple[str | None, ...], Clauses] = {}

    def of_pod(self, pod: PodRecord) -> Clauses:
        """Return the clauses of the default selector of *pod*; empty if nothing selects it."""
        if not self._selectors:
            return ()
        services = self._services_in(pod.namespace)
        if not services.selectors and not pod.controller[0]:
            return ()
        key = (pod.namespace, *pod.controller, *map(pod.labels.get, services.keys))
        if (found := self._found.get(key)) is None:
            found = self._found[key] = self._derived(pod, services)
        return found

    def keys(self, namespace: str) -> tuple[str, ...]:
        """Return the keys of the pod labels that the Services of *namespace* read."""
        return self._services_in(namespace).keys

    def _services_in(self, namespace: str) -> _Services:
        if (services := self._services.get(namespace)) is None:
            named = self._selectors.services.get(namespace)
            services = _NO_SERVICES
            if named:
                services = _Services.from_selectors(tuple(named[name] for name in sorted(named)))
            self._services[namespace] = services
        return services

    def _derived(self, pod: PodRecord, services: _Services) -> Clauses:
        labels: dict[str, str] = {}
        for selector in services.selecting(pod.labels):
            labels |= selector
        kind, name = pod.controller
        own = self._selectors.controllers.get((kind, pod.namespace, name), ())
        if kind == "ReplicationController":
            # Its selector is merged: it replaces the values of Services, and need not select the pod.
            labels |= {clause.key: next(iter(clause.values)) for clause in own}
            own = ()
        return (*equalities(labels), *own)


def equalities(labels: Mapping[str, str]) -> Clauses:
    """Return the clauses of a selector that is a map of labels."""
    return tuple([SelectorClause(key, "In", frozenset({value})) for key, value in sorted(labels.items())])
