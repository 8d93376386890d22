"""The kinds that can be compiled, each with its adapter."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from validators.model.decode import Json
from workloadbuilder.adapters.known import Known, group_of
from workloadbuilder.adapters.reading import Reading

Adapter = Callable[[Json, Known], Reading]

KINDS: dict[tuple[str, str], str] = {
    ("batch", "Job"): "job",
    ("jobset.x-k8s.io", "JobSet"): "jobset",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkerset",
    ("trainer.kubeflow.org", "TrainJob"): "trainjob",
    ("scheduling.volcano.sh", "PodGroup"): "volcano",
    ("scheduling.x-k8s.io", "PodGroup"): "coscheduling",
    ("scheduling.run.ai", "PodGroup"): "kai",
    ("grove.io", "PodCliqueSet"): "grove",
}
"""API group and kind, with the module of this package that reads it; any version of the group is read alike."""


def adapter(api_version: Json, kind: Json) -> Adapter | None:
    """The adapter of a kind; None where there is none.  It is imported only then."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    module = KINDS.get((group_of(api_version), kind))
    if module is None:
        return None
    read: Adapter = importlib.import_module(f"{__package__}.{module}").read
    return read


def listed() -> str:
    """All kinds as they are told."""
    return ", ".join(f"{kind} ({group})" for group, kind in KINDS)
