"""Trees of groups with their pods, as tests of random changes create and delete them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

from tests.cluster.api import Api
from tests.cluster.groups import LABEL, composite, pod_group
from tests.cluster.kubelet import finish_pod
from tests.cluster.resources import Manifest

ZONE = "topology.example/zone"


@dataclasses.dataclass(slots=True)
class Root:
    """Root with everything below it.

    Attributes:
        namespace: namespace of all its objects.
        groups: groups by kind and name, parents first.
        pods: names of pods by PodGroup; the key is empty for a pod without a group.

    """

    namespace: str
    groups: list[tuple[str, str]]
    pods: dict[str, list[str]]

    def manifests(self, priority: str) -> Iterator[Manifest]:
        """Yield its groups: each PodGroup needs all its pods in one rack, and a CompositePodGroup all of them in one zone."""
        parent = self.groups[0][1] if self.groups and self.groups[0][0] == "CompositePodGroup" else ""
        for kind, name in self.groups:
            if kind == "CompositePodGroup":
                yield composite(name, self.namespace, minimum=len(self.pods), key=ZONE, priorityClassName=priority)
            else:
                minimum = len(self.pods[name])
                yield pod_group(name, self.namespace, minimum=minimum, key=LABEL, parent=parent, priorityClassName=priority)

    def finish(self, api: Api, *ignored: type[Exception]) -> None:
        """End its pods; errors *ignored* are left."""
        for name in self._pods():
            with contextlib.suppress(*ignored):
                finish_pod(api, name, self.namespace)

    def delete(self, api: Api, grace: int, *ignored: type[Exception]) -> None:
        """Delete all of it, groups first, its pods with *grace* seconds; errors *ignored* are left."""
        for kind, name in self.groups:
            with contextlib.suppress(*ignored):
                api.delete(kind, name, self.namespace)
        for name in self._pods():
            with contextlib.suppress(*ignored):
                api.delete("Pod", name, self.namespace, gracePeriodSeconds=grace)

    def _pods(self) -> Iterator[str]:
        return (name for names in self.pods.values() for name in names)
