"""Library that turns the objects that a person writes into the groups and pods that arise from them in a cluster.

Controllers create groups and pods, and the API server sets defaults in them, applies LimitRanges and ResourceQuotas, and refuses some.
``expand`` returns what arises, what was not expanded, what would be refused, and notes.  What a problem or note says is a value of
``notes``; it has no text.

It uses no files, clock or network.  It imports ``kubeapi``, ``validators`` and ``workloadbuilder``.

admission             new objects as the API server admits them
compute_domains       claim templates that the controller of ComputeDomains creates
contents              parts of parsed objects
controllers           given objects of controllers as the groups and pods that their controllers create
created               these objects, and the objects that are looked up for them
creation_order        pods that their controllers never create, because a gang waits for them
device_shares         shares of devices that other schedulers give to pods, outside DRA
expanded              objects with what arises from them, and the rest of the cluster
gangs                 gangs on request: all pods of an object that has no gang, in one domain of a topology key if one is given
generated_names       names for objects that have only ``metadata.generateName``
groups_named_by_pods  groups that pods name and that are not created for them: those of other schedulers in the cluster, and missing ones
kueue                 admission of jobs by Kueue: quotas, flavors, preemption
kueue_named_groups    domains that Kueue requires for pods whose template names their group
kueue_pod_groups      pod groups of Kueue of which pods are missing
managed_clusters      presets of managed clusters: admission plugins that are on, with the sources
marked_pods           pods with a text that a step of the expansion looks for
not_judged            reasons why an object that an adapter reads is not expanded
notes                 what is said about given objects
pod_creation          what a caller can change about the creation of pods
pod_owners            pods and groups of a cluster that belong to given controllers
queue_notes           what is said about jobs that Kueue queues
rollouts              updates of running objects, in steps
scaling               numbers by which objects are scaled
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expansion.expanded import Expanded, expand
    from expansion.pod_creation import Gang, PodCreation
    from kubeapi.names import Name
    from kubeapi.problem import Problem, ProblemKind

__all__ = ["Expanded", "Gang", "Name", "PodCreation", "Problem", "ProblemKind", "expand"]

_ELSEWHERE = {
    **dict.fromkeys(("Gang", "PodCreation"), "expansion.pod_creation"),
    "Name": "kubeapi.names",
    **dict.fromkeys(("Problem", "ProblemKind"), "kubeapi.problem"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use: modules below do not need these names.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "expansion.expanded")), name)
