"""``muster certs rotate`` against a scripted API server, and replicas observed by real handshakes."""

import base64
import contextlib
import datetime as dt
import json
import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from apiserver.api import ReplyError
from certs import forwarded_replicas, replicas, webhook_configurations
from certs.rotation_steps import RotationError, State
from certs.webhook_configurations import Cluster, Place
from muster import cli
from tests.apiserver.fake import serving
from tests.certs.installation import new_secret

PLACE = Place("ns", "tls", "svc", ("muster", "muster-pods"))
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
SECRET = "/api/v1/namespaces/ns/secrets/tls"
MISSING = 404, {}, {"kind": "Status", "message": "not found", "reason": "NotFound", "code": 404}


def encoded(value):
    return base64.b64encode(value).decode()


def secret_object(data, **annotations):
    metadata = {"name": "tls", "resourceVersion": "7", "annotations": annotations}
    return {"metadata": metadata, "data": {name: encoded(value) for name, value in data.items()}}


def configuration(*bundles):
    webhooks = [{"name": f"{number}.x", "clientConfig": {"caBundle": encoded(each)} if each else {}} for number, each in enumerate(bundles)]
    return {"metadata": {"name": "muster", "resourceVersion": "9"}, "webhooks": webhooks}


def script(objects):
    def answer(_method, path, _body):
        content = objects.get(path.partition("?")[0])
        return MISSING if content is None else (200, {}, content)

    return answer


