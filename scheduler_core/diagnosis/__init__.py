"""Diagnosis of a failed placement: which causes hold, by group, domain and node; imports ``placement`` and ``causes``.

The results are values, which ``wording`` words.
Causes are counted by node and by domain, and their number is limited (KEP-4671, Failure Handling; KEP-6012, Status).

root_diagnosis     diagnosis of one root
tree_cause         causes of the groups of a tree, by domain
pod_group_cause    why the pods of one group do not fit
domain_causes      number of pods that a domain holds, and why not more
domain_amounts     amounts of the resource that is short in every domain, node by node, for figures
domain_capacity    number of pods of a group that each domain holds
node_refusals      first filter that rejects the pod, by node
relaxed_filters    effect of dropping one filter
resource_shortage  missing resources of a domain
pod_rule_reasons   rules about other pods that exclude nodes, with their domains
volume_reasons     claims and volumes that exclude nodes, by name
leaving_pods       diagnosis without the pods that are being deleted
device_causes      reasons why nodes have no devices, each with its number of nodes
device_reasons     these reasons as causes: free devices, taints, constraints, claims that are allocated
with_pods          placement state with some pods assumed, or removed
greedy_limits      reasons why greedy may have missed a placement
capacity_survey    used, free and unusable capacity of nodes
bisection          largest and smallest number that works, and the parts that are necessary, in few tries
fragmentation      largest gang that fits in each domain now
"""

from __future__ import annotations

from scheduler_core.diagnosis.domain_causes import DomainCauses
from scheduler_core.diagnosis.leaving_pods import explain_later
from scheduler_core.diagnosis.root_diagnosis import Diagnosis, explain, leftovers
from scheduler_core.diagnosis.volume_reasons import volumes_not_held

__all__ = ["Diagnosis", "DomainCauses", "explain", "explain_later", "leftovers", "volumes_not_held"]
