"""Loading of API objects into a ClusterSnapshot; imports ``model``, and ``plugins`` for the pools of devices.

read_objects         typed objects, unique by name
read_nodes           nodes
build_pod_shapes     shapes of pods, from their forms
parsed_pods          parts of a pod object that placement keeps
inline_disks         disks of inline volumes
read_pods            pods
pod_text_cache       pods that differ only in name, labels, node and times, by their text
build_pod_records    records of pods, from their parsed pods
read_namespaces      labels of namespaces
read_groups          groups, Workloads, priority classes, disruption budgets
read_volumes         claims, volumes, and the objects about them
read_devices         devices, classes and taints, claims to devices and their templates
taint_rules          taint rules by the devices that they select
device_amounts       amounts of slices and claims that are no quantities
claim_specs          specifications of claims to devices
pod_devices          claims of pods to devices
released_claims      claims to devices that are allocated, and what their pods need once they are not
unusable_pools       pools of devices that are incomplete or invalid
device_levels        topology levels by attributes of devices
device_gates         claims to devices that are ignored, or whose feature gate is off
read_claim_requests  specifications of claims and volumes
translate_volumes    volumes of in-tree plugins that are migrated to a CSI driver
claim_options        options of claims that wait for their first consumer
storage_capacity     where a volume can be provisioned, by the objects CSIStorageCapacity
node_label_index     nodes by label, for the selectors of many objects
free_volumes         free volumes by the claims that they can serve and by node
volume_pools         rows that count interchangeable volumes
parsed_pod_specs     constraints and requests of a pod, shared by equal pods
priority             resolution of priority classes
v1alpha1             groups of ``v1alpha1``, which has no PodGroup objects
object_errors        validation errors with field paths
label_case           labels that differ only in case
label_suggestions    labels that no node has, with similar ones
template_differences groups that differ from their templates
feature_gates        removal of fields and kinds whose feature gate is off
extended_requests    extended resources that the containers of a pod request, which devices can provide
extended_resources   claims for extended resources that device classes provide
configuration        profiles of a KubeSchedulerConfiguration
"""
