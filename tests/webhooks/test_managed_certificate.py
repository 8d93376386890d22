"""`muster serve --certificates managed` against a scripted API server; tests/cluster has the real one."""

import base64
import contextlib
import datetime as dt
import email.utils
import json
import os
import signal
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import yaml

from certs import inspection, issue
from certs.controller import FAILURES
from certs.rotation_steps import Step
from tests.apiserver.fake import serving
from tests.apiserver.rights import Right, right_of, target_of
from tests.certs.installation import new_secret
from tests.certs.test_rotation_cluster import kubeconfig
from tests.cluster.process import free_port
from tests.deploy.watching import at_once, watching
from tests.webhooks.running import running, until

SECRETS = "/api/v1/namespaces/muster-system/secrets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/muster"
ROLES = Path(__file__).parents[2] / "deploy/components/managed-certificate/rbac.yaml"
NAMES = ("muster", "muster-pods", "muster-join")
VARIABLES = {
    "MUSTER_CERTIFICATE_POLL_SECONDS": "1",
    "MUSTER_CERTIFICATE_SETTLE_SECONDS": "0",
    "MUSTER_CERTIFICATE_NAMES": "localhost,127.0.0.1",
    # Nothing listens there, so that no replica is observed to serve the new leaf.
    "MUSTER_CERTIFICATE_REPLICAS": "127.0.0.1:1",
}


CONFLICT = 409, {}, {"kind": "Status", "code": 409, "message": "the object has been modified", "reason": "Conflict"}


class Objects:
    """API server with the objects of one installation, by path; patches are merged, JSON patches of caBundles applied.

    *rival* is called once, before the first write to a Secret, with its path.
    """

    def __init__(self, *, rival=None, **objects):
        self.by_path, self.version, self.lock, self.broken = objects, 1, threading.Lock(), False
        self.requests, self.rival = [], rival

    def answer(self, method, url, body):
        path = url.partition("?")[0]
        with self.lock:
            self.requests.append((method, url))
            if self.broken:
                return 503, {}, {"kind": "Status", "code": 503, "message": "unavailable"}
            if method == "GET":
                there = self.by_path.get(path)
                return (200, {}, there) if there else (404, {}, {"kind": "Status", "code": 404, "message": "not found"})
            content = json.loads(body)
            path = f"{path}/{content['metadata']['name']}" if method == "POST" else path
            if self.rival and path.startswith(SECRETS):
                self.rival(self.by_path, path)
                self.rival = None
            if self._is_outdated(self.by_path.get(path), content):
                return CONFLICT
            self.version += 1
            if method == "POST":
                self.by_path[path] = content
            else:
                self._patch(self.by_path[path], content)
            self.by_path[path]["metadata"]["resourceVersion"] = str(self.version)
            return 200, {}, self.by_path[path]

    @staticmethod
    def _is_outdated(there, body):
        """Return whether a write is not of the version that exists: it creates an object that exists, or has another resourceVersion."""
        if isinstance(body, list):
            (version,) = (each["value"] for each in body if each["path"] == "/metadata/resourceVersion")
        else:
            version = body["metadata"].get("resourceVersion")
        return version != (there["metadata"]["resourceVersion"] if there else None)

    def _patch(self, there, body):
        if isinstance(body, list):
            for each in body:
                if each["path"].startswith("/webhooks/"):
                    there["webhooks"][int(each["path"].split("/")[2])]["clientConfig"]["caBundle"] = each["value"]
            return
        for name in ("spec", "data"):
            merged = {**there.get(name, {}), **body.get(name, {})}
            there[name] = {key: value for key, value in merged.items() if value is not None}

    def secret(self):
        data = self.by_path[f"{SECRETS}/muster-webhook-tls"]["data"]
        return {name: base64.b64decode(value) for name, value in data.items()}


def configuration():
    return {"metadata": {"name": "muster", "resourceVersion": "1"}, "webhooks": [{"name": "a", "clientConfig": {}}]}


