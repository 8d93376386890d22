"""Where groups go: hierarchical gang scheduling, topology-aware placement and workload-aware preemption on a snapshot.

Pure and deterministic: a ClusterSnapshot goes in, Decisions come out, the same for the same objects.
"""
