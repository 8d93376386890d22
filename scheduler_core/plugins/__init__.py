"""What the plugins of kube-scheduler's default profile filter and score; imports ``model``.

base                 the kinds of plugin: static, node-local, ledger, stateful
registry             the plugins that are modelled; where another one is added
profile              the plugins over the nodes of a snapshot: what they make of a shape
stateful_plugins     the stateful ones over the pods of a snapshot, kept up to date while pods are tried
unmodelled_fields    pods with fields that are not modelled pass nowhere
node_unschedulable   NodeUnschedulable
taint_toleration     TaintToleration
node_affinity        NodeAffinity
node_ports           NodePorts
noderesources        NodeResourcesFit and NodeResourcesBalancedAllocation
pod_topology_spread  PodTopologySpread
inter_pod_affinity   InterPodAffinity
pod_terms            what a pod says about other pods, compiled
pod_counts           pods by what terms ask about them
"""
