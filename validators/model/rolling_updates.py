"""Rolling updates by their own numbers: the new pods that exist before one of them is ready, and the gang that Volcano makes of pods.

Sources: Kubernetes 1.37.1, ``pkg/controller/{deployment,statefulset,daemon}``; LeaderWorkerSet 0.10; Volcano 1.15,
``pkg/controllers/podgroup``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeapi.content import int_or_percent
from kubeapi.decode import section

VOLCANO_MINIMUM = "scheduling.volcano.sh/group-min-member"
"""Annotation of a ReplicaSet, a StatefulSet or a DaemonSet, or of the Deployment of a ReplicaSet: the minimum of the gang of its pods."""
_GROUP_NAMES = frozenset({"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"})
_VOLCANO = "volcano"
_OWNERS = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})
_ON_DELETE = "OnDelete"


def new_before_ready(kind: str, spec: Mapping[str, Any]) -> int | None:
    """Return how many new units an update creates at most before one of them is ready; None if it is not known.

    A unit is a pod, or a group of a LeaderWorkerSet.  What is created in order even without an update, and what no controller updates,
    is not known.
    """
    replicas = spec.get("replicas", 1 if kind == "LeaderWorkerSet" else None)
    number = replicas if isinstance(replicas, int) and not isinstance(replicas, bool) and replicas >= 0 else None
    if kind == "DaemonSet":
        return _of_daemon_set(section(spec, "updateStrategy"))
    if number is None:
        return None
    match kind:
        case "Deployment" if spec.get("paused") is not True:
            return _of_deployment(section(spec, "strategy"), number)
        case "StatefulSet" if spec.get("podManagementPolicy") == "Parallel":
            strategy = section(spec, "updateStrategy")
            written = section(strategy, "rollingUpdate").get("maxUnavailable")
            at_once = max(1, int_or_percent(written, number, default=1, up=False))
            return None if strategy.get("type") == _ON_DELETE else min(number, at_once)
        case "LeaderWorkerSet" if spec.get("startupPolicy") != "LeaderReady":
            rolling = section(spec, "rolloutStrategy", "rollingUpdateConfiguration")
            more = int_or_percent(rolling.get("maxSurge"), number, default=0, up=True)
            return min(number, max(1, more + int_or_percent(rolling.get("maxUnavailable"), number, default=1, up=False)))
    return None


def _of_deployment(strategy: Mapping[str, Any], number: int) -> int:
    if strategy.get("type") == "Recreate":
        return number
    rolling = section(strategy, "rollingUpdate")
    more = int_or_percent(rolling.get("maxSurge"), number, default="25%", up=True)
    fewer = int_or_percent(rolling.get("maxUnavailable"), number, default="25%", up=False)
    return min(number, max(1, more + fewer))


def _of_daemon_set(strategy: Mapping[str, Any]) -> int | None:
    rolling = section(strategy, "rollingUpdate")
    written = [rolling.get("maxSurge", 0), rolling.get("maxUnavailable", 1)]
    numbers = [each for each in written if isinstance(each, int) and not isinstance(each, bool)]
    # The number of nodes, of which there can be percentages, is not known.
    return max(1, *numbers) if len(numbers) == len(written) and strategy.get("type") != _ON_DELETE else None


def volcano_minimum(kind: str, annotations: Mapping[str, Any], template: Mapping[str, Any]) -> int:
    """Return the minimum of the gang that Volcano makes of the pods of an object; 1 if it makes none, or only groups of one pod."""
    named = _GROUP_NAMES & section(template, "metadata", "annotations").keys()
    if kind not in _OWNERS or named or section(template, "spec").get("schedulerName") != _VOLCANO:
        return 1
    written = str(annotations.get(VOLCANO_MINIMUM, ""))
    return int(written) if written.isascii() and written.isdecimal() and len(written) < len(str(2**31)) else 1
