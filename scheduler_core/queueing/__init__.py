"""Trees of groups -> entities in queue order, and roots that are not tried; imports ``model``.

scheduling_queue  ClusterSnapshot -> scheduling queue
trees             trees of groups with their pods
queue_order       sort order: requested order, then priority, age and name
creation_time     creation timestamps as sort keys
pre_enqueue       refusals before scheduling: Invalid, Wait or Error
quorum            quorum of members (GangScheduling)
tree_violations   rules about trees that a tree violates
tree_validation   validation of a tree in each cycle, as kube-scheduler does it from 1.38 on
"""
