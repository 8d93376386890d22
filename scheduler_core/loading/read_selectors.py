"""Selectors of Services, ReplicationControllers, ReplicaSets and StatefulSets, unique by name."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.controllers import CONTROLLERS, ReplicaSet, ReplicationController, Service, StatefulSet
from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import GatheredObjects, Objects
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model.problem import Problem
from scheduler_core.model.selectors import Clauses, compiled
from scheduler_core.model.workload_selectors import WorkloadSelectors, equalities


def read_selectors(kinds: Mapping[str, Objects], problems: list[Problem]) -> WorkloadSelectors:
    """Return the selectors of the usable objects by kind."""
    services: dict[str, dict[str, Mapping[str, str]]] = {}
    for (namespace, name), selector in one_each(kinds["Service"], read_service, problems).good.items():
        if selector:
            services.setdefault(namespace, {})[name] = selector
    controllers: dict[tuple[str, str, str], Clauses] = {}
    for kind in CONTROLLERS:
        for (namespace, name), clauses in one_each(kinds[kind], read_controller, problems).good.items():
            if clauses:
                controllers[kind, namespace, name] = clauses
    return WorkloadSelectors(services, controllers)


def read_service(gathered: GatheredObjects) -> tuple[Name, Mapping[str, str]]:
    """Return the name of a Service, and its selector; empty if it selects nothing.  Raises Unusable."""
    service = typed(gathered, Service)
    return name_in(gathered.kind, service.metadata), service.spec.selector or {}


def read_controller(gathered: GatheredObjects) -> tuple[Name, Clauses]:
    """Return the name of a controller, and its selector; empty if it selects nothing.  Raises Unusable."""
    if gathered.kind == "ReplicationController":
        replication = typed(gathered, ReplicationController)
        return name_in(gathered.kind, replication.metadata), equalities(replication.spec.selector or {})
    controller = typed(gathered, ReplicaSet if gathered.kind == "ReplicaSet" else StatefulSet)
    return name_in(gathered.kind, controller.metadata), compiled(controller.spec.selector) or ()
