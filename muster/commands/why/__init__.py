"""``muster why``: the reasons why a pod or group of a live cluster is pending, and changes that were verified to help.

command              options and exit status
subject              the pod or group with its ancestors, and their conditions
kueue_workload       Kueue's Workload of the pod or group: conditions, admission checks
sidecar_explanation  the last decision of the sidecar, from its /explain
why_report           the answer as text and JSON
"""
