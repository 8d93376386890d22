"""What is created, bound and deleted: the objects of ``benchmarks.clusters`` as an API server takes them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator

from benchmarks import clusters
from benchmarks.cluster.wire import Asked, Wire
from benchmarks.clusters import Json

NAMESPACE = "bench"
_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods",
    "PodGroup": f"/apis/scheduling.k8s.io/v1alpha3/namespaces/{NAMESPACE}/podgroups",
    "CompositePodGroup": f"/apis/scheduling.k8s.io/v1alpha3/namespaces/{NAMESPACE}/compositepodgroups",
}
_FREE = b'{"metadata":{"finalizers":null}}'
_AT_ONCE = json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}).encode()


@dataclasses.dataclass(frozen=True, slots=True)
class Backlog:
    """Groups and pods that wait for a scheduler."""

    objects: tuple[Json, ...]

    @property
    def pods(self) -> list[str]:
        """Their names."""
        return [each["metadata"]["name"] for each in self.objects if each["kind"] == "Pod"]

    def create(self, wire: Wire, scheduler: str) -> None:
        """Create all, the groups first; the pods ask for *scheduler*."""
        bodies = [(each["kind"], body(each, scheduler)) for each in self.objects]
        for wanted in (False, True):
            wire.press(("POST", _PATHS[kind], content) for kind, content in bodies if (kind == "Pod") is wanted)

    def bind(self, wire: Wire, nodes: int, lines: int) -> float:
        """Bind all pods to one node after the other, and nothing else; the seconds that took."""
        return wire.press([binding(name, number % nodes) for number, name in enumerate(self.pods)], lines)

    def delete(self, wire: Wire) -> None:
        """Delete all, at once."""
        for wanted in ("Pod", "PodGroup", "CompositePodGroup"):
            paths = [f"{_PATHS[wanted]}/{each['metadata']['name']}" for each in self.objects if each["kind"] == wanted]
            wire.press((("DELETE", path, _AT_ONCE) for path in paths), missing=True)
            if wanted != "Pod":
                # The API server protects groups; whoever would let them go does not run here.
                wire.press((("PATCH", path, _FREE) for path in paths), missing=True)


def gangs(count: int, size: int, *, key: str = clusters.RACK) -> Backlog:
    """*count* gangs of *size* pods, each in one domain of *key* where there is one."""
    return Backlog(tuple(clusters.gangs(count, size, key=key)))


def trees(count: int, width: int, size: int) -> Backlog:
    """*count* trees in one zone each: *width* gangs of *size* pods, each in one rack."""
    return Backlog(tuple(clusters.trees(count, width, size)))


def running(first: int, count: int, nodes: int) -> Iterator[Json]:
    """Pods that are bound and run."""
    for number in range(first, first + count):
        yield clusters.pod(f"running-{number:06d}", "", node=f"node-{number % nodes:05d}")


def nodes(first: int, count: int) -> list[Json]:
    """Nodes *first* to *first* + *count*, in racks of 100."""
    return clusters.nodes(first + count)[first:]


def posts(objects: Iterable[Json], scheduler: str = "") -> Iterator[Asked]:
    """The requests that create them."""
    return (("POST", _PATHS[each["kind"]], body(each, scheduler)) for each in objects)


def binding(pod: str, node: int) -> Asked:
    """The request that binds a pod."""
    target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{node:05d}"}
    content = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "namespace": NAMESPACE}, "target": target}
    return "POST", f"{_PATHS['Pod']}/{pod}/binding", json.dumps(content).encode()


def body(manifest: Json, scheduler: str = "") -> bytes:
    """An object as one creates it: without what the API server gives."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key in ("name", "labels")}
    spec = {key: value for key, value in manifest["spec"].items() if key != "priority"}
    if manifest["kind"] == "Pod" and scheduler:
        spec["schedulerName"] = scheduler
    status = {"status": manifest["status"]} if manifest["kind"] == "Node" else {}
    return json.dumps(
        {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata, "spec": spec, **status}
    ).encode()
