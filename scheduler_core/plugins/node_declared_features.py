"""NodeDeclaredFeatures: a node must declare the features of Kubernetes that the pod's spec requires (KEP-5328)."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from kubeapi.nodes import Node
from kubeapi.pods import Pod, PodSpec
from scheduler_core.model.nodes import Bools
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin
from scheduler_core.plugins.declared_values import NodeValue, PodValue

NAME = "NodeDeclaredFeatures"
FEATURES = "node(s) didn't match Pod's required features"


def _declared(node: Node) -> frozenset[str]:
    return _shared(node.status.declared_features or ())


@functools.lru_cache(maxsize=1_000)
def _shared(features: tuple[str, ...]) -> frozenset[str]:
    """Return *features* as one set for all nodes that declare them."""
    return frozenset(features)


def _required(pod: Pod) -> tuple[str, ...]:
    return tuple(_required_features(pod.spec))


def _required_features(spec: PodSpec) -> Iterator[str]:
    """Return the features that a node must declare, sorted (Kubernetes 1.37.1, component-helpers/nodedeclaredfeatures)."""
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    if any(rule.action == "RestartAllContainers" for container in containers for rule in container.restart_policy_rules or ()):
        yield "RestartAllContainersOnContainerExits"
    if spec.host_network and spec.host_users is False:
        yield "UserNamespacesHostNetworkSupport"
    mounts = (*(each.volume_mounts for each in containers), *(each.volume_mounts for each in spec.ephemeral_containers or ()))
    if any(mount.bind_mount_options for several in mounts for mount in several or ()):
        yield "VolumeBindMountOptions"


DECLARED: NodeValue[frozenset[str]] = NodeValue(NAME, _declared)
"""``status.declaredFeatures``."""
REQUIRED: PodValue[tuple[str, ...]] = PodValue(NAME, _required, (), of_requests=True)
"""Features that a node must declare, sorted."""


class NodeDeclaredFeatures(StaticPlugin):
    """Features that nodes declare, and those that pods require."""

    name = NAME
    last = True
    node_values = (DECLARED,)
    pod_values = (REQUIRED,)

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if *shape* requires a feature."""
        if not (required := REQUIRED.of_shape(shape)):
            return []
        declared: Bools = np.fromiter((each.issuperset(required) for each in DECLARED.by_node(self.nodes)), bool, len(self.nodes))
        return [(FEATURES, declared)]
