"""``muster migrate``: manifests of retired API versions become manifests of current ones.

command   options and exit status
output    files in place, one stream, or a diff
line_diff differences of two texts, in time in proportion to their length
cluster_move   move of the custom resources of a live cluster to the built-in API group
cluster_objects objects of any kind on a cluster, by owner, and writes that are tried again
move_report    report of such a move, as text and as JSON
upgrade_steps  steps before an upgrade of a cluster, as a shell script and as JSON
"""
