"""``muster snapshot``: a cluster as one document that ``muster simulate`` reads.

command                options
live_cluster           objects of a live cluster, page by page
snapshot_document      the document: a List in JSON
shapes                 shapes of objects: objects, lists, scalars
struct_fields          the same from the structs of ``kubeapi`` and the marks of their fields
pod_fields             which fields of pods ``simulate`` reads, and which of them name something
other_projects_fields  the same of objects of other projects that controllers' objects name
fields                 the same of every kind
selector_texts         values in device selectors
prune, redact      objects with only the fields that are read; names replaced by hashes
"""