def secret_object(data):
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    return {"metadata": {"name": "muster-webhook-tls", "resourceVersion": "1"}, "data": encoded}


def held_lease():
    """Return the Lease of another replica."""
    return {"metadata": {"name": "muster-webhook", "resourceVersion": "1"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 999}}


@contextlib.contextmanager
def managed(tmp_path, objects, *options, **variables):
    with (
        serving(objects.answer) as (_, api),
        running(
            tmp_path / "server",
            "--certificates",
            "managed",
            "--kubeconfig",
            str(kubeconfig(tmp_path, api.host)),
            *options,
            **{**VARIABLES, **variables},
        ) as server,
    ):
        yield server


def reasons(server):
    return json.loads(server.probe("/readyz")[1]).get("reasons", [])


def counted(server, name, **labels):
    """Return the value of one counter or gauge; None if it has no sample with these labels."""
    (label,) = (f'{key}="{value}"' for key, value in labels.items())
    lines = server.probe("/metrics")[1].decode().splitlines()
    return next((float(each.rpartition(" ")[2]) for each in lines if each.startswith(f"{name}{{{label}}} ")), None)


def failures(server):
    return {line["failure"]: line["reason"] for line in server.lines if "failure" in line}


@pytest.mark.parametrize("library", ["uvicorn", "gunicorn"])
def test_the_first_start(tmp_path, library):
    objects = Objects(**{VALIDATING: configuration()})
    with managed(tmp_path, objects, MUSTER_SERVER=library) as server:
        assert until(lambda: server.probe("/readyz")[0] == 200), server.lines
        secret = objects.secret()
        server.authority = type("Authority", (), {"certificate": secret["ca.crt"]})
        assert 200 == server.post()[0]
        steps = [line["step"] for line in server.lines if "step" in line]

        assert ["stage", "trust", "switch"] == steps[:3]
        assert 1.0 == server.figure("muster_certificate_leader")
        assert 1.0 <= server.figure("muster_certificate_failures_total")
    assert "PRIVATE" not in json.dumps(server.lines)


def test_until_the_cluster_answers_it_is_not_ready_but_alive(tmp_path):
    objects = Objects(**{VALIDATING: configuration()})
    objects.broken = True
    with managed(tmp_path, objects, "--workers", "1") as server:
        assert until(lambda: "request" in failures(server))
        assert (200, 503) == (server.probe("/healthz")[0], server.probe("/readyz")[0])
        assert ["the Secret with the serving certificate has not been read yet"] == reasons(server)
        assert until(lambda: server.figure("muster_certificate_failures_total") >= 2)
        assert until(lambda: server.figure("muster_certificate_failing") == 1.0)
        assert 1 == sum(line.get("failure") == "request" for line in server.lines)
        # Prometheus does not see the first increase of a counter that begins with 1.
        samples = server.probe("/metrics")[1].decode().splitlines()
        assert not {f'muster_certificate_rotation_steps_total{{step="{step}"}} 0.0' for step in Step} - {*samples}
        others = {*FAILURES} - {"request"}
        assert not {f'muster_certificate_failures_total{{reason="{reason}"}} 0.0' for reason in others} - {*samples}

        objects.broken = False
        assert until(lambda: server.probe("/readyz")[0] == 200)
        assert until(lambda: server.figure("muster_certificate_failing") == 0.0)
        objects.broken = True
        assert until(lambda: sum(line.get("failure") == "request" for line in server.lines) == 2)
        assert 200 == server.probe("/readyz")[0]


