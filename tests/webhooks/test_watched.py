"""Lookup from an API server over HTTP: lists, watches, expired versions and broken connections."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from apiserver import watch
from apiserver.connection import Connection
from apiserver.credentials import Fixed, Identity, bearer
from kubeapi.versions.served_versions import resource
from tests.webhooks.manifests import group
from tests.webhooks.running import until
from validators.options import OptionError
from webhooks.lookup import watched
from webhooks.lookup.object_cache import Cache, CachedLookup
from webhooks.settings import Settings

PODGROUPS = "/apis/scheduling.k8s.io/v1beta1/podgroups"
END, BREAK = object(), object()


class FakeApi(ThreadingHTTPServer):
    """API server that serves ``lists``; each watch takes events from ``events`` until END or BREAK."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FakeAnswers)
        self.lists = {PODGROUPS: [group("one")]}
        self.served = {"v1beta1": ["podgroups", "workloads"], "v1": ["priorityclasses"]}
        self.events = queue.Queue()
        self.requests = []
        self.failing = 0
        self.pages = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class FakeAnswers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        self.server.requests.append((url.path, query, self.headers.get("Authorization")))
        if self.server.failing:
            self.server.failing -= 1
            return self.reply(503, {"message": "not yet"})
        if url.path.startswith("/apis/") and url.path.count("/") == 3:
            group, version = url.path.split("/")[2:]
            served = self.server.served.get(version) if group.endswith("k8s.io") else None
            if served is None:
                return self.reply(404, {"message": "no such version"})
            return self.reply(200, {"resources": [{"name": name} for name in served]})
        if url.path not in self.server.lists:
            return self.reply(403, {"message": f"may not read {url.path}"})
        if query.get("watch"):
            self.watch()
            return None
        return self.list(self.server.lists[url.path], query)

    def list(self, items, query):
        start = int(query.get("continue", 0))
        end = start + self.server.pages if self.server.pages else len(items)
        metadata = {"resourceVersion": "10"} | ({"continue": str(end)} if end < len(items) else {})
        return self.reply(200, {"items": items[start:end], "metadata": metadata})

    def watch(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (event := self.server.events.get()) not in (END, BREAK):
            line = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        if event is END:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def reply(self, code, content):
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def api():
    server = FakeApi()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    for _ in range(20):
        server.events.put(END)
    server.shutdown()
    thread.join()
    server.server_close()


@contextlib.contextmanager
def watching(api, kind="PodGroup", stale=60.0):
    connection = Connection(api.url, credentials=Fixed(Identity((bearer("token-of-ours"),))))
    cache = Cache(kind, stale)
    watcher = watched.watcher(watched.Api(connection), resource(kind), cache, stale)
    watcher.start()
    try:
        yield CachedLookup([cache]), cache
    finally:
        watcher.stop()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(watch, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(watch, "LONGEST_WAIT", 0.05)
    monkeypatch.setattr(watch, "UNSERVED_WAIT", 0.05)


def names(lookup, kind="PodGroup"):
    result = lookup.list_kind(kind)
    return None if result is None else [each.metadata.name for each in result]


def test_what_is_listed_is_known(api):
    with watching(api) as (lookup, _):
        assert until(lambda: names(lookup) == ["one"])
        assert "one" == lookup.get("PodGroup", "a", "one").metadata.name
        assert None is lookup.get("PodGroup", "b", "one")
        assert None is lookup.list_kind("Node")
    assert {"Bearer token-of-ours"} == {authorization for _, _, authorization in api.requests}


def test_a_list_in_pages_is_whole(api):
    api.pages = 2
    api.lists[PODGROUPS] = [group(name) for name in "edcba"]
    with watching(api) as (lookup, _):
        assert until(lambda: names(lookup) == list("abcde"))


def test_events_are_followed(api):
    with watching(api) as (lookup, _):
        assert until(lambda: names(lookup) == ["one"])
        api.events.put({"type": "ADDED", "object": group("two", "11", parent="top")})
        assert until(lambda: [each.metadata.name for each in lookup.children("PodGroup", "a", "top")] == ["two"])
        api.events.put({"type": "MODIFIED", "object": group("two", "12", parent="other")})
        assert until(lambda: [each.metadata.name for each in lookup.children("PodGroup", "a", "other")] == ["two"])
        assert [] == list(lookup.children("PodGroup", "a", "top"))
        api.events.put({"type": "DELETED", "object": group("one", "13")})
        assert until(lambda: names(lookup) == ["two"])


def test_a_line_may_come_in_pieces(api):
    line = json.dumps({"type": "ADDED", "object": group("two", "11")}).encode() + b"\n"
    with watching(api) as (lookup, _):
        assert until(lambda: names(lookup) == ["one"])
        api.events.put(line[:30])
        api.events.put(line[30:])
        assert until(lambda: names(lookup) == ["one", "two"])


def watches(api):
    return [query for _, query, _ in api.requests if query.get("watch")]


def test_a_watch_continues_where_it_ended(api):
    """A bookmark advances the resourceVersion; neither a clean end nor a broken connection causes a new list."""
    with watching(api) as (lookup, _):
        assert until(lambda: len(watches(api)) == 1)
        api.events.put({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "20"}}})
        api.events.put(END)
        assert until(lambda: len(watches(api)) == 2)
        api.events.put({"type": "ADDED", "object": group("two", "21")})
        api.events.put(BREAK)
        assert until(lambda: len(watches(api)) == 3)
        assert ["one", "two"] == names(lookup)

    assert ["10", "20", "21"] == [query["resourceVersion"] for query in watches(api)]
    assert 1 == len([query for _, query, _ in api.requests if "limit" in query])


