"""Data model: a snapshot of a cluster, and the decisions on it; imports nothing else of ``scheduler_core``.

snapshot         ClusterSnapshot: the input of a cycle
resource_values  resources as values: names, and volumes that rows count
nodes            node table: arrays with one column for each node
pods             pods: constraints and requests (PodShape), identity and state (PodRecord)
pod_ranks        ranks of pods, as their controllers number them in labels
entity           a tree of groups with its pending pods, or a single pod
workload_selectors  selectors of Services and of controllers of pods; default selector of a pod
namespace_selectors  affinity terms by field path, and their namespace selectors
selector_clause  one expression of a label selector
selectors        label selectors, and node selectors for all nodes at once
selector_index   label selectors by a label that they require
topology         placements: nested sets of nodes
topology_levels  levels of the topology: the node labels that locate a machine
ledger           resources taken on every node; assume and rewind
nominations      capacity held for pods with a nominated node
volumes          claims and volumes, and their requirements on nodes
volume_users     pods that use a volume, and the volumes of a pod whose names matter
attach_limits    limits of the volumes that nodes can attach, and the volumes that count
devices          devices that drivers publish, specifications of claims, allocations
device_claims    claims of pods to devices
device_comparisons  selectors of devices as values: comparisons with literals
device_rows      rows of the node table that count interchangeable devices
device_pools     pools of devices, as one node sees them
device_usage     devices in use, and consumed capacity
migrated_volumes  in-tree volume plugins that are migrated to a CSI driver
delayed_claims   specifications of claims that wait for their first consumer, and of what they can get
storage          options of these claims, by node
options          options of a cycle
placement_options  options of placement, which simulator and sidecar share
scheduler_profile  profile of a scheduler: enabled plugins, weights and arguments
names            names of objects, of claims, and of domains of nodes
status           status of a root or group after a cycle
decision         result of a cycle
conditions       conditions of groups
counted_sets     sets of interchangeable volumes or devices, each counted by a row of ``NodeTable.allocatable``
"""