@contextlib.contextmanager
def tls_server(folder, pair):
    """Serve the pair of a Secret's data on a loopback port; yield HOST:PORT."""
    (folder / "tls.crt").write_bytes(pair["tls.crt"])
    (folder / "tls.key").write_bytes(pair["tls.key"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), connection, context.wrap_socket(connection, server_side=True):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_replica_is_observed_by_a_handshake(tmp_path):
    pair, other = new_secret(dt.datetime.now(dt.UTC)), new_secret()
    with tls_server(tmp_path, pair) as address:
        assert replicas.probe(address, pair["tls.crt"], pair["ca.crt"]) == ""
        assert replicas.probe(address, other["tls.crt"], pair["ca.crt"]) == "serves another certificate"
        assert "certificate verify failed" in replicas.probe(address, pair["tls.crt"], other["ca.crt"])
    assert replicas.probe(address, pair["tls.crt"], pair["ca.crt"])


def test_a_pod_whose_port_is_not_forwarded_is_reached_directly(tmp_path, monkeypatch):
    """Commands may lack the permission, for example in a pod of the cluster; if nothing helps, both reasons are given."""
    pair, asked = new_secret(dt.datetime.now(dt.UTC)), []

    def refuse(_, *pod):
        asked.append(pod)
        raise ReplyError(403, "pods is forbidden")

    monkeypatch.setattr(forwarded_replicas, "forwarded", refuse)
    cluster = Cluster(None, PLACE)
    connect = forwarded_replicas.connect_through(None, cluster)
    with tls_server(tmp_path, pair) as address:
        assert replicas.probe(address, pair["tls.crt"], pair["ca.crt"], connect) == ""
        assert asked == []
        cluster.pods = {address: ("ns", "a")}
        assert replicas.probe(address, pair["tls.crt"], pair["ca.crt"], connect) == ""
        assert asked == [("ns", "a", int(address.rpartition(":")[2]), replicas.HANDSHAKE_SECONDS)]
    reason = replicas.probe(address, pair["tls.crt"], pair["ca.crt"], connect)
    assert reason.endswith("refused; its port is not forwarded: HTTP 403: pods is forbidden")


def test_the_clock_of_this_machine_does_not_judge_a_leaf(tmp_path):
    expired = new_secret(dt.datetime.now(dt.UTC) - dt.timedelta(days=400))
    with tls_server(tmp_path, expired) as address:
        assert replicas.probe(address, expired["tls.crt"], expired["ca.crt"]) == ""


def test_a_server_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(replicas, "HANDSHAKE_SECONDS", 0.05)
    pair = new_secret()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "timed out" in replicas.probe(f"127.0.0.1:{silent.getsockname()[1]}", pair["tls.crt"], pair["ca.crt"])


def test_a_replica_counts_after_serving_for_the_settling_time(monkeypatch):
    pair, now, answers = new_secret(), [0.0], {"a:1": "", "b:1": ""}
    monkeypatch.setattr(replicas, "probe", lambda address, *_: answers[address])
    observed, results = replicas.Replicas(lambda: tuple(answers), 10.0, lambda: now[0]), []
    for moment, b in ((0, ""), (5, "serves another certificate"), (10, ""), (19, ""), (20, "")):
        now[0], answers["b:1"] = moment, b
        results.append(observed.all_serve(State(pair, ())))

    assert [False, False, False, False, True] == results


def test_with_another_leaf_the_settling_time_begins_anew(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(replicas, "probe", lambda *_: "")
    observed, results = replicas.Replicas(lambda: ("a:1",), 10.0, lambda: now[0]), []
    first, second = (State(new_secret(), ()) for _ in range(2))
    for moment, state in ((0, first), (10, first), (11, second), (20, second), (21, second)):
        now[0] = moment
        results.append(observed.all_serve(state))

    assert [False, True, False, False, True] == results


def test_reading_and_writing(monkeypatch):
    pair = new_secret()
    objects = {
        SECRET: secret_object(pair),
        f"{ADMISSION}/validatingwebhookconfigurations/muster": configuration(pair["ca.crt"], b""),
        f"{ADMISSION}/mutatingwebhookconfigurations/muster": configuration(pair["ca.crt"]),
    }
    moment = dt.datetime(2026, 5, 1, 12, 0, 1, tzinfo=dt.UTC)
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: "Fri, 01 May 2026 12:00:01 GMT")
    with serving(script(objects)) as (server, api):
        cluster = Cluster(api, PLACE)
        reading = cluster.read()
        server.requests.clear()
        cluster.write_secret(reading, {"ca.crt": b"new", "next-tls.crt": None})
        cluster.write_bundles(reading, lambda old: old or b"added")

    assert State(pair, (pair["ca.crt"], b"", pair["ca.crt"])) == reading.state
    assert moment == reading.now
    (method, path, headers, body), (_, other, kinds, operations) = server.requests
    assert ("PATCH", "application/merge-patch+json") == (method, headers["Content-Type"])
    assert path.startswith(SECRET)
    assert {"metadata": {"resourceVersion": "7"}, "data": {"ca.crt": encoded(b"new"), "next-tls.crt": None}} == json.loads(body)
    assert other.startswith(f"{ADMISSION}/validatingwebhookconfigurations/muster")
    assert "application/json-patch+json" == kinds["Content-Type"]
    assert [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "9"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": encoded(b"added")},
    ] == json.loads(operations)


def test_of_a_chain_the_first_certificate_is_compared():
    first, second = (f"-----BEGIN CERTIFICATE-----\n{each}\n-----END CERTIFICATE-----" for each in ("AAAA", "BBBB"))

    assert first == replicas._first(f"leaf:\n{first}\n{second}\n".encode())


@pytest.mark.parametrize(
    ("date", "want"),
    [
        pytest.param("Tue, 01 Jan 2030 00:00:00 GMT", dt.datetime(2030, 1, 1, tzinfo=dt.UTC), id="a date"),
        pytest.param("Tue, 01 Jan 2030 00:00:00 -0000", dt.datetime(2030, 1, 1, tzinfo=dt.UTC), id="without a zone"),
        pytest.param("soon", None, id="no date"),
        pytest.param(None, None, id="no header"),
    ],
)
def test_the_time_of_a_reply_is_that_of_its_header(date, want):
    assert want == webhook_configurations._moment(date)


def test_a_replica_that_is_not_ready_counts_and_one_that_terminates_does_not(monkeypatch):
    """One that is not ready while the others are observed can become ready after the old CA is removed."""
    pair = new_secret()
    endpoints = [
        {
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "name": "a"},
        },
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False, "serving": False, "terminating": False}},
        {"addresses": ["10.0.0.4"], "conditions": {"ready": False, "serving": True, "terminating": True}},
        {"addresses": ["fd00::3"]},
    ]
    stale = {"10.0.0.2:9443"}
    monkeypatch.setattr(replicas, "probe", lambda address, *_: "serves another certificate" if address in stale else "")
    path = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
    items = [{"ports": [{"port": 9443}], "endpoints": endpoints}, {"ports": None, "endpoints": None}]
    with serving(script({path: {"items": items}})) as (server, api):
        cluster = Cluster(api, PLACE)
        observed = replicas.Replicas(cluster.replicas, 0.0)
        assert ("10.0.0.1:9443", "10.0.0.2:9443", "[fd00::3]:9443") == cluster.replicas()
        assert {"10.0.0.1:9443": (PLACE.namespace, "a")} == cluster.pods
        assert not observed.all_serve(State(pair, ()))
        assert ("10.0.0.2:9443: serves another certificate", "delete the pod of a replica that does not answer") == observed.reasons
        stale.clear()
        assert observed.all_serve(State(pair, ()))
    assert "labelSelector=kubernetes.io%2Fservice-name%3Dsvc" in server.requests[0][1]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param({}, "there is no Secret ns/tls: create it with `muster certs issue`", id="no Secret"),
        pytest.param({SECRET: secret_object({})}, "there is no webhook configuration muster or muster-pods", id="no configuration"),
        pytest.param(
            {SECRET: secret_object({}, **{"cert-manager.io/certificate-name": "x"})}, "cert-manager manages ns/tls", id="cert-manager"
        ),
    ],
)
def test_what_cannot_be_rotated_is_one_clear_line(objects, want):
    with serving(script(objects)) as (_, api), pytest.raises(RotationError, match=want):
        Cluster(api, PLACE).read()


