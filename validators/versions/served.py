"""Which API version holds which kinds, in which Kubernetes versions.

Sources: KEP-4671 (v1alpha1), KEP-6012 (v1alpha3), Kubernetes 1.35 to 1.37.1.
"""

from __future__ import annotations

import dataclasses

from validators.model.objects import GROUP_OF, SCHEDULING

OLDEST, NEWEST = 35, 38
"""The minor versions of Kubernetes 1 that can be mirrored."""


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """One API version of one kind: served from minor version ``since`` on, and up to ``until``."""

    since: int
    until: int = NEWEST
    instead: str = ""
    """What replaced it."""


_TREES = "scheduling.k8s.io/v1beta1 or v1alpha3"

VERSIONS: dict[str, dict[str, Version]] = {
    "Workload": {
        "v1alpha1": Version(35, 35, _TREES),
        "v1alpha2": Version(36, 36, _TREES),
        "v1alpha3": Version(37),
        "v1beta1": Version(37),
    },
    "PodGroup": {"v1alpha2": Version(36, 36, _TREES), "v1alpha3": Version(37), "v1beta1": Version(37)},
    "CompositePodGroup": {"v1alpha3": Version(37)},
    "PriorityClass": {
        "v1": Version(14),
        "v1alpha1": Version(8, 21, "scheduling.k8s.io/v1"),
        "v1beta1": Version(11, 21, "scheduling.k8s.io/v1"),
    },
    "Pod": {"v1": Version(0)},
    "Job": {"v1": Version(2)},
    "JobSet": {"v1alpha2": Version(0)},
    "Node": {"v1": Version(0)},
}


_CUSTOM = frozenset({"jobset.x-k8s.io"})
"""API groups that the API server does not have by itself."""

CURRENT = {
    "Workload": "v1beta1",
    "PodGroup": "v1beta1",
    "CompositePodGroup": "v1alpha3",
    "PriorityClass": "v1",
    "Pod": "v1",
    "Job": "v1",
    "JobSet": "v1alpha2",
    "Node": "v1",
}
"""A version of each kind that has today's form."""


def versions_served(kind: str, minor: int) -> list[str]:
    """The versions of *kind* that Kubernetes 1.*minor* serves, as ``apiVersion`` has them."""
    group = GROUP_OF[kind]
    served = [name for name, version in VERSIONS[kind].items() if version.since <= minor <= version.until]
    return [f"{group}/{name}" if group else name for name in served]


def is_ours(group: str, kind: str, version: str) -> bool:
    """Whether an object of this API group, kind and version is one that rules judge, or must be one of ``scheduling.k8s.io``.

    A kind of a CustomResourceDefinition has versions that nobody here knows: they are none of ours.
    """
    if GROUP_OF.get(kind) != group:
        return group == SCHEDULING
    return group not in _CUSTOM or version in VERSIONS[kind]
