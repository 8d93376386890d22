"""Changes of a cluster.

edits           kinds of edits, each with its change as a value and its steps
change_order    order of changes whose weights are equal
node_edits      nodes that are uncordoned or added
device_edits    claims to devices, and devices that are added
storage_edits   volumes, classes, storage capacity and attach limits that are changed
pod_edits       tolerations, selectors and gates of pending pods
raw_objects     raw objects of a cluster by name
edited_objects  raw objects with changed fields
node_templates  a new node of an existing kind, with its DaemonSet and static pods
"""
