"""Ranks of pods: the indexes that their controllers give them in labels."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.base_structs import Record
from scheduler_core.model.pods import PodRecord

_DIGITS = 18


class _Numbering(Record, frozen=True):
    """Labels of one kind of controller: *series* name the pods that are numbered together, *indexes* are numbers, the slowest first."""

    series: tuple[str, ...]
    indexes: tuple[str, ...]


_JOB_INDEX = "batch.kubernetes.io/job-completion-index"
_JOBSET, _RAY = "jobset.sigs.k8s.io/", "ray.io/"
_NUMBERINGS = (
    # Pods of a LeaderWorkerSet also have the index of their StatefulSet, and those of a JobSet that of their Job.
    _Numbering(
        ("leaderworkerset.sigs.k8s.io/name",), ("leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index")
    ),
    _Numbering((f"{_JOBSET}jobset-name",), (f"{_JOBSET}job-global-index", _JOB_INDEX)),
    _Numbering((f"{_JOBSET}jobset-name", f"{_JOBSET}replicatedjob-name"), (f"{_JOBSET}job-index", _JOB_INDEX)),
    _Numbering(("batch.kubernetes.io/job-name",), (_JOB_INDEX,)),
    _Numbering(
        ("grove.io/podclique",),
        ("grove.io/podcliqueset-replica-index", "grove.io/podcliquescalinggroup-replica-index", "grove.io/podclique-pod-index"),
    ),
    _Numbering(("grove.io/podclique",), ("grove.io/podcliqueset-replica-index", "grove.io/podclique-pod-index")),
    _Numbering(("training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"), ("training.kubeflow.org/replica-index",)),
    _Numbering(("volcano.sh/job-name", "volcano.sh/task-spec"), ("volcano.sh/task-index",)),
    _Numbering((f"{_RAY}cluster", f"{_RAY}group"), (f"{_RAY}worker-group-replica-index", f"{_RAY}replica-host-index")),
    _Numbering((f"{_RAY}cluster", f"{_RAY}group"), (f"{_RAY}worker-group-replica-index",)),
    _Numbering((), ("apps.kubernetes.io/pod-index",)),
)
INDEX_LABELS = frozenset(key for each in _NUMBERINGS for key in each.indexes)
"""Keys of the labels whose values are numbers."""

Rank = tuple[int, tuple[str, ...], tuple[int, ...]]
"""Sort key: the kind of numbering, the names of the series, the indexes."""


def rank_of(pod: PodRecord) -> Rank | None:
    """Return the rank of *pod* among the pods of its group; None if its labels have no index."""
    labels = pod.labels
    if INDEX_LABELS.isdisjoint(labels):
        return None
    for number, numbering in enumerate(_NUMBERINGS):
        if numbering.indexes[0] not in labels:
            continue
        indexes = tuple(_index(labels, key) for key in numbering.indexes)
        if -1 not in indexes:
            return number, (*pod.controller, *(labels.get(key, "") for key in numbering.series)), indexes
    return None


def is_index(text: str) -> bool:
    """Return whether the value of a label is an index."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def _index(labels: Mapping[str, str], key: str) -> int:
    text = labels.get(key, "")
    return int(text) if is_index(text) else -1
