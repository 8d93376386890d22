"""Verified changes, and conflicting constraints.

remedies          remedies for a root
smallest_change   the smallest change that places several roots, or the rest of one
for_decisions     remedies for some decisions of a simulation
candidates        edits that may help, small ones first
pod_bounds        lower bound of the pods without a node, without a cycle
verified          tries edits, and keeps those that work
lower_demands     smaller minimums of groups
uncordon          cordoned nodes that are uncordoned
running_pods      running pods that can be moved, with their new nodes, or evicted
deletions         pods that are being deleted, and what helps when they are gone
capacity_remedies running pods moved or evicted, nodes added
provide_devices   more devices; claims that request less, or devices of another class
provide_storage   volumes, storage capacity, classes and attach limits
node_kinds        kinds of nodes that can be added
node_sums         why more nodes are needed than the sum of requests says
nodes_by_domain   nodes for several domains at once, for the groups of a tree
spread_nodes      new and uncordoned nodes in several domains, for pods that spread
conflict          minimal set of conflicting constraints
"""
