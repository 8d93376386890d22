"""Kubelets as far as scheduling sees them: a bound pod runs, a deleted one is removed.  Also nodes and pods."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence

from tests import builders
from tests.cluster.api import NOT_FOUND, Api, ApiError
from tests.cluster.follower import Follower
from tests.cluster.resources import Manifest


def node(name: str, labels: Mapping[str, str] | None = None, /, *, pods: int = 110, **allocatable: str | int) -> Manifest:
    """A node with what is left of it for pods, as ``node("a1", {"rack": "a"}, cpu=8, **{"nvidia.com/gpu": 8})``."""
    resources = {"cpu": "32", "memory": "256Gi", **allocatable}
    created = builders.node(name, pods=pods, labels=labels, resources=resources)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    status = {"capacity": created["status"]["allocatable"], "conditions": [ready], "phase": "Running", **created["status"]}
    return {key: created[key] for key in ("apiVersion", "kind", "metadata")} | {"status": status}


def pod(
    name: str,
    namespace: str,
    *,
    group: str = "",
    spec: Manifest | None = None,
    labels: Mapping[str, str] | None = None,
    **requests: str | int,
) -> Manifest:
    """A pod, in a PodGroup where *group* is given; *requests* are of its container, *spec* is laid over the pod's."""
    requested = {key: str(value) for key, value in requests.items()}
    resources: Manifest = {"requests": requested}
    if limits := {key: value for key, value in requested.items() if "/" in key}:
        resources["limits"] = limits
    content: Manifest = {
        "containers": [{"name": "main", "image": "example.com/main:1", "resources": resources}],
        "terminationGracePeriodSeconds": 30,
    }
    if group:
        content["schedulingGroup"] = {"podGroupName": group}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {**content, **(spec or {})},
    }


class Kubelet(Follower):
    """Kubelets of all nodes; a context manager.

    While ``finishing`` is cleared, deleted pods stay terminating, like pods with a long grace period.  With *capacity*, the millicores of
    each node, a pod is rejected that its node has no room for, as another scheduler was faster.
    """

    kind = "Pod"
    query = {"fieldSelector": "spec.nodeName!="}

    def __init__(self, api: Api, capacity: Mapping[str, int] | None = None) -> None:
        super().__init__(api)
        self._capacity = capacity or {}
        self._admitted: dict[tuple[str, str], tuple[str, int]] = {}
        self._pods: dict[tuple[str, str], Manifest] = {}
        self._lock = threading.Lock()
        self.finishing = threading.Event()
        self.finishing.set()

    def linger(self) -> None:
        """From now on deleted pods stay."""
        self.finishing.clear()

    def finish(self) -> None:
        """From now on deleted pods go, also those that linger."""
        self.finishing.set()
        with self._lock:
            waiting = list(self._pods.values())
        for each in waiting:
            self._attend(each)

    def saw_list(self, listed: Sequence[Manifest]) -> None:
        """Forget the pods that are gone, and attend to the others."""
        with self._lock:
            self._pods.clear()
        there = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in listed}
        self._admitted = {key: each for key, each in self._admitted.items() if key in there}
        super().saw_list(listed)

    def saw(self, what: str, each: Manifest) -> None:
        """Attend to a pod, or forget it."""
        key = each["metadata"]["namespace"], each["metadata"]["name"]
        with self._lock:
            if what == "DELETED":
                self._pods.pop(key, None)
                self._admitted.pop(key, None)
                return
            self._pods[key] = each
            if each.get("status", {}).get("phase") in ENDED:
                self._admitted.pop(key, None)
        self._attend(each)

    def _attend(self, each: Manifest) -> None:
        name, namespace = each["metadata"]["name"], each["metadata"]["namespace"]
        try:
            if each["metadata"].get("deletionTimestamp"):
                if self.finishing.is_set():
                    self._api.delete("Pod", name, namespace, gracePeriodSeconds=0, preconditions={"uid": each["metadata"]["uid"]})
            elif each.get("status", {}).get("phase", "Pending") == "Pending":
                self._api.set_status("Pod", name, namespace, status=_running() if self._admits(each) else REJECTED)
        except ApiError as error:
            # Gone, or another of its name is there: the watch will tell.
            if error.code not in (NOT_FOUND, 409):
                raise

    def _admits(self, each: Manifest) -> bool:
        """Return whether the node of a pod has room for it beside the pods that it admitted earlier."""
        node, key = each["spec"]["nodeName"], (each["metadata"]["namespace"], each["metadata"]["name"])
        if node not in self._capacity:
            return True
        cpu = sum(int(one["resources"]["requests"]["cpu"].removesuffix("m")) for one in each["spec"]["containers"])
        taken = sum(amount for on, amount in self._admitted.values() if on == node)
        if taken + cpu > self._capacity[node]:
            return False
        self._admitted[key] = node, cpu
        return True


ENDED = ("Succeeded", "Failed")
REJECTED: Manifest = {
    "phase": "Failed",
    "reason": "OutOfcpu",
    "message": "Pod was rejected: Node didn't have enough resource: cpu, requested: 600, used: 600, capacity: 1000",
}


def _running() -> Manifest:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = [{"type": each, "status": "True", "lastTransitionTime": now} for each in ("Initialized", "Ready", "ContainersReady")]
    return {"phase": "Running", "startTime": now, "conditions": conditions}


def finish_pod(api: Api, name: str, namespace: str, phase: str = "Succeeded") -> None:
    """Let a pod end by itself, as ``Succeeded`` or ``Failed``."""
    api.set_status("Pod", name, namespace, status={"phase": phase})


def remove_pod(api: Api, name: str, namespace: str) -> None:
    """Delete a pod at once."""
    with contextlib.suppress(ApiError):
        api.delete("Pod", name, namespace, gracePeriodSeconds=0)
