"""ImageLocality: scores nodes by the size of the pod's images that they have, less for images on few nodes.

The sizes are divided by the share of nodes that have the image, in float64 as kube-scheduler does, over all nodes of the cluster: also
if only some of them are candidates.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import Filters, StaticPlugin, StaticScore

_MEBIBYTE = 2**20
_LEAST, _MOST = 23 * _MEBIBYTE, 1000 * _MEBIBYTE
"""Bytes with score 0, and bytes for each image with score 100."""


class ImageLocality(StaticPlugin):
    """Images that nodes have; the score is not normalised."""

    name = "ImageLocality"
    weight = 1

    def filters(self, shape: PodShape) -> Filters:  # noqa: ARG002 - it only scores
        """Return no filter."""
        return []

    def score(self, shape: PodShape) -> StaticScore | None:
        """Return the score of the images that nodes report; None if all nodes have the same."""
        if not shape.images:
            return None
        most = _MOST * len(shape.images)
        total: Ints = np.zeros(len(self.nodes), dtype=np.int64)
        for name in shape.images:
            if image := self.nodes.reported.get(name):
                share = len(image.nodes) / len(self.nodes)
                # More than the largest sum makes no difference, and a sum cannot overflow.
                total[image.nodes] += max(-most, min(most, int(float(image.size) * share)))
        raw: Ints = 100 * (total.clip(_LEAST, most) - _LEAST) // (most - _LEAST)
        return StaticScore(raw, self.weight, fixed=True) if len(raw) and (raw != raw[0]).any() else None
