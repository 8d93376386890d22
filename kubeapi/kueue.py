"""Names of Kueue's labels, annotations and scheduling gates."""

_PREFIX = "kueue.x-k8s.io/"
POD_GROUP = f"{_PREFIX}pod-group-name"
"""Label with the name of a pod's group."""
POD_GROUP_TOTAL = f"{_PREFIX}pod-group-total-count"
"""Annotation with the number of pods of the group."""
WORKLOAD = f"{_PREFIX}workload"
"""Annotation of a pod with the name of its Workload of Kueue."""
POD_GROUP_INDEX = f"{_PREFIX}pod-group-pod-index"
"""Label with the index of a pod in its group."""


def is_gate(name: str) -> bool:
    """Return whether a scheduling gate is one of Kueue, which alone removes it."""
    return name.startswith(_PREFIX)
