"""Why other pods keep a pod off a node, as kube-scheduler words it."""

from __future__ import annotations

SPREAD = "node(s) didn't match pod topology spread constraints"
LACKS_TOPOLOGY = "node(s) didn't match pod topology spread constraints (missing required label)"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

UNRESOLVABLE = frozenset({LACKS_TOPOLOGY, AFFINITY})
"""Those that no eviction can mend: kube-scheduler calls the node UnschedulableAndUnresolvable."""
