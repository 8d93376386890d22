"""A live cluster, read over HTTP from a small server that answers lists as an API server does."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.snapshot import live_cluster
from muster.commands.snapshot.snapshot_document import keep_simulated_fields
from tests.muster.simulated import gang, node, pod

SCHEDULING, POLICY = "/apis/scheduling.k8s.io", "/apis/policy"
OBJECTS = [node("n1"), node("n2"), node("n3"), gang("g", 1), pod("p", group="g"), pod("q", on="n1")]


def bare(each):
    """As an item of a list: without what it is."""
    return {key: value for key, value in each.items() if key not in {"apiVersion", "kind"}}


class Api(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.requests = []
        self.tokens = []
        self.gone = 0
        self.broken = {}
        self.lists = {
            "/api/v1/nodes": ("v1", "NodeList", [bare(each) for each in OBJECTS[:3]]),
            "/api/v1/pods": ("v1", "PodList", [bare(each) for each in OBJECTS[4:]]),
            f"{SCHEDULING}/v1alpha3/podgroups": ("scheduling.k8s.io/v1alpha3", "PodGroupList", [bare(OBJECTS[3])]),
            f"{SCHEDULING}/v1/priorityclasses": ("scheduling.k8s.io/v1", "PriorityClassList", []),
        }
        self.answers = {
            SCHEDULING: {"versions": [{"version": "v1"}, {"version": "v1alpha2"}, {"version": "v1alpha3"}, {"version": "v9"}]},
            f"{SCHEDULING}/v1": {"resources": [{"name": "priorityclasses"}]},
            f"{SCHEDULING}/v1alpha3": {"resources": [{"name": "podgroups"}, {"name": "podgroups/status"}]},
            f"{SCHEDULING}/v1alpha2": {"resources": [{"name": "podgroups"}]},
        }

    def answer(self, path, query):
        if path in self.broken:
            return self.broken[path]
        if path in self.answers:
            return 200, self.answers[path]
        if path not in self.lists:
            return 404, {"message": "the server could not find the requested resource"}
        api_version, kind, items = self.lists[path]
        start = int(query.get("continue", 0))
        if start and self.gone:
            self.gone -= 1
            return 410, {"message": "the continue parameter is too old"}
        end = start + int(query.get("limit", len(items)))
        metadata = {"resourceVersion": "1"} | ({"continue": str(end)} if end < len(items) else {})
        return 200, {"apiVersion": api_version, "kind": kind, "metadata": metadata, "items": items[start:end]}


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        self.server.requests.append((url.path, query, self.headers.get("Authorization")))
        self.server.tokens.append(self.headers.get("X-Muster-Token"))
        code, content = self.server.answer(url.path, query)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def api(tmp_path, monkeypatch):
    server = Api()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": url}}, {"name": "away", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "me", "user": {"token": "a-token-of-mine"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("here", "away")],
        "current-context": "here",
    }
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def muster(*arguments):
    return CliRunner().invoke(cli.main, ["snapshot", "--kubeconfig", "config", *arguments])


def test_a_live_cluster_is_what_its_objects_are_in_files(api):
    answer = muster()
    assert (0, "", keep_simulated_fields(OBJECTS).document()) == (answer.exit_code, answer.stderr, answer.stdout_bytes)


def test_fit_reads_a_live_cluster_by_the_same_requests(api, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(pod("mine")), encoding="utf-8")
    muster()
    by_snapshot = api.requests.copy()
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--cluster", "--kubeconfig", "config"])

    assert (0, "✓ fits: Pod mine: 1 pod on n3") == (answer.exit_code, answer.stdout.splitlines()[0])
    assert by_snapshot == api.requests[len(by_snapshot) :]


def test_fit_says_why_a_live_cluster_cannot_be_read(api, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(pod("mine")), encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--cluster", "--kubeconfig", "config", "--context", "away"])
    assert (2, "", True) == (answer.exit_code, answer.stdout, "http://127.0.0.1:1" in answer.stderr)


def test_the_caller_is_known_by_the_kubeconfig(api):
    muster()
    assert {"Bearer a-token-of-mine"} == {each[2] for each in api.requests}


def test_lists_are_read_in_pages(api, monkeypatch):
    monkeypatch.setattr(live_cluster, "PAGE", 2)
    assert keep_simulated_fields(OBJECTS).document() == muster().stdout_bytes
    assert [{"limit": "2"}, {"limit": "2", "continue": "2"}] == [query for path, query, _ in api.requests if path == "/api/v1/nodes"]


def test_pages_that_have_expired_are_read_anew_in_one(api, monkeypatch):
    monkeypatch.setattr(live_cluster, "PAGE", 2)
    api.gone = 1
    assert keep_simulated_fields(OBJECTS).document() == muster().stdout_bytes
    assert {} in [query for path, query, _ in api.requests if path == "/api/v1/nodes"]


def test_a_kind_is_read_in_the_best_version_that_is_served_and_understood(api):
    muster()
    paths = [path for path, _, _ in api.requests]
    assert f"{SCHEDULING}/v1alpha3/podgroups" in paths
    assert f"{SCHEDULING}/v1alpha2/podgroups" not in paths
    assert f"{SCHEDULING}/v9" not in paths


def test_a_kind_that_must_not_be_listed_is_reported_and_the_others_are_listed(api):
    api.broken[f"{SCHEDULING}/v1alpha3/podgroups"] = 403, {"message": "podgroups is forbidden"}
    answer = muster()

    assert (2, 1) == (answer.exit_code, answer.stderr.count("\n"))
    assert "podgroups: cannot be listed: HTTP 403: podgroups is forbidden" in answer.stderr
    assert keep_simulated_fields([each for each in OBJECTS if each["kind"] != "PodGroup"]).document() == answer.stdout_bytes


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        pytest.param({"/api/v1/pods": (403, {"message": "pods is forbidden"})}, "pods cannot be listed: HTTP 403", id="pods are forbidden"),
        pytest.param({"/api/v1/nodes": (500, {"message": "oh"})}, "nodes cannot be listed: HTTP 500: oh", id="an error"),
        pytest.param({"/api/v1/nodes": (200, b"<html>")}, "cannot be read", id="no JSON"),
        pytest.param({"/api/v1/nodes": (200, b"[]")}, "cannot be read", id="no list"),
        pytest.param({SCHEDULING: (200, [])}, "the answer to /apis/scheduling.k8s.io is not a JSON object", id="no discovery"),
    ],
)
def test_a_cluster_that_cannot_be_read_is_one_line_and_exit_2(api, broken, told):
    api.broken |= broken
    answer = muster()

    assert (2, "", 1) == (answer.exit_code, answer.stdout, answer.stderr.count("\n"))
    assert told in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--context", "away"], "http://127.0.0.1:1 cannot be read", id="nobody answers"),
        pytest.param(["--context", "nowhere"], "there is no cluster to read", id="no such context"),
        pytest.param(["--kubeconfig", "nothing"], "there is no cluster to read: there is no file nothing; give a PATH", id="no kubeconfig"),
        pytest.param(["--kubeconfig", "."], "Invalid value for '--kubeconfig': File '.' is a directory", id="a kubeconfig that is none"),
    ],
)
def test_no_cluster_is_one_line_and_exit_2(api, arguments, told):
    answer = muster(*arguments)
    assert (2, "", 1) == (answer.exit_code, answer.stdout, answer.stderr.count("\n"))
    assert told in answer.stderr


def test_a_kubeconfig_of_the_environment_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    answer = CliRunner().invoke(cli.main, ["snapshot"])

    assert (2, "", 1) == (answer.exit_code, answer.stdout, answer.stderr.count("\n"))
    assert f"there is no cluster to read: there is no file {tmp_path / 'nothing'}; " in answer.stderr


def serve_both(api):
    """Let the server have the PodGroup as a custom resource too, of which one has a name of its own."""
    custom = "/apis/scheduling.muster.dev"
    own = {**bare(OBJECTS[3]), "metadata": {"name": "own", "namespace": "default"}}
    api.lists[f"{custom}/v1beta1/podgroups"] = ("scheduling.muster.dev/v1beta1", "PodGroupList", [bare(OBJECTS[3]), own])
    api.answers |= {custom: {"versions": [{"version": "v1beta1"}]}, f"{custom}/v1beta1": {"resources": [{"name": "podgroups"}]}}


def test_groups_of_both_api_groups_are_read(api):
    serve_both(api)
    snapshot = muster().stdout
    groups = [each for each in json.loads(snapshot)["items"] if each["kind"] == "PodGroup"]

    assert {(each["apiVersion"], each["metadata"]["name"]) for each in groups} == {
        ("scheduling.k8s.io/v1alpha3", OBJECTS[3]["metadata"]["name"]),
        ("scheduling.muster.dev/v1beta1", OBJECTS[3]["metadata"]["name"]),
        ("scheduling.muster.dev/v1beta1", "own"),
    }
    told = CliRunner().invoke(cli.main, ["simulate", "-"], input=snapshot)
    assert "scheduling.muster.dev" in told.output


def test_of_two_api_groups_one_can_be_forbidden(api):
    serve_both(api)
    api.broken["/apis/scheduling.muster.dev/v1beta1/podgroups"] = 403, {"message": "podgroups is forbidden"}
    answer = muster()

    assert answer.exit_code == 2
    assert "podgroups.scheduling.muster.dev" in answer.stderr


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        pytest.param("/api/v1/nodes", {"metadata": "x", "items": []}, 2, id="metadata that is no object"),
        pytest.param(SCHEDULING, {"preferredVersion": "v1", "versions": ["v1", {"version": "v1"}]}, 0, id="a version that is no object"),
        pytest.param(f"{SCHEDULING}/v1", {"resources": ["priorityclasses"]}, 0, id="a resource that is no object"),
        pytest.param(f"{SCHEDULING}/v1", {"resources": {"name": "priorityclasses"}}, 0, id="resources that are no list"),
    ],
)
def test_an_answer_of_another_form_is_no_traceback(api, path, content, status):
    api.broken[path] = 200, content
    answer = muster()
    assert status == answer.exit_code, answer.stderr
    assert bool(status) == ("left out" in answer.stderr)
