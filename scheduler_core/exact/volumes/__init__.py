"""Volumes that requests do not count: which volumes the claims of several pods can have at the same time.

constraints  volumes, claims and disks that the pods of a root compete for
claim_volumes  volumes that a claim can have on each node
storage_sums storage capacity that claims use together
matching     claims matched with volumes (maximum flow)
named_pods   variants of shapes, so that the shape of a pod names the volumes that other pods use too
"""
