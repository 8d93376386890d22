"""API of Kubernetes as all packages know it; imports none of ours.

A module of types has the structs of one sort of objects, each with all the fields that any package reads.

affinity         affinity of pods to nodes and to other pods
base_structs     base of values with named fields
content          formats of names, labels, condition reasons and numbers in texts
controllers      Services and controllers of pods, with their selectors
decode           JSON text, parsed JSON, and structs
decoders         decoders of objects without the fields that only rules of the API read
device_shares    shares of devices that other schedulers give to pods, outside DRA
devices          published devices, their classes and taints
disruption       disruption budgets of pods
field_path       paths of fields in wire names
gather           objects by kind, with lists opened
gathered         undecoded objects, in memory or in a file
groups           PodGroup and CompositePodGroup
jobs             Jobs, with their scheduling
jobset           JobSet of ``jobset.x-k8s.io``
json_path        paths to values inside JSON objects
json_values      splits a text into JSON values
kueue            names of Kueue: labels, annotations, gates
meta             object metadata, conditions, and the base class of API structs
names            names of objects, and the kinds that are in no namespace
nodes            nodes and namespaces
object_heads     parts of an object of any kind: its type, its name, its items as text
pod_requests     effective requests of a pod
pods             pods and pod templates
priority         priority classes
problem          problems and notes about objects, and their kinds
quantity         quantities
redaction        marks of fields: what a snapshot of a cluster keeps, and what redaction replaces
resource_claims  claims to devices, and their templates
resource_names   names of resources, and amounts of them in their units
selectors        label selectors and node selectors
storage          storage classes, CSI drivers, and what they offer on nodes
versions         which version of the API server serves which kind, and conversion between versions
view             views of structs: structs with only the fields that a reader needs
volumes          claims to volumes, and volumes
workloads        Workload, a tree of templates, and the structs that templates and groups share
"""
