"""The stand-in API server, and a small run of the benchmark with it: lists of several pages, events, gangs and a change of the leader."""

from __future__ import annotations

import json
import signal

import pytest

from apiserver.api import ReplyError, lines
from apiserver.pages import PAGE, pages
from benchmarks import bench_informers
from benchmarks.bench_informers import Sizes, stand_in

PATH = "/api/v1/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases"
COUNT = 2 * PAGE + 100


@pytest.fixture(scope="module")
def server():
    with stand_in(10, COUNT) as running:
        yield running


def watched(server, version, count):
    """Return type and name of the first *count* events after a version."""
    query = [("watch", "true"), ("resourceVersion", version), ("timeoutSeconds", "3")]
    response = server.api.open(PATH, query)
    events = (json.loads(line) for line in lines(response))
    found = [(each["type"], each["object"]["metadata"].get("name", "")) for each, _ in zip(events, range(count), strict=False)]
    response.close()
    return found


def test_a_list_has_pages_of_one_version_and_a_watch_shows_what_has_changed_since(server):
    listed = [*pages(server.api, PATH)]
    names = [json.loads(bytes(each))["metadata"]["name"] for page in listed for each in page.items]
    version = listed[0].metadata.resource_version
    server.api.send("POST", "/stand-in/changes", b"{}", query=(("count", "2"),))

    # Another test may have created pods.
    assert [PAGE, PAGE] == [len(page.items) for page in listed[:-1]]
    assert {version} == {page.metadata.resource_version for page in listed}
    assert COUNT == len({*names[:COUNT]}) <= len(names) < COUNT + PAGE
    assert [("MODIFIED", names[0]), ("MODIFIED", names[1]), ("BOOKMARK", "")] == watched(server, version, 3)


def test_what_is_created_is_listed_last_and_is_bound_once(server):
    server.create_gang("g", 1)
    *_, last = pages(server.api, PATH)
    binding = json.dumps({"target": {"name": "node-00001"}}).encode()
    server.api.send("POST", "/api/v1/namespaces/default/pods/g-0000/binding", binding)
    with pytest.raises(ReplyError) as refused:
        server.api.send("POST", "/api/v1/namespaces/default/pods/g-0000/binding", binding)

    assert "g-0000" == json.loads(bytes(last.items[-1]))["metadata"]["name"]
    assert 409 == refused.value.code
    assert "node-00001" == json.loads(server.api.read("/api/v1/namespaces/default/pods/g-0000"))["spec"]["nodeName"]


def test_a_write_to_an_earlier_version_is_a_conflict(server):
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
    version = json.loads(server.api.send("POST", LEASES, json.dumps(lease).encode()))["metadata"]["resourceVersion"]
    patch = json.dumps({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": "b"}}).encode()
    server.api.send("PATCH", f"{LEASES}/l", patch)
    with pytest.raises(ReplyError) as refused:
        server.api.send("PATCH", f"{LEASES}/l", patch)

    assert 409 == refused.value.code


def test_the_sidecar_knows_every_pod_places_gangs_and_is_followed_by_its_standby():
    sizes = Sizes(nodes=20, pods=COUNT, events=300, rounds=2, large=20, signals=(signal.SIGTERM,))
    # It raises if the sidecar has another number of pods, or a gang is not bound.
    figures = [row[1] for row in bench_informers.rows(sizes)]

    assert all(float(each.partition(" ")[0].replace(",", "")) > 0 for each in figures)
