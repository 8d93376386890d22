"""``muster simulate``: placement of groups on nodes read from manifests.

command             options and exit status
simulation_options  options of a simulation, and the part of the request that each sets
request             request of a simulation: the values of its options
node_addition       nodes of --add-nodes and --like
cluster_input       the objects of a cluster, read from paths
stored_objects      the objects of a large file, which are not kept in memory
file_texts          texts of objects that stay in a file
completed_input     input of a simulation, with what ``expansion`` adds to the objects at PATH
simulation          one simulation: objects, snapshot, cycle
plugin_trial        trial of an admission plugin that is off
question_batch      many small simulations in one call
drain_notes         what a drain meets: budgets, groups that are disrupted, pods without another node
deletions_awaited   the cycles after the end of deletions that are under way
what_if, drain      nodes added and removed before the snapshot
own_objects         decisions about the objects at PATH, with ``--objects`` as the rest of the cluster
certificate_file    the file of ``--certificate``
places              positions of objects at PATH
"""
