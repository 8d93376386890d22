"""Trees of groups to entities in the order of the queue, and what is not tried; imports ``model``.

scheduling_queue  from a snapshot to the queue
trees             trees of groups with their pods
queue_order       the order: as asked for, then priority, age and name
creation_time     creation timestamps as times
pre_enqueue       what becomes of a root before it is tried: Invalid, Wait or Error
quorum            whether enough members are there (GangScheduling)
tree_violations   the rules about trees that a tree breaks
"""
