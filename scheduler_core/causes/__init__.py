"""Causes: why a pod, a group or a domain is refused, as values; imports ``model``.

The union is closed: ``wording`` words every member.  Values are frozen and hashable, with names, amounts and counts as fields.  Text is
a field only where kube-scheduler or a plugin wrote it.  The causes of a group are a tree: group, its domains, why their nodes refuse it.

node_count         number of nodes, amount of a resource, nodes by label
resources          requests that nodes do not satisfy
node_states        taints, labels and cordons of nodes; reasons of plugins
other_pods         host ports, affinity and topology spread
volume_causes      volumes, claims and storage
device_refusals    devices and the claims to them
domains            pods that a domain holds, why not more, and the filter that keeps them out
groups             groups with their domains and children; single pods, as kube-scheduler reports them
missed_placements  reasons why greedy may have missed a placement
"""

from __future__ import annotations
