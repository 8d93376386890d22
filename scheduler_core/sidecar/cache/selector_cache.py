"""Selectors of Services and controllers of pods of a live cluster; they decide only about scores.

Of the objects nothing but the selector is kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import GatheredObjects, Unusable
from scheduler_core.loading.read_objects import attempt
from scheduler_core.loading.read_selectors import read_controller, read_service
from scheduler_core.model.selectors import Clauses
from scheduler_core.model.workload_selectors import WorkloadSelectors


class SelectorCache:
    """Selectors by name.

    Attributes:
        objects: the selectors that are not empty.
        unusable: the reason for each unusable object, by kind, namespace and name.

    """

    def __init__(self) -> None:
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}
        self._controllers: dict[tuple[str, str, str], Clauses] = {}
        self.objects = WorkloadSelectors(self._services, self._controllers)
        self.unusable: dict[tuple[str, str, str], str] = {}

    def add_or_update(self, raw_object: GatheredObjects, name: Name) -> None:
        """Add or replace an object."""
        self.remove(raw_object.kind, name)
        if raw_object.kind == "Service":
            service = attempt(raw_object, read_service)[1]
            if isinstance(service, Unusable):
                self.unusable[raw_object.kind, *name] = str(service)
            elif service:
                self._services.setdefault(name[0], {})[name[1]] = service
            return
        controller = attempt(raw_object, read_controller)[1]
        if isinstance(controller, Unusable):
            self.unusable[raw_object.kind, *name] = str(controller)
        elif controller:
            self._controllers[raw_object.kind, *name] = controller

    def remove(self, kind: str, name: Name) -> None:
        """Remove an object."""
        self.unusable.pop((kind, *name), None)
        self._controllers.pop((kind, *name), None)
        services = self._services.get(name[0]) if kind == "Service" else None
        if services is not None and services.pop(name[1], None) is not None and not services:
            del self._services[name[0]]
