"""Mixin of the stateful plugins that give claims of assumed pods a volume (VolumeBinding) or devices (DynamicResources)."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

from scheduler_core.causes.plugin_failures import FilterFailed
from scheduler_core.model.devices import Allocation
from scheduler_core.model.nodes import Ints, Nodes
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.volumes import ClaimName
from scheduler_core.plugins.base import StatefulPlugin


class ClaimAllocation(StatefulPlugin):
    """Stateful plugin that gives the claims of a pod a volume or devices when the pod is added."""

    searched = True
    narrows: ClassVar[bool] = False
    """True if only nodes that the plugins before it accept are filtered: a node can fail."""
    sparing: bool = False
    """True if a pod takes what fewest other pods can use, where kube-scheduler's choice can be worse."""

    @abc.abstractmethod
    def counted(self, pod: PodRecord) -> bool:
        """Return whether the requests of *pod* say all that this plugin demands."""

    @abc.abstractmethod
    def plan_claims(self, volumes: Mapping[ClaimName, int], devices: Mapping[str, Allocation]) -> None:
        """Let claims take their volume, by namespace and name, or their devices, by key, when their pods are added."""

    def failure(self, pod: PodRecord) -> FilterFailed | None:  # noqa: ARG002 - by default the filters have no errors
        """Return the error that ends the attempt to place *pod* on the nodes filtered last; None if there is none."""
        return None

    def most_pods(self, pod: PodRecord, nodes: Nodes) -> Ints | None:
        """Return an upper bound of the pods like *pod* for each of *nodes*; None if there is none."""

    @property
    def evictions_help(self) -> bool:
        """Return whether evictions can resolve its refusals, although its verdict does not depend on pods."""
        return False

    def free_volumes(self, pod: PodRecord) -> None:
        """Free the existing volumes of *pod*, as kube-scheduler 1.37.1 does when it reserves a pod again."""

    def settle(self) -> None:
        """Make the claims of assumed pods available to all pods: the decision on their root is made."""


def requests_count(plugin: StatefulPlugin, pod: PodRecord) -> bool:
    """Return whether the requests of *pod* say all that *plugin* demands."""
    return isinstance(plugin, ClaimAllocation) and plugin.counted(pod)
