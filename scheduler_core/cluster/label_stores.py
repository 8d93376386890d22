"""Selectors of Services and controllers of pods, which decide only about scores; labels of namespaces, for selectors of affinity terms.

Of the objects nothing else is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeapi.controllers import CONTROLLERS, ReplicaSet, ReplicationController, Service, StatefulSet
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects
from scheduler_core.cluster.store import Store
from scheduler_core.loading.read_namespaces import read_namespace
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.model.selectors import Clauses, compiled
from scheduler_core.model.workload_selectors import WorkloadSelectors, equalities


def _read_service(gathered: GatheredObjects) -> tuple[Name, Mapping[str, str]]:
    """Return the name of a Service, and its selector; empty if it selects nothing.  Raises Unusable."""
    service = typed(gathered, Service)
    return name_in(gathered.kind, service.metadata), service.spec.selector or {}


def _read_controller(gathered: GatheredObjects) -> tuple[Name, Clauses]:
    """Return the name of a controller, and its selector; empty if it selects nothing.  Raises Unusable."""
    if gathered.kind == "ReplicationController":
        replication = typed(gathered, ReplicationController)
        return name_in(gathered.kind, replication.metadata), equalities(replication.spec.selector or {})
    controller = typed(gathered, ReplicaSet if gathered.kind == "ReplicaSet" else StatefulSet)
    return name_in(gathered.kind, controller.metadata), compiled(controller.spec.selector) or ()


class SelectorStore(Store[None]):
    """Selectors.

    Attributes:
        objects: the selectors that are not empty.

    """

    readers = {"Service": _read_service, **dict.fromkeys(CONTROLLERS, _read_controller)}

    def __init__(self) -> None:
        super().__init__()
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}
        self._controllers: dict[tuple[str, str, str], Clauses] = {}
        self.objects = WorkloadSelectors(self._services, self._controllers)

    def _set(self, kind: str, name: Name, value: Any) -> None:
        if kind == "Service":
            self._set_service(*name, value)
            return
        self._controllers.pop((kind, *name), None)
        if value:
            self._controllers[kind, *name] = value

    def _set_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        services = self._services.pop(namespace, {})
        services.pop(name, None)
        if selector:
            services[name] = selector
        if services:
            self._services[namespace] = services


class NamespaceStore(Store[bool]):
    """Namespaces; the effect of a change is whether their labels differ.

    Attributes:
        labels: the labels of the usable namespaces, by name.

    """

    readers = {"Namespace": read_namespace}

    def __init__(self) -> None:
        super().__init__()
        self.labels: dict[str, Mapping[str, str]] = {}

    def _set(self, kind: str, name: Name, value: Any) -> bool:  # noqa: ARG002 - there is one
        before = self.labels.pop(name[1], None)
        if value is not None:
            self.labels[name[1]] = value
        return bool(before != value)
