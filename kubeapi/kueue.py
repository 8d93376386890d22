"""Names of Kueue's labels, annotations and scheduling gates."""

PREFIX = "kueue.x-k8s.io/"
"""Beginning of the names of Kueue's scheduling gates, which Kueue alone removes."""
POD_GROUP = f"{PREFIX}pod-group-name"
"""Label with the name of a pod's group."""
POD_GROUP_TOTAL = f"{PREFIX}pod-group-total-count"
"""Annotation with the number of pods of the group."""
