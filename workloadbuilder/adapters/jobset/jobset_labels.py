"""Labels and annotations that identify a Job of a JobSet."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "jobset.sigs.k8s.io/"
NAME, UID = _PREFIX + "jobset-name", _PREFIX + "jobset-uid"
REPLICATED_JOB, REPLICAS = _PREFIX + "replicatedjob-name", _PREFIX + "replicatedjob-replicas"
GLOBAL_REPLICAS, RESTARTS = _PREFIX + "global-replicas", _PREFIX + "restart-attempt"
JOB_INDEX, GLOBAL_INDEX, JOB_KEY = _PREFIX + "job-index", _PREFIX + "job-global-index", _PREFIX + "job-key"
GROUP_NAME, GROUP_REPLICAS, GROUP_INDEX = _PREFIX + "group-name", _PREFIX + "group-replicas", _PREFIX + "job-group-index"
COORDINATOR = _PREFIX + "coordinator"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


def index(labels: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the index of a Job among those of its replicated job: empty for the only one, None if the labels lack it."""
    job_index, replicas = labels.get(JOB_INDEX, ""), labels.get(REPLICAS, "")
    if not (job_index.isdecimal() and replicas.isdecimal()):
        return None
    return (int(job_index),) if int(replicas) > 1 else ()
