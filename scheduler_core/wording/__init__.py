"""Words for values: the only place that turns causes into text; imports ``model`` and ``causes`` only.

phrases         amounts, numbers of nodes, names of domains
resource_words  missing resources
pod_rule_words  host ports, affinity and topology spread
volume_words    volumes, claims and storage
device_words    devices and the claims to them
node_words      causes why nodes refuse a pod
domain_words    causes in one domain, and of several domains
group_words     causes of groups
greedy_words    reasons why greedy may have missed a placement
kube_scheduler  causes of single pods, in the words of kube-scheduler
report          whole diagnosis of a root
"""

from __future__ import annotations
