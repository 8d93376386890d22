"""Trees of groups: parents, children and depth; claims to devices that pods of a group share.

creation_order  pods that are never created, because they come after pods of a gang that waits for them
group_claims  claims to devices that pods of a PodGroup share, as kube-scheduler 1.37.1 sees them
group_pods    pods of a PodGroup, as far as the lookup knows the controllers that create them
job_groups    PodGroups that the controllers of Jobs create from ``scheduling``
tree          GroupTree: PodGroups and CompositePodGroups joined by their parent references
"""
