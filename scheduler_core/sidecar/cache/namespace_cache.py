"""Labels of the namespaces of a live cluster, for namespace selectors of affinity terms."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import GatheredObjects, Unusable
from scheduler_core.loading.read_namespaces import read_namespace
from scheduler_core.loading.read_objects import attempt


class NamespaceCache:
    """Namespaces by name.

    Attributes:
        labels: the labels of the usable namespaces.
        unusable: the reason for each unusable namespace, by kind, namespace (empty) and name.

    """

    def __init__(self) -> None:
        self.labels: dict[str, Mapping[str, str]] = {}
        self.unusable: dict[tuple[str, str, str], str] = {}

    def add_or_update(self, raw_object: GatheredObjects, name: Name) -> bool:
        """Add or replace a namespace, and return whether its labels changed."""
        labels = attempt(raw_object, read_namespace)[1]
        if isinstance(labels, Unusable):
            changed = self.remove(name)
            self.unusable[raw_object.kind, *name] = str(labels)
            return changed
        self.unusable.pop((raw_object.kind, *name), None)
        changed = self.labels.get(name[1]) != labels
        self.labels[name[1]] = labels
        return changed

    def remove(self, name: Name) -> bool:
        """Remove a namespace, and return whether it was known."""
        self.unusable.pop(("Namespace", *name), None)
        return self.labels.pop(name[1], None) is not None
