"""Objects as they are written to a ClusterSnapshot; imports ``model``.

load           objects to a snapshot
json_values    a text to the JSON values in it
gather         objects told apart by kind, lists opened
read_objects   gathered objects to typed values, one of each name
read_nodes     nodes
read_pods      pods
read_groups    groups, Workloads, priority classes, disruption budgets
pod_forms      what of a pod's spec decides where it may run, once for all pods alike
pod_requests   effective requests of a pod
priority       priorities from classes
v1alpha1       groups of ``v1alpha1``, which had no PodGroup object
object_errors  what is wrong with an object, with the field path
label_case     labels that differ only in case
feature_gates  the snapshot of a cluster whose feature gates are not all on
"""
