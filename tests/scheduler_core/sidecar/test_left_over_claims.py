"""Search for claims that an earlier process has left annotated, and a process that finds one at its start."""

from __future__ import annotations

import json
import threading
import urllib.parse

import pytest

from scheduler_core.sidecar.client.requests import SELECTED_NODE, field_manager
from scheduler_core.sidecar.process import left_over_claims
from scheduler_core.sidecar.process.left_over_claims import LeftOverClaims
from scheduler_core.sidecar.settings import Mode
from tests.apiserver.fake import serving
from tests.scheduler_core.sidecar import test_process
from tests.scheduler_core.sidecar.test_process import PATIENCE, Cluster, Process, stop, watching
from tests.scheduler_core.sidecar.volume_world import BIND_COMPLETED, DYNAMIC, claim, selected_by
from tests.webhooks.running import until

quick = test_process.quick
"""The fixture, used here too."""
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
OURS = field_manager("muster")


def annotated(name="c", manager=OURS, **spec):
    found = claim(name, DYNAMIC)
    found["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "5", "annotations": {SELECTED_NODE: "n1"}}
    found["metadata"]["managedFields"] = selected_by(manager)
    found["spec"] |= spec
    return found


def bound():
    found = annotated(volumeName="pv")
    found["metadata"]["annotations"][BIND_COMPLETED] = "yes"
    return found


class Claims(Cluster):
    """A cluster without pods, with claims in pages of one; *answers* are those to the first lists of claims."""

    def __init__(self, *claims, answers=()):
        super().__init__()
        self.objects = {}
        self.claims, self.answers = claims, list(answers)
        self.patched = []

    def __call__(self, method, path, body):
        where = path.partition("?")[0]
        if method == "PATCH" and where.endswith("/persistentvolumeclaims/c"):
            self.patched.append(json.loads(body)["metadata"]["annotations"])
        if where.startswith("/api/v1/namespaces/default/persistentvolumeclaims/"):
            return 200, {}, self.claims[0]
        return super().__call__(method, path, body)

    def read(self, where, query):
        if where != CLAIMS or "watch=true" in query:
            return super().read(where, query)
        if self.answers and (code := self.answers.pop(0)) != 200:
            return code, {}, {"code": code, "message": "no"}
        options = dict(urllib.parse.parse_qsl(query))
        first = int(options.get("continue", 0))
        end = first + 1 if "limit" in options else len(self.claims)
        more = {"continue": str(end)} if end < len(self.claims) else {}
        return 200, {}, {"items": self.claims[first:end], "metadata": {"resourceVersion": "10", **more}}


def search(cluster):
    with serving(cluster) as (server, api):
        found = LeftOverClaims(api, OURS, lambda: None, lambda _: None).exist()
        return found, sum(path.partition("?")[0] == CLAIMS for _, path, _, _ in server.requests)


@pytest.mark.parametrize(
    ("claims", "want"),
    [
        pytest.param([], (False, 1), id="no claims"),
        pytest.param([claim("a", DYNAMIC), annotated()], (True, 2), id="ours, on the second page"),
        pytest.param([annotated(), claim("a", DYNAMIC)], (True, 1), id="no page is read in vain"),
        pytest.param([annotated(manager="kube-scheduler")], (False, 1), id="of another scheduler"),
        pytest.param([bound()], (False, 1), id="with a volume"),
        pytest.param([{"metadata": {"annotations": {SELECTED_NODE: 1}}}], (False, 1), id="unusable"),
    ],
)
def test_claims_of_our_manager_without_a_volume_are_found(claims, want):
    assert want == search(Claims(*claims))


def test_claims_are_listed_without_pages_if_the_token_expires():
    assert (True, 3) == search(Claims(claim("a", DYNAMIC), annotated(), answers=[200, 410]))


def test_cluster_without_claims_is_not_searched():
    cluster = Claims(annotated())
    cluster.read = lambda where, _: (200, {}, {"resources": []} if where == "/api/v1" else {"minor": "37"})
    assert (False, 0) == search(cluster)


def test_search_is_repeated_until_the_claims_are_listed(monkeypatch):
    monkeypatch.setattr(left_over_claims, "RETRY_SECONDS", 0.0)
    found, logged = threading.Event(), []
    with serving(Claims(annotated(), answers=[403, 403, 500])) as (_, api):
        LeftOverClaims(api, OURS, found.set, logged.append).start()
        assert found.wait(PATIENCE)

    assert ["ReplyError: HTTP 403: no", "ReplyError: HTTP 500: no"] == logged


def run(cluster, over, *modes):
    """Run a process until *over*, and return its requests."""
    seen = []

    def look():
        seen.append(until(lambda: process.answer("/readyz") == (200, "ok\n") and over(server)))
        cluster.over.set()
        stop()

    with serving(cluster) as (server, api):
        process = Process(api.host, modes=frozenset(modes), scheduler_name="muster", lease=None)
        process.on["connected"] = threading.Thread(target=look).start
        process.run()
        assert until(lambda: not watching())
    assert [True] == seen
    return [(method, *path.split("?")) for method, path, _, _ in server.requests]


def test_process_takes_selected_nodes_back_though_no_pod_needs_claims():
    cluster = Claims(annotated())
    requests = run(cluster, lambda _: cluster.patched, Mode.PLACE)
    assert [{SELECTED_NODE: None}] == cluster.patched
    watched = {path for _, path, *query in requests if query and "watch=true" in query[0]}
    assert {CLAIMS, VOLUMES} <= watched
    assert not any(path.endswith(("/storageclasses", "/csinodes")) for path in watched)


def test_process_lists_claims_once_and_does_not_watch_them_if_none_is_left_over():
    cluster = Claims(bound())
    requests = run(cluster, lambda server: any(path.startswith(CLAIMS) for _, path, _, _ in server.requests), Mode.PLACE)
    assert [("GET", CLAIMS, "limit=500")] == [each for each in requests if each[1] in (CLAIMS, VOLUMES)]
