"""What all else refers to: a snapshot of a cluster, and decisions on it; imports nothing else of ``scheduler_core``.

wire         nodes, pods and disruption budgets as the API writes them
snapshot     ClusterSnapshot: what a cycle is run on
nodes        nodes in arrays, one column a node
pods         pods: what they need (PodShape), and who they are
entity       a tree of groups with its pending pods, or a single pod
selectors    label selectors, and node selectors for all nodes at once
topology     placements: sets of nodes, one inside the other
ledger       resources taken on every node; assume and rewind
nominations  room kept for pods with a nominated node
options      options of a cycle
decision     what a cycle says should happen
conditions   conditions of groups
wording      long explanations, shortened
"""
