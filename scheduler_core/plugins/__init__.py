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
volume_binding          VolumeBinding, by the pod's shape
volume_matching         VolumeBinding, for claims whose volumes depend on the volumes of other pods
volume_picks            which volume each claim takes
volume_zone             VolumeZone
node_ports              NodePorts
noderesources           NodeResourcesFit and NodeResourcesBalancedAllocation
resource_scores         their scores: LeastAllocated, MostAllocated, RequestedToCapacityRatio, balance
pod_topology_spread     PodTopologySpread
spread_score            the score of PodTopologySpread
spread_kinds            pods that soft spread constraints do not distinguish
default_spread          default spread constraints of pods without constraints
inter_pod_affinity      InterPodAffinity
node_declared_features  NodeDeclaredFeatures
image_locality          ImageLocality
pod_terms               affinity terms and spread constraints of a pod, compiled
pod_counts              pods counted by topology domain, for each selector in use
pod_kinds               pods that no selector distinguishes
postponed_pods          equal pods that are not counted by their labels yet
volume_counts           volumes of the counted pods, by node
pod_tally               one such count
dynamic_resources       DynamicResources: claims of pods to devices
"""
