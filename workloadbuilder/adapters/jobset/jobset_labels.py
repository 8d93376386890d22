"""The labels and annotations by which JobSet's controller and others tell one Job of a set from another."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "jobset.sigs.k8s.io/"
NAME, UID = _PREFIX + "jobset-name", _PREFIX + "jobset-uid"
REPLICATED_JOB, REPLICAS = _PREFIX + "replicatedjob-name", _PREFIX + "replicatedjob-replicas"
GLOBAL_REPLICAS, RESTARTS = _PREFIX + "global-replicas", _PREFIX + "restart-attempt"
JOB_INDEX, GLOBAL_INDEX, JOB_KEY = _PREFIX + "job-index", _PREFIX + "job-global-index", _PREFIX + "job-key"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


def index(labels: Mapping[str, str]) -> tuple[int, ...] | None:
    """Which of several Jobs of one replicated job a child is: empty for the only one, None where its labels do not tell."""
    place, replicas = labels.get(JOB_INDEX, ""), labels.get(REPLICAS, "")
    if not (place.isdecimal() and replicas.isdecimal()):
        return None
    return (int(place),) if int(replicas) > 1 else ()
