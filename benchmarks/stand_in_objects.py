"""Objects of the stand-in API server: nodes and running pods whose texts are generated from templates, and objects that are created.

The texts have the fields of objects of a real cluster that a client must skip: managed fields, volumes, conditions, states of containers.
"""

from __future__ import annotations

import array
import bisect
import functools
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]

PODS_OF_A_WORKLOAD = 100
NODES_OF_A_RACK, RACKS_OF_A_ZONE = 100, 10
HISTORY = 300_000
"""Number of events that a watch can start at; older versions have expired."""
_STAMP = "2026-08-01T00:00:00Z"
_IMAGE = "registry.example/team/service-%(workload)s:1.%(workload)s.0"
_Source = int | bytes
"""Number of a generated object, or the text of an object that was created."""
Entry = tuple[int, str, _Source]
"""Version, type and object of an event."""


def _template(sample: Json) -> bytes:
    return json.dumps(sample, separators=(",", ":")).encode()


def _managed(*managers: str) -> list[Json]:
    fields = {
        f"f:{name}": {".": {}, 'k:{"type":"Ready"}': {".": {}, "f:status": {}}} for name in ("metadata", "spec", "status", "conditions")
    }
    head = {"operation": "Update", "apiVersion": "v1", "time": _STAMP, "fieldsType": "FieldsV1"}
    return [{"manager": each, **head, "fieldsV1": fields} for each in managers]


def _conditions(*types: str) -> list[Json]:
    times = {"lastProbeTime": None, "lastTransitionTime": _STAMP}
    return [{"type": each, "status": "%(ready)s" if each == "Ready" else "True", **times} for each in types]


