"""Why something is not placed: which group fails first, in which domain, short of what; imports ``placement``.

Reasons are counted, by node and by domain, never listed without end (KEP-4671, Failure Handling; KEP-6012, Status).

explanation        the diagnosis of one root
tree_cause         down to the group that fails first
pod_group_cause    why the pods of one group find no room
clauses            what one domain holds of a group, and why not more
domain_capacity    how many pods of a group the domains hold
node_refusals      for each node the first filter that refuses the pod
relaxed_filters    what if one filter were not there
resource_shortage  what a domain is short of
with_pods          placement state with some pods on it
greedy_limits      where greedy cannot promise that there is no placement
fragmentation      the largest gang that fits in each domain now
phrases            amounts, counts and names in words
"""

from __future__ import annotations

from scheduler_core.diagnosis.explanation import Diagnosis, explain, leftovers

__all__ = ["Diagnosis", "explain", "leftovers"]