def test_an_alert_reports_that_the_cluster_does_not_answer(tmp_path):
    """A long period of reading makes few failures; the alert depends on the last attempt, not on their number."""
    objects, probes = Objects(**{VALIDATING: configuration()}), free_port()
    objects.broken = True
    (rule,) = at_once("MusterCertificateNotRenewed")
    rule = {**rule, "expr": rule["expr"].replace("[10m]", "[2s]")}
    period = {"MUSTER_CERTIFICATE_POLL_SECONDS": "60"}
    with watching(tmp_path, [rule], f"127.0.0.1:{probes}") as firing:
        where = (f"--probe-bind=127.0.0.1:{probes}", "--workers", "1")
        with managed(tmp_path, objects, *where, **period):
            assert until(lambda: firing() == {"MusterCertificateNotRenewed"})
        objects.broken = False
        with managed(tmp_path, objects, *where, **period) as server:
            assert until(lambda: server.probe("/readyz")[0] == 200)
            assert until(lambda: firing() == set())


def aged(days_ago, **lives):
    return new_secret(dt.datetime.now(dt.UTC) - dt.timedelta(days=days_ago), **lives)


@pytest.mark.parametrize(
    ("secret", "messages", "failure"),
    [
        pytest.param(aged(40, ca_days=30, leaf_days=30), ("tls.crt: expired at", "ca.crt: expired at"), None, id="expired CA at the start"),
        pytest.param(aged(900, ca_days=1000, leaf_days=3000), ("ca.crt: in the last third of its life",), None, id="the CA expires first"),
        pytest.param({**aged(0), "tls.key": b""}, ("the Secret lacks tls.key",), "the Secret lacks tls.key", id="half written"),
    ],
)
def test_what_is_repaired_is_logged_and_counted(tmp_path, secret, messages, failure):
    objects = Objects(**{VALIDATING: configuration(), f"{SECRETS}/muster-webhook-tls": secret_object(secret)})
    with managed(tmp_path, objects, "--workers", "1") as server:
        assert until(lambda: counted(server, "muster_certificate_rotation_steps_total", step="switch") == 1.0), server.lines
        assert until(lambda: server.probe("/readyz")[0] == 200)
        (staged,) = (line["message"] for line in server.lines if line.get("step") == "stage")
        assert all(each in staged for each in messages)
        assert failure == failures(server).get("secret")
        assert counted(server, "muster_certificate_rotation_steps_total", step="stage") == 1.0
        assert (counted(server, "muster_certificate_failures_total", reason="secret") > 0) == (failure is not None)
        assert until(lambda: server.figure("muster_certificate_failing") == 0.0)
        for kind, days in (("leaf", 300), ("ca", 3000)):
            end = time.time() + days * 86400
            assert until(lambda kind=kind, end=end: counted(server, "muster_certificate_not_after_seconds", kind=kind) > end)


def rival_creates(by_path, path):
    by_path[path] = secret_object({})


def rival_changes(by_path, path):
    by_path[path]["metadata"]["resourceVersion"] = "other"


@pytest.mark.parametrize(("before", "rival"), [({}, rival_creates), (aged(300), rival_changes)], ids=["first write", "renewal"])
def test_a_lost_race_is_logged_and_counted_and_the_state_is_read_again(tmp_path, before, rival):
    there = {f"{SECRETS}/muster-webhook-tls": secret_object(before)} if before else {}
    objects = Objects(rival=rival, **{VALIDATING: configuration()}, **there)
    with managed(tmp_path, objects, "--workers", "1") as server:
        assert until(lambda: counted(server, "muster_certificate_rotation_steps_total", step="switch") == 1.0), server.lines
        assert until(lambda: server.probe("/readyz")[0] == 200)
        (line,) = (each for each in server.lines if each.get("failure") == "race")
        assert ("info", "rotation", True) == (line["level"], line["event"], "the object has been modified" in line["reason"])
        assert counted(server, "muster_certificate_failures_total", reason="race") == 1.0
        assert counted(server, "muster_certificate_failing", reason="race") == 0.0
        assert before.get("tls.crt") != objects.secret()["tls.crt"]


