"""Hierarchical gang scheduling, topology-aware placement and workload-aware preemption, on a snapshot of a cluster.

``simulate`` is the public entry; ``__all__`` lists it and the types of its result.  All modules below are internal.

Except for ``sidecar``, the code is pure and deterministic: the same objects always give the same decisions.

Layers, lowest first; each imports only from those above it in this list:

behavior                      differences between versions of kube-scheduler
cel                           device selectors: compiled and evaluated
model, causes                 snapshot, nodes, pods, trees of groups, topology, resources taken on nodes; decisions and reasons
plugins                       filters and scores of kube-scheduler's default profile
loading                       objects to a snapshot
queueing                      trees of groups to entities in the order of the queue; roots that are not tried
placement                     greedy, as kube-scheduler
exact, preemption, diagnosis  complete search and its proofs; victims; reasons of failures
cycle                         one cycle over a snapshot
whatif                        remedies and conflicting constraints
wording                       reasons in words; it imports ``model`` and ``causes`` only
sidecar                       the same on a live cluster
facade                        ``simulate``: one simulation with the defaults of the command line
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubeapi.problem import ProblemKind
    from scheduler_core.facade import Decision, GroupDecision, Problem, Remedy, Simulation, simulate
    from scheduler_core.model.decision import Eviction, GroupCondition, Search, Step
    from scheduler_core.model.names import Domain, Name
    from scheduler_core.model.status import Status

__all__ = [
    "Decision",
    "Domain",
    "Eviction",
    "GroupCondition",
    "GroupDecision",
    "Name",
    "Problem",
    "ProblemKind",
    "Remedy",
    "Search",
    "Simulation",
    "Status",
    "Step",
    "simulate",
]

_ELSEWHERE = {
    **dict.fromkeys(("Decision", "GroupDecision", "Problem", "Remedy", "Simulation", "simulate"), "scheduler_core.facade"),
    **dict.fromkeys(("Domain", "Name"), "scheduler_core.model.names"),
    "ProblemKind": "kubeapi.problem",
    "Status": "scheduler_core.model.status",
}


def __getattr__(name: str) -> Any:
    # Imported on first use: modules below do not need these names.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "scheduler_core.model.decision")), name)
