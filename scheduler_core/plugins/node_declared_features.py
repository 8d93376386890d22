"""NodeDeclaredFeatures: a node must declare the features of Kubernetes that the pod's spec requires (KEP-5328)."""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Bools
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin

FEATURES = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(StaticPlugin):
    """``status.declaredFeatures`` of a node; which fields of a pod require a feature is known to ``loading.pod_forms``."""

    name = "NodeDeclaredFeatures"
    last = True

    def filters(self, shape: PodShape) -> Filters:
        """Return one filter if *shape* requires a feature."""
        if not shape.features:
            return []
        declared: Bools = np.fromiter((each.issuperset(shape.features) for each in self.nodes.features), bool, len(self.nodes))
        return [(FEATURES, declared)]
