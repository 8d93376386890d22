"""Changes of a cluster.

edits           kinds of changes: in words, and as whole objects
node_edits      nodes that are added
pod_edits       what pending pods tolerate and select
raw_objects     the objects of a cluster by name
edited_objects  objects with some fields changed
node_templates  a fresh node of a kind, and what runs on it from the start
apply_edits     edits applied to a snapshot
"""
