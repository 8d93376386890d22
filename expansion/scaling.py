"""Numbers in objects by which they are scaled, and the ranges that autoscalers and elastic policies allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.contents import Content, full_name, items, namespace_of
from kubeapi.base_structs import Record, replaced
from kubeapi.decode import section
from kubeapi.names import Name
from workloadbuilder.adapters.shared.known_objects import group_of

Path = tuple[str | int, ...]
_REPLICAS: tuple[Path, str] = (("spec", "replicas"), "replica")
_FIELDS: Mapping[tuple[str, str], tuple[Path, str]] = {
    **dict.fromkeys([("apps", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet")], _REPLICAS),
    ("", "ReplicationController"): _REPLICAS,
    ("batch", "Job"): (("spec", "parallelism"), "parallel pod"),
    ("grove.io", "PodCliqueSet"): _REPLICAS,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _REPLICAS,
    ("trainer.kubeflow.org", "TrainJob"): (("spec", "trainer", "numNodes"), "node"),
}
"""The field of each kind, and what it counts; the default is 1."""
_CLUSTERS: Mapping[str, Path] = {"RayCluster": ("spec",), "RayJob": ("spec", "rayClusterSpec"), "RayService": ("spec", "rayClusterConfig")}
"""Where the cluster of a kind of ray.io is."""
_ROLES = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}
_COMPLETIONS = "completions"
_RANGES: Mapping[str, tuple[str, str, int, int | None]] = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas", 1, None),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount", 0, 100),
}
"""Fields of autoscalers with their defaults.  Source: Kubernetes 1.37.1 and KEDA 2.17."""
AUTOSCALERS = _RANGES.keys()


class ScaledField(Record, frozen=True):
    """Field of an object that says how many of its parts there are.

    Attributes:
        owner: the object.
        path: the field.
        part: what it counts.
        group: the name of the group that has these parts; empty if the object has them.
        now: its value.
        least: the smallest value of its range; 0 without one.
        most: the largest one; None without one.
        limiter: what sets the range; empty without one.

    """

    owner: Name
    path: Path
    part: str
    now: int
    group: str = ""
    least: int = 0
    most: int | None = None
    limiter: str = ""

    @property
    def text(self) -> str:
        """Return the path as people write it."""
        return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path).lstrip(".")


def scaled_fields(manifest: Content, autoscalers: Iterable[Content] = ()) -> Iterator[ScaledField]:
    """Yield the fields by which an object is scaled, with the ranges of *autoscalers*, HorizontalPodAutoscalers and ScaledObjects."""
    kind, owner = str(manifest.get("kind")), Name(str(manifest.get("kind")), *full_name(manifest))
    group = group_of(str(manifest.get("apiVersion")))
    if group == "ray.io" and kind in _CLUSTERS:
        yield from _worker_groups(manifest, _CLUSTERS[kind], owner)
    elif group == "kubeflow.org" and kind in _ROLES:
        yield from _workers(manifest, owner)
    elif (known := _FIELDS.get((group, kind))) is not None:
        path, part = known
        field = ScaledField(owner, path, part, _number(_value(manifest, path), 1))
        yield _with_autoscaler(field, manifest, autoscalers)


def _worker_groups(manifest: Content, cluster: Path, owner: Name) -> Iterator[ScaledField]:
    spec = _value(manifest, cluster)
    scales = isinstance(spec, Mapping) and spec.get("enableInTreeAutoscaling") is True
    for index, each in enumerate(items(spec, "workerGroupSpecs")):
        path, now = (*cluster, "workerGroupSpecs", index, "replicas"), _number(each.get("replicas"), 0)
        field = ScaledField(owner, path, "worker", now, str(each.get("groupName") or ""))
        if scales and isinstance(each.get("maxReplicas"), int):
            field = replaced(field, least=_number(each.get("minReplicas"), 0), most=each["maxReplicas"], limiter="maxReplicas")
        yield field


def _workers(manifest: Content, owner: Name) -> Iterator[ScaledField]:
    role = _ROLES[owner.kind]
    worker = section(manifest, "spec", role, "Worker")
    if worker:
        path, elastic = ("spec", role, "Worker", "replicas"), section(manifest, "spec", "elasticPolicy")
        most = elastic.get("maxReplicas")
        limit = most if isinstance(most, int) and not isinstance(most, bool) else None
        limiter = "elasticPolicy" if limit is not None else ""
        least = _number(elastic.get("minReplicas"), 0)
        yield ScaledField(owner, path, "worker", _number(worker.get("replicas"), 1), "", least, limit, limiter)


def _with_autoscaler(field: ScaledField, manifest: Content, autoscalers: Iterable[Content]) -> ScaledField:
    for each in autoscalers:
        spec = section(each, "spec")
        target = section(spec, "scaleTargetRef")
        # KEDA's default is a Deployment.
        same = (str(target.get("kind") or "Deployment"), str(target.get("name"))) == (field.owner.kind, field.owner.name)
        if not same or namespace_of(each) != namespace_of(manifest):
            continue
        kind = str(each.get("kind"))
        lowest, highest, least, default = _RANGES[kind]
        most = spec.get(highest, default)
        if isinstance(most, int) and not isinstance(most, bool):
            limiter = f"{kind} {full_name(each)[1]}"
            return replaced(field, least=_number(spec.get(lowest), least), most=most, limiter=limiter)
    return field


def _number(written: object, default: int) -> int:
    return written if isinstance(written, int) and not isinstance(written, bool) and written >= 0 else default


def _value(content: Any, path: Sequence[str | int]) -> Any:
    for each in path:
        if isinstance(each, int):
            content = content[each] if isinstance(content, list) and each < len(content) else None
        else:
            content = content.get(each) if isinstance(content, Mapping) else None
    return content


def with_number(manifest: Content, path: Path, number: int) -> Content:
    """Return *manifest* with another number; an Indexed Job that is as long as it is wide stays so."""
    changed: Content = _replaced(manifest, path, number)
    spec = section(manifest, "spec")
    if path == ("spec", "parallelism") and spec.get(_COMPLETIONS) == _number(spec.get("parallelism"), 1):
        changed = _replaced(changed, ("spec", _COMPLETIONS), number)
    return changed


def _replaced(content: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        listed = [*content]
        listed[first] = _replaced(listed[first], rest, value)
        return listed
    # What is not a mapping, in an object that the API server refuses, is replaced.
    mapping = content if isinstance(content, Mapping) else {}
    return {**mapping, first: _replaced(mapping.get(first), rest, value)}