@pytest.mark.parametrize("name", ["muster-join", "muster-pods"])
def test_only_a_configuration_that_older_roles_do_not_grant_is_left_out(name):
    """Any other that was left out would keep its old CA, and its webhooks would fail after the rotation."""
    pair = new_secret()
    objects = script({SECRET: secret_object(pair), f"{ADMISSION}/validatingwebhookconfigurations/muster": configuration(pair["ca.crt"])})

    def answer(method, path, body):
        forbidden = path.partition("?")[0].endswith(f"/{name}")
        return (403, {}, {"kind": "Status", "message": "forbidden", "code": 403}) if forbidden else objects(method, path, body)

    with serving(answer) as (_, api):
        cluster = Cluster(api, Place("ns", "tls", "svc", ("muster", "muster-pods", "muster-join")))
        if name == "muster-join":
            assert State(pair, (pair["ca.crt"],)) == cluster.read().state
        else:
            with pytest.raises(ReplyError, match="forbidden"):
                cluster.read()


def test_errors_of_the_api_server_are_raised():
    with serving(lambda *_: (403, {}, {"message": "secrets is forbidden", "code": 403})) as (_, api), pytest.raises(ReplyError):
        Cluster(api, PLACE).read()


@pytest.fixture
def muster(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["muster"])

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            cli.main(["certs", "rotate", *map(str, args)])
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


def kubeconfig(folder, host):
    file = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": host}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def live(pair):
    return {
        "/api/v1/namespaces/muster-system/secrets/muster-webhook-tls": secret_object(pair),
        f"{ADMISSION}/validatingwebhookconfigurations/muster": configuration(pair["ca.crt"]),
    }


@pytest.mark.parametrize(
    ("age", "options", "want"),
    [
        pytest.param(0, ["--dry-run"], (0, "done: the certificate is not due\n"), id="not due"),
        pytest.param(0, [], (0, "done: the certificate is not due\n"), id="nothing to write"),
        pytest.param(0, ["--dry-run", "--force"], (1, "stage: a new certificate is requested\n"), id="forced"),
        pytest.param(300, ["--dry-run"], (1, "stage: tls.crt: in the last third of its life"), id="due"),
    ],
)
def test_a_preview_writes_nothing(tmp_path, muster, age, options, want):
    pair = new_secret(dt.datetime.now(dt.UTC) - dt.timedelta(days=age))
    with serving(script(live(pair))) as (server, api):
        code, out, err = muster("--kubeconfig", kubeconfig(tmp_path, api.host), *options)

    assert (want[0], "") == (code, err)
    assert out.startswith(want[1])
    assert {"GET"} == {method for method, *_ in server.requests}


def test_json(tmp_path, muster):
    pair = new_secret(dt.datetime.now(dt.UTC) - dt.timedelta(days=400))
    with serving(script(live(pair))) as (_, api):
        code, out, _ = muster("--kubeconfig", kubeconfig(tmp_path, api.host), "--dry-run", "--format", "json")

    answer = json.loads(out)
    assert (1, 1, True, ["stage"]) == (code, answer["version"], answer["due"], [each["step"] for each in answer["steps"]])
    assert "tls.crt: expired at" in answer["steps"][0]["text"]


def test_no_key_is_printed(tmp_path, muster):
    pair = new_secret(dt.datetime.now(dt.UTC) - dt.timedelta(days=400))
    with serving(script(live(pair))) as (_, api):
        _, out, err = muster("--kubeconfig", kubeconfig(tmp_path, api.host), "--dry-run")

    assert "PRIVATE" not in out + err


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param(["--kubeconfig", "nowhere"], "there is no file nowhere; give --kubeconfig or --context", id="no kubeconfig"),
        pytest.param(["--replica", "x"], "--replica must be HOST:PORT: 'x'", id="replica"),
        pytest.param(["--namespace", "a/b"], "--namespace 'a/b': ", id="namespace"),
        pytest.param(["--configuration", "A"], "--configuration 'A': ", id="configuration"),
        pytest.param(["--name", "a_b"], "must be a DNS name", id="name"),
        pytest.param(["--days", "0"], "--days", id="days"),
    ],
)
def test_a_mistake_is_one_line(muster, options, want):
    code, out, err = muster(*options)

    assert (2, "") == (code, out)
    assert want in err
    assert "Traceback" not in err


def test_a_cluster_that_refuses_is_one_line(tmp_path, muster):
    with serving(lambda *_: (403, {}, {"message": "secrets is forbidden", "code": 403})) as (_, api):
        code, _, err = muster("--kubeconfig", kubeconfig(tmp_path, api.host))

    assert 2 == code
    assert "the cluster cannot be read or written: HTTP 403: secrets is forbidden" in err
