"""Watched objects with the assumed changes applied; imports ``writes`` and ``client``.

cache             facade: takes watch events, returns changes and snapshots
informers         list and watch of all kinds that are needed
optional_watches  kinds that are watched once an object can need them, and roots that wait for them
api_groups        objects of one kind and name in several API groups, of which one counts
freshness         filter of outdated events, by uid and resourceVersion
pod_cache         pods
pod_reader        pods as read from the API server, with the requirements of their claims
group_cache       groups with writes in flight, their trees, Workloads, priority classes, disruption budgets
node_cache        nodes
device_cache      claims to devices, slices, device classes and taint rules
claimed_devices   devices that claims have, and those of allocations that are being written
volume_cache      claims, volumes, storage classes and capacities, CSI drivers, attached volumes
live_storage      options and rows of volumes for claims that wait for their first consumer
live_devices      rows that count interchangeable devices, and pools of the nodes
live_levels       topology levels by attributes of devices
claim_rows        both kinds of rows in the placement state, and the pods whose shapes depend on them
shape_cache       shapes of pods, by form and images
pod_updates       pods that change with claims, volumes, devices, CSI drivers and other pods
field_managers    field managers of a condition or annotation
assumed_pods      writes in flight that the watch does not show yet
node_usage        pods by node, and the resources they use
placement_state   nodes, usage and pod counts in the arrays that placement reads
pod_affinity      pod counts for affinity and topology spread
live_snapshot     ClusterSnapshots of the cache, with parts that are created on demand
cluster_changes   changes that can help an unschedulable root
"""