def test_too_old_a_place_leads_to_a_new_list(api):
    with watching(api) as (lookup, _):
        assert until(lambda: names(lookup) == ["one"])
        api.lists[PODGROUPS] = [group("new")]
        api.events.put({"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}})

        assert until(lambda: names(lookup) == ["new"])


def test_nothing_is_known_before_the_list_and_it_is_tried_again(api):
    api.failing = 3
    with watching(api) as (lookup, cache):
        assert until(lambda: "HTTP 503: not yet" in cache.error or cache.listed)
        assert until(lambda: names(lookup) == ["one"])
        assert "" == cache.error


def test_what_must_not_be_read_is_unknown(api):
    with watching(api, "Node") as (lookup, cache):
        assert until(lambda: cache.error == "HTTP 403: may not read /api/v1/nodes")
        assert None is lookup.list_kind("Node")


def test_a_kind_that_is_not_served_is_unknown_until_it_is(api):
    with watching(api, "CompositePodGroup") as (lookup, cache):
        assert until(lambda: not cache.served)
        assert None is lookup.list_kind("CompositePodGroup")
        api.lists["/apis/scheduling.k8s.io/v1alpha3/compositepodgroups"] = [group("top")]
        api.served["v1alpha3"] = ["compositepodgroups"]
        assert until(lambda: names(lookup, "CompositePodGroup") == ["top"])


def test_an_object_of_wrong_types_is_left_out(api):
    api.lists[PODGROUPS] = [{"metadata": {"name": 7}}, group("one")]
    with watching(api) as (lookup, _):
        assert until(lambda: names(lookup) == ["one"])


def settings(**variables):
    return Settings.from_environ({"MUSTER_CLUSTER": "true", **variables})


def test_no_way_to_the_api_server_is_a_mistake_reported_in_one_line(tmp_path):
    bad = tmp_path / "config"
    bad.write_text("just text")
    for kubeconfig in ("/nowhere", str(bad)):
        with pytest.raises(OptionError) as raised:
            watched.connect(settings(MUSTER_KUBECONFIG=kubeconfig))
        assert kubeconfig in str(raised.value)
        assert 1 == len(str(raised.value).splitlines())


def test_the_kubeconfig_is_found_as_by_the_other_commands(tmp_path, monkeypatch):
    kubeconfig = tmp_path / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}"}} for name in ("a", "b")],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in ("a", "b")],
        "current-context": "a",
    }
    kubeconfig.write_text(json.dumps(content))
    hosts = []
    monkeypatch.setattr(watched, "Cluster", lambda connection, _: hosts.append(connection.host))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))

    watched.connect(settings())
    watched.connect(settings(MUSTER_CONTEXT="b"))

    assert ["https://a", "https://b"] == hosts


def test_readiness_waits_for_the_first_list_of_each_served_kind(api, tmp_path):
    kubeconfig = tmp_path / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": api.url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    kubeconfig.write_text(json.dumps(content))
    api.served["v1"] = []
    api.lists["/apis/scheduling.k8s.io/v1beta1/workloads"] = []
    source = watched.connect(settings(MUSTER_KUBECONFIG=str(kubeconfig)))
    lookup = source.start()
    try:
        assert until(lambda: len(source.unsynced()) == 1 and "may not read" in source.unsynced()[0])
        assert source.unsynced()[0].startswith("Node objects are not listed yet")
        api.lists["/api/v1/nodes"] = [{"metadata": {"name": "n"}}]
        assert until(lambda: source.unsynced() == [])
        assert [] == list(lookup.list_kind("Workload"))
        assert None is lookup.list_kind("PriorityClass")
    finally:
        for each in source.watchers:
            each.stop()