@pytest.mark.parametrize("leading", [True, False])
@pytest.mark.parametrize("days", [1000, -1000])
def test_a_wrong_clock_is_logged_and_measured_and_the_api_servers_is_used(tmp_path, monkeypatch, days, leading):
    right, there = BaseHTTPRequestHandler.date_time_string, dt.datetime.now(dt.UTC) + dt.timedelta(days=days)

    def wrong(*_):
        return email.utils.format_datetime(there, usegmt=True)

    objects = Objects(**{VALIDATING: configuration()}, **({} if leading else {f"{LEASES}/muster-webhook": held_lease()}))
    with managed(tmp_path, objects, "--workers", "1") as server:

        def measured(offset):
            return abs((counted(server, "muster_certificate_clock_offset_seconds", certificate="managed") or 0.0) - offset) < 600

        def logged():
            return [(line["level"], line["message"]) for line in server.lines if line.get("step") == "clock"]

        for number, (clock, offset) in enumerate(((wrong, days * 86400), (right, 0), (wrong, days * 86400)), 1):
            monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", clock)
            assert until(lambda offset=offset: measured(offset)), server.lines
            assert until(lambda number=number: len(logged()) == (number + 1) // 2), server.lines
            if leading and number == 1:
                assert until(lambda: server.probe("/readyz")[0] == 200), server.lines
                leaf = inspection.inspect("tls.crt", objects.secret()["tls.crt"], there)
                assert there.replace(microsecond=0) - issue.BACKDATED == leaf.not_before
        want = f"the API server's is {there:%Y-%m-%d %H:%M:%S} UTC and is used"
        assert all(level == "warning" and message.endswith(want) for level, message in logged())


def test_it_is_ready_only_while_every_ca_bundle_trusts_it(tmp_path):
    data = new_secret(dt.datetime.now(dt.UTC))
    paths = {VALIDATING: configuration(), f"{SECRETS}/muster-webhook-tls": secret_object(data), f"{LEASES}/muster-webhook": held_lease()}
    with managed(tmp_path, Objects(**paths), "--workers", "1") as server:
        want = "not every caBundle has the CA of the serving certificate"
        assert until(lambda: reasons(server) == [want])
        paths[VALIDATING]["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(data["ca.crt"]).decode()
        assert until(lambda: server.probe("/readyz")[0] == 200)
        assert "0.0" == str(server.figure("muster_certificate_leader"))


def test_a_worker_that_dies_is_followed_by_another_and_no_key_is_left_behind(tmp_path):
    objects = Objects(**{VALIDATING: configuration()})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with managed(tmp_path, objects, "--workers", "1", TMPDIR=str(scratch)) as server:
        assert until(lambda: server.probe("/readyz")[0] == 200)
        (worker,) = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True, check=True).stdout.split()
        os.kill(int(worker), signal.SIGKILL)
        objects.by_path[VALIDATING]["webhooks"][0]["clientConfig"] = {}

        assert until(lambda: objects.by_path[VALIDATING]["webhooks"][0]["clientConfig"])
        assert until(lambda: server.figure("muster_certificate_leader") == 1.0)
        assert [] != list(scratch.rglob("tls.key"))
    assert [] == list(scratch.rglob("tls.key"))


def test_the_roles_grant_what_is_requested_and_no_more(tmp_path):
    roles = [each for each in yaml.safe_load_all(ROLES.read_text(encoding="utf-8")) if "rules" in each]
    rules = [rule for each in roles for rule in each["rules"]]
    granted = {
        (Right(group, resource, verb), name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    path = VALIDATING.rpartition("/")[0]
    configurations = {f"{each}/{name}": configuration() for each in (path, path.replace("validating", "mutating")) for name in NAMES}
    endpoints = {"/apis/discovery.k8s.io/v1/namespaces/muster-system/endpointslices": {"items": []}}
    objects = Objects(**configurations, **endpoints)
    with managed(tmp_path, objects, "--workers", "1", MUSTER_CERTIFICATE_REPLICAS=""):

        def used():
            return {(right_of(*each), target_of(each[1]).name) for each in [*objects.requests]}

        assert until(lambda: granted <= used()), granted - used()
        assert granted == used()
    assert ["muster-system"] == [each["metadata"]["namespace"] for each in roles if each["kind"] == "Role"]
