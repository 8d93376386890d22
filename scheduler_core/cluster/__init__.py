"""A cluster, built in one way from files, events and hypothetical changes; imports ``model``, ``plugins`` and ``loading``.

store              base of the stores: usable objects of some kinds by name
node_store         nodes
group_store        groups, Workloads, priority classes, disruption budgets
volume_store       claims, volumes, storage classes and capacities, CSI drivers, attached volumes
device_store       claims to devices, their templates, slices, device classes and taint rules
label_stores       selectors of Services and of controllers of pods, labels of namespaces
releasable_claims  claims to devices that can be deallocated when their users are evicted
published_slices slices with the taints of the rules, by name and by pool
node_table    the node table of a snapshot, for all three
rule_lookups  what the validation rules can look up in a snapshot
accepted      objects as parsed JSON, if a store or the reader of pods can use them
stores        all stores of a cluster, and the snapshot of them and of pods
cluster       objects that are applied and removed, forks, and snapshots
load          objects -> ClusterSnapshot
"""
