"""``muster simulate``: places groups on nodes read from manifests.

command             options and exit status
request             what a simulation is asked for, by options or by a line of a batch
cluster_input       paths to the objects of a cluster
simulation          one simulation: objects, snapshot, cycle
question_batch      many small simulations in one call
what_if, drain      nodes added and taken away before the snapshot
own_objects         decisions about the objects at PATH, where ``--objects`` is the rest
certificate_file    what ``--certificate`` writes
"""
