"""How pods constrain each other: InterPodAffinity and PodTopologySpread."""

from __future__ import annotations

from scheduler_core.relations.reasons import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, LACKS_TOPOLOGY, SPREAD, UNRESOLVABLE
from scheduler_core.relations.relations import Relations, normalise

__all__ = [
    "AFFINITY",
    "ANTI_AFFINITY",
    "EXISTING_ANTI_AFFINITY",
    "LACKS_TOPOLOGY",
    "SPREAD",
    "UNRESOLVABLE",
    "Relations",
    "normalise",
]