def _pod(labels: Json, owner: str) -> Json:
    """Return the template of a running pod, about 3 KB."""
    reference = {"apiVersion": "v1", "kind": owner, "name": "w-%(workload)s", "uid": "w-%(workload)s", "controller": True}
    requests = {"cpu": "%(cpu)sm", "memory": "%(memory)sMi"}
    mount = {"name": "kube-api-access-%(member)s", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    container = {
        "name": "main",
        "image": _IMAGE,
        "args": ["--config=/etc/service/config.yaml", "--listen=:8080"],
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(6)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": requests, "limits": requests},
        "volumeMounts": [mount],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    tolerations = [
        {"key": f"node.kubernetes.io/{each}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for each in ("not-ready", "unreachable")
    ]
    state = {
        "name": "main",
        "state": {"running": {"startedAt": _STAMP}},
        "ready": True,
        "restartCount": 0,
        "image": _IMAGE,
        "started": True,
    }
    return {
        "metadata": {
            "name": "%(name)s",
            "generateName": "w-%(workload)s-",
            "namespace": "team-%(team)s",
            "uid": "%(uid)s",
            "resourceVersion": "%(version)s",
            "creationTimestamp": "%(created)s",
            "labels": labels,
            "ownerReferences": [reference],
            "managedFields": _managed("kube-controller-manager", "kubelet"),
        },
        "spec": {
            "volumes": [{"name": "kube-api-access-%(member)s", "projected": {"sources": [token], "defaultMode": 420}}],
            "containers": [container],
            "restartPolicy": "Always",
            "nodeName": "%(node)s",
            "schedulerName": "default-scheduler",
            "tolerations": tolerations,
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": _conditions("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"),
            "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1",
            "podIPs": [{"ip": "10.1.0.1"}],
            "startTime": "%(started)s",
            "containerStatuses": [{**state, "containerID": "containerd://%(uid)s"}],
            "qosClass": "Guaranteed",
        },
    }


_SERVICE_LABELS = {"app": "w-%(workload)s", "pod-template-hash": "w-%(workload)s", "team": "team-%(team)s"}
_JOB_LABELS = {
    "batch.kubernetes.io/controller-uid": "w-%(workload)s",
    "batch.kubernetes.io/job-name": "w-%(workload)s",
    "batch.kubernetes.io/job-completion-index": "%(member)s",
    "team": "team-%(team)s",
}
_FIELD = re.compile(rb"%\((\w+)\)s")
_OF_POD = (b"name", b"uid", b"version", b"member", b"node", b"created", b"started", b"ready")
_PODS = tuple(_template(_pod(labels, owner)) for labels, owner in ((_SERVICE_LABELS, "ReplicaSet"), (_JOB_LABELS, "Job")))
"""Pods of a Deployment, whose labels are equal, and of an indexed Job, whose labels differ."""


def _node() -> Json:
    size = {"cpu": "64", "memory": "262144Mi", "pods": "110", "ephemeral-storage": "500Gi"}
    labels = {
        "kubernetes.io/hostname": "%(name)s",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "standard-64",
        "topology.kubernetes.io/rack": "rack-%(rack)s",
        "topology.kubernetes.io/zone": "zone-%(zone)s",
    }
    return {
        "metadata": {
            "name": "%(name)s",
            "uid": "%(name)s",
            "resourceVersion": "%(version)s",
            "creationTimestamp": _STAMP,
            "labels": labels,
            "managedFields": _managed("kubelet", "kube-controller-manager"),
        },
        "spec": {"podCIDR": "10.1.0.0/24", "providerID": "example://%(name)s"},
        "status": {
            "allocatable": size,
            "capacity": size,
            "conditions": _conditions("MemoryPressure", "DiskPressure", "PIDPressure", "Ready"),
            "nodeInfo": {"kubeletVersion": "v1.37.1", "osImage": "Example Linux", "containerRuntimeVersion": "containerd://2.1.0"},
            "images": ["%(images)s"],
        },
    }


_NODES = _template(_node()).replace(b'["%(images)s"]', b"[%(images)s]")


class Collection:
    """Objects of one resource, and the history of their changes.

    The generated objects have the numbers from 0 to *count*; *generate* returns the text of one at a version, without kind and apiVersion.
    """

    def __init__(
        self, kind: str, api_version: str, count: int = 0, generate: Callable[[int, int], bytes] = lambda _number, _version: b""
    ) -> None:
        self.kind, self.api_version, self.count, self.generate = kind, api_version, count, generate
        self.versions = array.array("q", range(1, count + 1))
        self.created: dict[tuple[str, str], Json] = {}
        self.created_at: list[int] = []
        """Version at which each of them was created."""
        self.history: list[Entry] = []
        self.dropped = 0
        """Number of entries that were dropped from the beginning of the history."""
        self.expired = 0
        """Version of the last entry that was dropped."""
        self._type = f'"kind":"{kind}","apiVersion":"{api_version}",'.encode()

    def texts(self, start: int, limit: int, version: int) -> Iterator[bytes]:
        """Yield the objects from the place *start* on that exist at *version*, at most *limit*; each is shown as it is now."""
        last = min(self.count, start + limit)
        yield from (self.generate(number, self.versions[number]) for number in range(start, last))
        existing = bisect.bisect_right(self.created_at, version)
        rest = itertools.islice([*self.created.values()], max(0, start - self.count), min(existing, max(0, start + limit - self.count)))
        yield from (json.dumps(each).encode() for each in rest)

    def __len__(self) -> int:
        return self.count + len(self.created)

    def add(self, version: int, event: str, source: _Source) -> None:
        """Add an event to the history."""
        self.history.append((version, event, source))
        if len(self.history) > 2 * HISTORY:
            self.expired = self.history[HISTORY - 1][0]
            del self.history[:HISTORY]
            self.dropped += HISTORY

    def line(self, entry: Entry) -> bytes:
        """Return the line of a watch for an event."""
        version, event, source = entry
        text = self.generate(source, version) if isinstance(source, int) else source
        typed = b"{" + self._type + text[1:] if isinstance(source, int) else text
        return b'{"type":"%s","object":%s}\n' % (event.encode(), typed)

    def bookmark(self, version: int) -> bytes:
        """Return the line of a bookmark."""
        return b'{"type":"BOOKMARK","object":{%s"metadata":{"resourceVersion":"%d"}}}\n' % (self._type, version)


class Store:
    """All collections, by path; one sequence of versions."""

    def __init__(self, nodes: int, pods: int) -> None:
        groups = (("Workload", "workloads"), ("PodGroup", "podgroups"), ("CompositePodGroup", "compositepodgroups"))
        scheduling = "scheduling.k8s.io/v1beta1"
        self.collections = {
            "/api/v1/nodes": Collection("Node", "v1", nodes, functools.partial(_node_text, nodes, pods)),
            "/api/v1/pods": Collection("Pod", "v1", pods, functools.partial(_pod_text, nodes)),
            "/api/v1/namespaces": Collection("Namespace", "v1"),
            "/apis/policy/v1/poddisruptionbudgets": Collection("PodDisruptionBudget", "policy/v1"),
            "/apis/scheduling.k8s.io/v1/priorityclasses": Collection("PriorityClass", "scheduling.k8s.io/v1"),
            "/apis/coordination.k8s.io/v1/leases": Collection("Lease", "coordination.k8s.io/v1"),
            "/apis/events.k8s.io/v1/events": Collection("Event", "events.k8s.io/v1"),
            **{f"/apis/{scheduling}/{resource}": Collection(kind, scheduling) for kind, resource in groups},
        }
        self.changed = threading.Condition()
        self._versions = itertools.count(max(nodes, pods) + 1)
        self.version = next(self._versions)

    def next_version(self) -> int:
        """Return the version of the next change; with ``changed`` held."""
        self.version = next(self._versions)
        return self.version

    def create_or_update(self, collection: Collection, event: str, content: Json) -> Json:
        """Write *content* at the next version, and return it."""
        with self.changed:
            version = self.next_version()
            content["metadata"]["resourceVersion"] = str(version)
            metadata = content["metadata"]
            if event == "ADDED":
                collection.created_at.append(version)
            collection.created[metadata.get("namespace", ""), metadata["name"]] = content
            collection.add(version, event, json.dumps(content).encode())
            self.changed.notify_all()
        return content

    def change_pods(self, count: int) -> None:
        """Change the readiness of *count* running pods, each of another node."""
        pods = self.collections["/api/v1/pods"]
        for first in range(0, count, 1000):
            with self.changed:
                for number in range(first, min(count, first + 1000)):
                    changed = number % pods.count
                    pods.versions[changed] = version = self.next_version()
                    pods.add(version, "MODIFIED", changed)
                self.changed.notify_all()


@functools.lru_cache(maxsize=8192)
def _pod_parts(workload: int) -> tuple[list[bytes], list[int]]:
    """Return the template of a workload's pods in parts, and for each place between two parts the number of its field in ``_OF_POD``."""
    variant = workload % 40
    fields = {
        b"workload": b"%05d" % workload,
        b"team": b"%03d" % (workload % 200),
        b"cpu": b"%d" % (100 + 50 * (variant % 10)),
        b"memory": b"%d" % (128 + 64 * (variant // 4)),
    }
    filled = _FIELD.sub(lambda found: fields.get(found[1], found[0]), _PODS[workload % 2])
    pieces = _FIELD.split(filled)
    return pieces[::2], [_OF_POD.index(each) for each in pieces[1::2]]


def _pod_text(nodes: int, number: int, version: int) -> bytes:
    workload, member = divmod(number, PODS_OF_A_WORKLOAD)
    parts, fields = _pod_parts(workload)
    values = (
        b"w-%05d-%05x-%05d" % (workload, workload * 7919 % 0xFFFFF, member),
        b"%08x-4a1c-4f6e-9d2b-%012x" % (number * 2654435761 % 0xFFFFFFFF, number),
        b"%d" % version,
        b"%d" % member,
        b"node-%05d" % (number % nodes),
        b"2026-08-%02dT%02d:%02d:%02dZ" % (1 + workload % 28, workload % 24, workload % 60, member // 10),
        b"2026-08-%02dT%02d:%02d:%02dZ" % (1 + workload % 28, workload % 24, workload % 60, 10 + member % 20),
        b"True" if version % 2 else b"False",
    )
    pieces = [parts[0]]
    for field, part in zip(fields, parts[1:], strict=True):
        pieces += (values[field], part)
    return b"".join(pieces)


def _node_text(nodes: int, pods: int, number: int, version: int) -> bytes:
    rack = number // NODES_OF_A_RACK
    workloads = [each // PODS_OF_A_WORKLOAD for each in range(number, pods, nodes)]
    image = b'{"names":["registry.example/team/service-%05d:1.%05d.0"],"sizeBytes":104857600}'
    fields = {
        b"name": b"node-%05d" % number,
        b"version": b"%d" % version,
        b"rack": b"%03d" % rack,
        b"zone": b"%02d" % (rack // RACKS_OF_A_ZONE),
        b"ready": b"True",
        b"images": b",".join(image % (each, each) for each in workloads),
    }
    return _NODES % fields
