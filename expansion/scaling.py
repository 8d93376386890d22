"""Numbers in objects by which they are scaled, and the ranges that autoscalers and elastic policies allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.contents import Content, full_name, items, namespace_of
from kubeapi.decode import section
from kubeapi.names import Name
from workloadbuilder.adapters.shared.known_objects import group_of

Path = tuple[str | int, ...]
_REPLICAS: Path = ("spec", "replicas")
_FIELDS: Mapping[tuple[str, str], tuple[Path, int]] = {
    **dict.fromkeys([("apps", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet")], (_REPLICAS, 1)),
    ("", "ReplicationController"): (_REPLICAS, 1),
    ("batch", "Job"): (("spec", "parallelism"), 1),
    ("grove.io", "PodCliqueSet"): (_REPLICAS, 1),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (_REPLICAS, 1),
    ("trainer.kubeflow.org", "TrainJob"): (("spec", "trainer", "numNodes"), 1),
}
"""The field of each kind, and its default."""
_ROLES = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}
_COMPLETIONS = "completions"


@dataclasses.dataclass(frozen=True, slots=True)
class ScaledField:
    """Field of an object that says how many of its parts there are.

    Attributes:
        owner: the object.
        path: the field.
        now: its value.
        least: the smallest value of its range; 0 without one.
        most: the largest one; None without one.
        limiter: what sets the range; empty without one.

    """

    owner: Name
    path: Path
    now: int
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
    if group == "ray.io" and kind == "RayCluster":
        yield from _worker_groups(manifest, owner)
    elif group == "kubeflow.org" and kind in _ROLES:
        yield from _workers(manifest, owner)
    elif (known := _FIELDS.get((group, kind))) is not None:
        path, default = known
        field = ScaledField(owner, path, _number(_value(manifest, path), default))
        yield _with_autoscaler(field, manifest, autoscalers)


def _worker_groups(manifest: Content, owner: Name) -> Iterator[ScaledField]:
    scales = section(manifest, "spec").get("enableInTreeAutoscaling") is True
    for index, each in enumerate(items(section(manifest, "spec"), "workerGroupSpecs")):
        path, now = ("spec", "workerGroupSpecs", index, "replicas"), _number(each.get("replicas"), 0)
        if scales and isinstance(each.get("maxReplicas"), int):
            yield ScaledField(owner, path, now, _number(each.get("minReplicas"), 0), each["maxReplicas"], "maxReplicas")
        else:
            yield ScaledField(owner, path, now)


def _workers(manifest: Content, owner: Name) -> Iterator[ScaledField]:
    role = _ROLES[owner.kind]
    worker = section(manifest, "spec", role, "Worker")
    if worker:
        path, elastic = ("spec", role, "Worker", "replicas"), section(manifest, "spec", "elasticPolicy")
        most = elastic.get("maxReplicas")
        limit = most if isinstance(most, int) and not isinstance(most, bool) else None
        limiter = "elasticPolicy" if limit is not None else ""
        yield ScaledField(owner, path, _number(worker.get("replicas"), 1), _number(elastic.get("minReplicas"), 0), limit, limiter)


def _with_autoscaler(field: ScaledField, manifest: Content, autoscalers: Iterable[Content]) -> ScaledField:
    for each in autoscalers:
        spec = section(each, "spec")
        target = section(spec, "scaleTargetRef")
        # KEDA's default is a Deployment.
        same = (str(target.get("kind") or "Deployment"), str(target.get("name"))) == (field.owner.kind, field.owner.name)
        if not same or namespace_of(each) != namespace_of(manifest):
            continue
        names = ("minReplicas", "maxReplicas") if each.get("kind") == "HorizontalPodAutoscaler" else ("minReplicaCount", "maxReplicaCount")
        default = None if each.get("kind") == "HorizontalPodAutoscaler" else 100
        most = spec.get(names[1], default)
        if isinstance(most, int) and not isinstance(most, bool):
            limiter = f"{each.get('kind')} {full_name(each)[1]}"
            return dataclasses.replace(field, least=_number(spec.get(names[0]), 1), most=most, limiter=limiter)
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
    return {**content, first: _replaced(content.get(first) if isinstance(content.get(first), (dict, list)) else {}, rest, value)}
