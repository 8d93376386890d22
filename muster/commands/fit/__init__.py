"""``muster fit``: the verdict whether the objects at PATH fit in a cluster.

command   options and exit status
judged    everything known after all trials
verdict   the verdict of an answer, and its line
rollout_trial    updates of running objects, played in the cluster
rollout_changes  changes with which an update that hangs may be finished
rollout_report   updates in words and as JSON
scale_trial      how far objects can be scaled
change_for_all   the smallest change with which everything at PATH fits
short_report     the verdict in a few lines
verdict_report   the verdict and its details as text, JSON or a page
"""
