"""Writes to claims to devices, carried out: the requests that they take, and the claims that the cache gets."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.sidecar.client.claim_status import FINALIZER
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writer.executor import Executor
from scheduler_core.sidecar.writes import AllocateClaim, AllocateExtended, DeleteExtended, Ref, ReleaseClaim, WriteOutcome
from tests.apiserver.fake import serving

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PATHS = Paths({"Pod": "/api/v1/pods", "ResourceClaim": "/apis/resource.k8s.io/v1/resourceclaims"})
POD = Ref("Pod", "default", "p", "uid-p")
CLAIM = Ref("ResourceClaim", "default", "c", "uid-c")
ALLOCATION = Allocation((GivenDevice("gpu", ("drv", "pool", "d0")),))
ALLOCATE = AllocateClaim(CLAIM, ALLOCATION, (POD,))
EXTENDED = AllocateExtended(POD, "p-x", (("gpu", "class", 1),), ((1, "example.com/gpu", "gpu"),), ALLOCATION)


class Cluster:
    """An API server with a pod and claims; it counts versions, and refuses changes of older ones."""

    def __init__(self, *claims: Any, **pod: Any) -> None:
        containers = {"initContainers": [{"name": "init"}], "containers": [{"name": "main"}]}
        self.pod = {"metadata": {"name": "p", "uid": "uid-p"}, "spec": {**containers, **pod}}
        self.claims = {each["metadata"]["name"]: each for each in claims}
        self.version = 1

    def __call__(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], Any]:
        content = json.loads(body) if body else {}
        if "/pods/" in path:
            self.pod["status"] = content.get("status", {})
            return 200, {}, self.pod
        name = path.removeprefix(CLAIMS).strip("/").partition("/")[0]
        self.version += 1
        if method == "POST":
            name = content["metadata"]["name"]
            self.claims[name] = {**content, "metadata": {**content["metadata"], "uid": f"uid-{name}"}}
        if name not in self.claims:
            return 404, {}, {}
        claim = self.claims[name]
        if method == "DELETE":
            return 200, {}, self.claims.pop(name)
        if method in ("PUT", "PATCH"):
            assert claim["metadata"]["resourceVersion"] == content["metadata"]["resourceVersion"]
            changed = {**claim, "status": content["status"]} if method == "PUT" else claim
            self.claims[name] = {**changed, "metadata": {**claim["metadata"], "finalizers": content["metadata"].get("finalizers", [])}}
        self.claims[name]["metadata"]["resourceVersion"] = str(self.version)
        return 200, {}, copy.deepcopy(self.claims[name])


def claim(name: str = "c", *users: str, extended: str = "", **metadata: Any) -> Any:
    status = {"allocation": {"devices": {"results": [{"request": "gpu", "driver": "drv", "pool": "pool", "device": "d0"}]}}}
    owner = {"ownerReferences": [{"controller": True, "uid": extended}]} if extended else {}
    annotations = {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}} if extended else {}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", **annotations, **owner, **metadata},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "class", "count": 1}}]}},
        "status": {**status, "reservedFor": [{"uid": user} for user in users]} if users else {},
    }


def carried(cluster: Cluster, write: Any) -> tuple[WriteOutcome, list[str], list[Any]]:
    """The outcome, the requests that changed something, and the claims that the cache got."""
    returned: list[Any] = []

    def got(kind: str, text: bytes) -> None:
        returned.append((kind, json.loads(text)))

    with serving(cluster) as (server, api):
        executor = Executor(api, PATHS, EventRecorder("muster.dev/sidecar", "test"), lambda: 100.0, got)
        outcome, _ = executor.execute(write, dry_run=False)
        paths = (f"{method} {path.removeprefix(CLAIMS)}" for method, path, *_ in server.requests if method != "GET")
        return outcome, list(paths), [each for kind, each in returned if kind == "ResourceClaim"]


def test_finalizer_is_written_before_the_allocation_and_the_cache_gets_the_result():
    cluster = Cluster(claim())
    outcome, requests, returned = carried(cluster, ALLOCATE)
    assert (WriteOutcome.DONE, ["PATCH /c", "PUT /c/status"]) == (outcome, requests)
    assert [FINALIZER] == cluster.claims["c"]["metadata"]["finalizers"]
    assert cluster.claims["c"] == returned[-1]
    assert ["uid-p"] == [each["uid"] for each in cluster.claims["c"]["status"]["reservedFor"]]
    assert (WriteOutcome.DONE, []) == carried(cluster, ALLOCATE)[:2]


def test_claim_with_other_devices_is_not_changed_and_the_cache_gets_it():
    other = AllocateClaim(CLAIM, Allocation((GivenDevice("gpu", ("drv", "pool", "d1")),)), (POD,))
    outcome, requests, returned = carried(Cluster(claim("c", "uid-q")), other)
    assert (WriteOutcome.REFUSED, [], 1) == (outcome, requests, len(returned))


def test_claim_of_another_uid_is_gone():
    assert (WriteOutcome.GONE, []) == carried(Cluster(claim("c", uid="another")), ALLOCATE)[:2]
    assert (WriteOutcome.GONE, []) == carried(Cluster(), ALLOCATE)[:2]


def test_last_reservation_is_released_with_the_devices():
    cluster = Cluster(claim("c", "uid-p"))
    assert (WriteOutcome.DONE, ["PUT /c/status"]) == carried(cluster, ReleaseClaim(CLAIM, (POD,)))[:2]
    assert {"reservedFor": []} == cluster.claims["c"]["status"]


def test_claim_for_extended_resources_is_created_once_and_named_in_the_pod():
    cluster = Cluster()
    outcome, requests, _ = carried(cluster, EXTENDED)
    pod = "/api/v1/namespaces/default/pods/p/status"
    assert (WriteOutcome.DONE, ["POST ", "PATCH /p-x", "PUT /p-x/status", f"PATCH {pod}"]) == (outcome, requests)
    mapping = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "gpu"}
    wanted = {"resourceClaimName": "p-x", "requestMappings": [mapping]}
    assert wanted == cluster.pod["status"]["extendedResourceClaimStatus"]
    assert (WriteOutcome.DONE, [f"PATCH {pod}"]) == carried(cluster, EXTENDED)[:2]


@pytest.mark.parametrize(
    "found",
    [pytest.param(claim("p-x", extended="uid-old"), id="of an earlier pod"), pytest.param(claim("p-x"), id="of a user")],
)
def test_claim_of_the_same_name_that_is_not_ours_is_not_used(found):
    assert (WriteOutcome.REFUSED, []) == carried(Cluster(found), EXTENDED)[:2]


@pytest.mark.parametrize(
    ("cluster", "outcome", "requests"),
    [
        pytest.param(
            Cluster(claim("c", "uid-p", extended="uid-p", finalizers=[FINALIZER, "x"])),
            WriteOutcome.DONE,
            ["PATCH /c", "DELETE /c"],
            id="for this pod",
        ),
        pytest.param(Cluster(claim("c", extended="uid-old")), WriteOutcome.REFUSED, [], id="for another pod"),
        pytest.param(Cluster(claim("c", "uid-q", extended="uid-p")), WriteOutcome.REFUSED, [], id="in use by others"),
        pytest.param(Cluster(claim("c")), WriteOutcome.REFUSED, [], id="of a user"),
        pytest.param(Cluster(claim("c", extended="uid-p"), nodeName="n"), WriteOutcome.REFUSED, [], id="of a bound pod"),
    ],
)
def test_only_a_claim_for_extended_resources_of_an_unbound_pod_is_deleted(cluster, outcome, requests):
    assert (outcome, requests) == carried(cluster, DeleteExtended(Ref("ResourceClaim", "default", "c"), POD))[:2]
