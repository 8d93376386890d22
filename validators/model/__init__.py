"""API objects that the rules read, as typed values with Python names; ``decode`` makes them from JSON.

cluster      PriorityClass and Node: cluster-scoped objects that groups refer to
controllers  pods that controllers create, by pod template
devices      claims to devices, their templates, device classes and published devices (resource.k8s.io), with the fields that rules read
group        PodGroup and CompositePodGroup: leaf and inner node of a tree of groups
jobset       JobSet of ``jobset.x-k8s.io``, with the fields that rules read
meta         object metadata, and the base class of all API structs
objects      kinds that rules validate or look up, by name
pod          Pod and Job, with the fields that rules read
quantity     parsing of resource quantities such as ``500m``, ``1.5Gi``, ``12e6``, exactly and without floats
templates    flat lists of the templates of a Workload, or of the single shape of a group, shared by all rules
traits       traits of a tree of templates, computed in one pass over the templates
workload     Workload, a tree of templates, and the structs that templates and groups share
"""
