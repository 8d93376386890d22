"""Plugins of kube-scheduler's default profile: filters and scores; imports ``model``.

base                    the kinds of plugin: static, node-local, ledger, stateful
declared_values         values that a plugin keeps of each node and pod, and the fields that it reads for them
claim_allocation        mixin of the stateful plugins that give claims a volume or devices
registry                the modelled plugins; a new plugin is added here
profile                 the enabled plugins over the nodes of a snapshot, compiled for each pod shape
stateful_plugins        the stateful plugins over the pods of a snapshot, with assume and rewind
unmodelled_fields       refuses pods with fields that are not modelled
node_unschedulable      NodeUnschedulable
taint_toleration        TaintToleration
node_affinity           NodeAffinity
volume_restrictions     VolumeRestrictions
node_volume_limits      NodeVolumeLimits, for volumes that pods share and for missing drivers; noderesources counts the others
volume_binding          VolumeBinding
assumed_volumes         which volume each claim takes on a node (FindPodVolumes), and the volumes that assumed pods have taken
volume_zone             VolumeZone
node_ports              NodePorts
noderesources           NodeResourcesFit and NodeResourcesBalancedAllocation
resource_scores         scores of noderesources: LeastAllocated, MostAllocated, RequestedToCapacityRatio, balance
pod_topology_spread     PodTopologySpread
spread_score            the score of PodTopologySpread
equally_spread_pods     pods that constraints with ScheduleAnyway do not distinguish
spread_constraints      constraints of PodTopologySpread, compiled; default constraints of pods without constraints
inter_pod_affinity      InterPodAffinity
node_declared_features  NodeDeclaredFeatures
image_locality          ImageLocality
affinity_terms          terms of InterPodAffinity, compiled; all terms of a pod about other pods
pod_counts              running and assumed pods, counted for each selector in use
term_claims             affinity terms of known pods, seen from the pods that they select
topology_counts         one such count: pods by node and by topology domain
volume_counts           volumes of the counted pods, by node
dynamic_resources       DynamicResources: claims of pods to devices
"""
