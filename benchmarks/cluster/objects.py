"""Requests that create, bind and delete the objects of ``benchmarks.clusters``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator

from benchmarks import clusters
from benchmarks.cluster.wire import Request, Wire
from benchmarks.clusters import Json

NAMESPACE = "bench"
_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods",
    "PodGroup": f"/apis/scheduling.k8s.io/v1alpha3/namespaces/{NAMESPACE}/podgroups",
    "CompositePodGroup": f"/apis/scheduling.k8s.io/v1alpha3/namespaces/{NAMESPACE}/compositepodgroups",
}
_WITHOUT_FINALIZERS = b'{"metadata":{"finalizers":null}}'
_NO_GRACE_PERIOD = json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}).encode()


@dataclasses.dataclass(frozen=True, slots=True)
class Backlog:
    """Groups and pods for a scheduler."""

    objects: tuple[Json, ...]

    @property
    def pods(self) -> list[str]:
        """Return the names of the pods."""
        return [each["metadata"]["name"] for each in self.objects if each["kind"] == "Pod"]

    def create(self, wire: Wire, scheduler: str) -> None:
        """Create all objects, the groups first; *scheduler* is the schedulerName of the pods."""
        bodies = [(each["kind"], body(each, scheduler)) for each in self.objects]
        for pods in (False, True):
            wire.press(("POST", _PATHS[kind], content) for kind, content in bodies if (kind == "Pod") is pods)

    def bind(self, wire: Wire, nodes: int, connections: int) -> float:
        """Bind all pods, to the nodes in turn; return the seconds that takes."""
        return wire.press([binding(name, number % nodes) for number, name in enumerate(self.pods)], connections)

    def delete(self, wire: Wire) -> None:
        """Delete all objects without a grace period."""
        for kind in ("Pod", "PodGroup", "CompositePodGroup"):
            paths = [f"{_PATHS[kind]}/{each['metadata']['name']}" for each in self.objects if each["kind"] == kind]
            wire.press((("DELETE", path, _NO_GRACE_PERIOD) for path in paths), missing=True)
            if kind != "Pod":
                # The API server adds protection finalizers, and the controller that removes them does not run here.
                wire.press((("PATCH", path, _WITHOUT_FINALIZERS) for path in paths), missing=True)


def gangs(count: int, size: int, *, key: str = clusters.RACK) -> Backlog:
    """Return *count* gangs of *size* pods, each in one domain of *key* if it is not empty."""
    return Backlog(tuple(clusters.gangs(count, size, key=key)))


def trees(count: int, width: int, size: int) -> Backlog:
    """Return *count* trees in one zone each: *width* gangs of *size* pods, each gang in one rack."""
    return Backlog(tuple(clusters.trees(count, width, size)))


def running(first: int, count: int, nodes: int) -> Iterator[Json]:
    """Yield running pods, spread over *nodes* nodes."""
    for number in range(first, first + count):
        yield clusters.pod(f"running-{number:06d}", "", node=f"node-{number % nodes:05d}")


def nodes(first: int, count: int) -> list[Json]:
    """Return *count* nodes from number *first* on, in racks of 100."""
    return clusters.nodes(first + count)[first:]


def posts(objects: Iterable[Json], scheduler: str = "") -> Iterator[Request]:
    """Yield the requests that create *objects*."""
    return (("POST", _PATHS[each["kind"]], body(each, scheduler)) for each in objects)


def binding(pod: str, node: int) -> Request:
    """Return the request that binds a pod."""
    target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{node:05d}"}
    content = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "namespace": NAMESPACE}, "target": target}
    return "POST", f"{_PATHS['Pod']}/{pod}/binding", json.dumps(content).encode()


def body(manifest: Json, scheduler: str = "") -> bytes:
    """Encode an object for its creation, without the fields that the API server sets."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key in ("name", "labels")}
    spec = {key: value for key, value in manifest["spec"].items() if key != "priority"}
    if manifest["kind"] == "Pod" and scheduler:
        spec["schedulerName"] = scheduler
    status = {"status": manifest["status"]} if manifest["kind"] == "Node" else {}
    return json.dumps(
        {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata, "spec": spec, **status}
    ).encode()
