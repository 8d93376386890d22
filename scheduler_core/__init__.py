"""Hierarchical gang scheduling, topology-aware placement and workload-aware preemption, on a snapshot of a cluster.

Pure and deterministic but for ``sidecar``: a ClusterSnapshot goes in, Decisions come out, the same for the same objects.

Layers, lowest first; each imports only from those above it in this list:

model                         snapshot, nodes, pods, trees of groups, topology, what is taken on nodes; decisions
loading, plugins              objects to a snapshot; what the plugins of kube-scheduler's default profile filter and score
queueing                      trees of groups to entities in the order of the queue; what is not tried
placement                     greedy, as kube-scheduler
exact, preemption, diagnosis  complete search and its proofs; who must leave; why not
cycle                         one cycle over a snapshot
whatif                        remedies and conflicting constraints
sidecar                       the same on a live cluster
"""
