"""Workers of a predictor that runs on several nodes: their number, and the GPUs of head and workers.

Source: KServe 0.20, ``multiNodeProcess`` in ``predictor.go`` and ``deployment_reconciler.go``.
"""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.quantity import value
from workloadbuilder.adapters.kserve.serving_runtimes import pod_of
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.workload_item import WHOLE

_WORKER = "worker-container"
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "habana.ai/gaudi")
_BACKEND, _PROCESSES = "multinode/executor-backend", "mp"


@dataclasses.dataclass(frozen=True, slots=True)
class Workers:
    """Specification of the pods of *count* workers."""

    pod: dict[str, Json]
    count: int


def workers_of(predictor: Fields, runtime: Fields, head: dict[str, Json]) -> tuple[Workers | None, str]:
    """Return the workers of a *predictor*, or the reason why KServe creates none; the GPUs of its *head* are set."""
    own, given = predictor.mapping("workerSpec"), runtime.mapping("workerSpec")
    if "workerSpec" not in runtime:
        return None, "its runtime has no workerSpec"
    containers = [*own.each_item("containers")]
    worker = pod_of(given, containers[0].given if containers else {}, own, _WORKER)
    if worker is None:
        return None, f"the workerSpec of its runtime has no container {_WORKER}"
    pipeline, tensor = (
        own.number(name, given.number(name, 1, minimum=1), minimum=1) for name in ("pipelineParallelSize", "tensorParallelSize")
    )
    if runtime.annotations().get(_BACKEND) == _PROCESSES:
        nodes, of_head, of_worker = pipeline, tensor, tensor
    else:
        nodes, of_head, of_worker = _of_ray(pipeline * tensor, _requested(head), _requested(worker))
        if of_head + of_worker * (nodes - 1) < pipeline * tensor:
            return None, f"head and workers have {of_head + of_worker * (nodes - 1)} GPUs, and {pipeline * tensor} are needed"
    _set_gpus(head, of_head)
    _set_gpus(worker, of_worker)
    return Workers(worker, nodes - 1), ""


def _of_ray(total: int, head: int, worker: int) -> tuple[int, int, int]:
    """Return the number of nodes, and the GPUs of the head and of each worker, for *total* GPUs; 0: they request none."""
    if worker:
        nodes = -(-total // worker)
        if nodes == 1 or (head and -(-total // head) == 1):
            return 1, total, 0
        return nodes, head or total - worker * (nodes - 1), worker
    if head:
        return max(total - head, 0) + 1, head, 1
    return total, 1, 1


def _requested(pod: dict[str, Json]) -> int:
    """Return the GPUs that the first container requests."""
    requests = Fields(pod["containers"][0], WHOLE, []).mapping("resources").mapping("requests")
    for name in _GPUS:
        if name in requests:
            try:
                return value(requests.raw(name))
            except (TypeError, ValueError):
                # The API server refuses the pods.
                return 0
    return 0


def _set_gpus(pod: dict[str, Json], count: int) -> None:
    container = pod["containers"][0]
    resources = Fields(container, WHOLE, []).mapping("resources")
    parts = {part: resources.mapping(part).given for part in ("limits", "requests")}
    name = next((each for each in _GPUS if any(each in given for given in parts.values())), _GPUS[0])
    container["resources"] = {**resources.given, **{part: {**given, name: str(count)} for part, given in parts.items()}}
