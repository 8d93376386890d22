"""The cluster as its API server tells it, and what was assumed on top; imports ``writes`` and ``client``.

cache            all of it: events in (of an object only the metadata is read first), changes and snapshots out
informers        list and watch of all kinds
freshness        which event is news: uid and resourceVersion
pod_cache        pods
group_cache      groups, Workloads, priority classes, disruption budgets
node_cache       nodes
field_managers   who wrote a condition
assumed_pods     what is being written and does not show yet
node_usage       who is on which node, and what is taken there
placement_state  nodes, usage and pod counts in the arrays that placement reads
pod_affinity     how live pods constrain each other
live_snapshot    from the cache to a ClusterSnapshot, whose parts are made when they are needed
cluster_changes  what changed since it was last asked
"""
