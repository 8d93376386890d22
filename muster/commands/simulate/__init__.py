"""``muster simulate``: placement of groups on nodes read from manifests.

command             options and exit status
request             options of a simulation, from the command line or from a line of a batch
cluster_input       the objects of a cluster, read from paths
stored_objects      the objects of a large file, which are not kept in memory
file_texts          texts of objects that stay in a file
completed_input     the pods that controllers create, as admission changes them, and the rest of the cluster
controllers         objects of controllers at PATH as the groups and pods that the controllers create
expansion           what controllers create, and the objects that are looked up for it
admission           new pods as the API server admits them
simulation          one simulation: objects, snapshot, cycle
question_batch      many small simulations in one call
what_if, drain      nodes added and removed before the snapshot
own_objects         decisions about the objects at PATH, with ``--objects`` as the rest of the cluster
certificate_file    the file of ``--certificate``
gangs               gangs for ``--gang``: all pods of an object that has no gang, in one domain of a topology key if one is given
generated_names     names for objects at PATH that have only ``metadata.generateName``
not_judged          reasons why an object that an adapter reads is not judged
places              positions of objects at PATH
pod_owners          pods and groups of a cluster that belong to given controllers
"""
