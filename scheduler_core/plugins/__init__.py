"""What the plugins of kube-scheduler's default profile filter and score; imports ``model``.

static_filters       NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts: what does not depend on other pods
noderesources        NodeResourcesFit and NodeResourcesBalancedAllocation: scores
inter_pod_affinity   InterPodAffinity
pod_topology_spread  PodTopologySpread
pod_terms            what a pod says about other pods, compiled
pod_counts           pods by what terms ask about them
pod_relations        both, kept up to date while pods are tried
reasons              why other pods keep a pod off a node, as kube-scheduler words it
"""
