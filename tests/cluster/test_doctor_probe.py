"""``muster doctor --cluster --probe`` on a real API server: the path to the webhooks, and each reason why it fails."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import socket
import threading
from collections.abc import Iterator

import pytest
import yaml
from click.testing import CliRunner

from certs import issue
from certs.pair import names_of
from muster import cli
from muster.doctor.call_failures import Failure
from tests.cluster.conftest import new_namespace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.doctor_installation import DAY, NOW, PROVOKED_ELSEWHERE, Examined, demand_provoked
from tests.cluster.installed import DEPLOY, installed
from tests.cluster.options import Options
from tests.cluster.resources import Manifest
from tests.cluster.test_doctor import tls_server
from tests.cluster.unfit import unfit
from tests.cluster.waiting import until
from tests.muster.doctor.foreign_examples import GROUPS, MUTATING, webhook

CA = issue.authority(NOW)
LOCAL = names_of(("127.0.0.1",))
EVERY_GROUP = GROUPS | {"apiVersions": ["*"], "resources": ["*"]}
FIRST = "a-policy"
"""Name of a configuration whose webhooks are called before those of Muster."""


def manifests(name: str) -> list[Manifest]:
    return [*yaml.safe_load_all((DEPLOY / "doctor" / f"{name}.yaml").read_text(encoding="utf-8"))]


READING = [rule for role in manifests("rbac") for rule in role["rules"]]
"""Rules of the roles without the probe."""


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """Return the path of the audit log, which is empty yet; the policy is beside it."""
    folder = tmp_path_factory.mktemp("audit")
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata", "verbs": ["create"]}]}
    (folder / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
    return folder / "audit.log"


@pytest.fixture(scope="module")
def plane(programs, audit):
    flags = (f"--audit-policy-file={audit.parent / 'policy.json'}", f"--audit-log-path={audit}")
    with ControlPlane(Options(apiserver_flags=flags), programs) as started:
        yield started


@pytest.fixture(scope="module")
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed")) as created:
        yield created


@pytest.fixture
def probe(plane, webhooks):
    """Return a function that probes and returns the answers, the findings of the check, and what it did not see."""

    def run(*options: str):
        content = json.loads(doctor(plane.kubeconfig, *options).stdout)
        found = [each for each in content["findings"] if each["id"] == "probe-failed"]
        Examined.seen.update(each["id"] for each in found)
        return content["probe"], found, [each["reason"] for each in content["unchecked"] if each["id"] == "probe-failed"]

    return run


def doctor(kubeconfig, *options: str):
    return CliRunner().invoke(cli.main, ["doctor", "--cluster", f"--kubeconfig={kubeconfig}", "--probe", "--format=json", *options])


def test_the_path_to_the_webhooks(plane, probe) -> None:
    answers, found, unchecked = probe()
    assert (found, unchecked) == ([], [])
    refused, admitted = answers
    assert (refused["expected"], refused["outcome"], refused["webhook"]) == ("refused", "refused-by-muster", "groups.muster.dev")
    assert f"[muster: {unfit().rule}]" in refused["message"]
    assert (admitted["object"], admitted["outcome"], admitted["message"]) == ("Workload default/muster-doctor-probe", "admitted", "")
    assert not plane.api.objects("Workload", "default")


def test_what_the_audit_log_gets(probe, audit) -> None:
    probe()
    events = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    both = [each for each in events if each["stage"] == "ResponseComplete" and "dryRun=All" in each["requestURI"]][-2:]
    assert [(each["verb"], each["user"]["username"], each["responseStatus"]["code"]) for each in both] == [
        ("create", "admin", 422),
        ("create", "admin", 201),
    ]
    refused = both[0]
    assert "groups.muster.dev" in refused["responseStatus"]["message"]
    assert refused["annotations"]["groups.muster.dev/rules"] == unfit().rule


def test_text_of_the_answers(plane, webhooks) -> None:
    answer = CliRunner().invoke(cli.main, ["doctor", "--cluster", f"--kubeconfig={plane.kubeconfig}", "--probe"])
    assert "\ndry runs, of which nothing is stored:\n" in answer.stdout
    assert f"muster-doctor-probe: refused by groups.muster.dev, as expected ({unfit().rule})\n" in answer.stdout.replace("\n    ", " ")
    assert "  Workload default/muster-doctor-probe: admitted, as expected\n" in answer.stdout


def test_namespaces_in_which_muster_refuses_nothing(plane, probe) -> None:
    (reason,) = probe("--probe-namespace=kube-system")[2]
    assert "no webhook of Muster is called for groups in this namespace" in reason
    with new_namespace(plane.api, {"muster.dev/enforcement": "audit"}) as audited:
        (reason,) = probe(f"--probe-namespace={audited}")[2]
    assert "the mode of the namespace is audit" in reason
    with new_namespace(plane.api, {"muster.dev/enforcement": "warn"}) as warned:
        answers, found, unchecked = probe(f"--probe-namespace={warned}")
    assert ([each["outcome"] for each in answers], found, unchecked) == (["warned-by-muster", "admitted"], [], [])


def test_a_namespace_that_does_not_exist(plane, webhooks) -> None:
    answer = doctor(plane.kubeconfig, "--probe-namespace=nowhere")
    assert answer.exit_code == 2
    assert 'nowhere/muster-doctor-probe: cannot be created in a dry run: HTTP 404: namespaces "nowhere" not found' in answer.stderr


def test_a_missing_permission_is_named(plane, webhooks) -> None:
    kubeconfig = plane.user("prober", READING)
    answer = doctor(kubeconfig)
    assert answer.exit_code == 2
    missing = f'User "prober" cannot create resource "{unfit().kind.lower()}s" in API group "scheduling.k8s.io" in the namespace "default"'
    assert missing in answer.stderr


def test_the_role_of_the_probe_is_enough(plane, webhooks) -> None:
    (probing,) = manifests("probe")
    kubeconfig = plane.user("prober-2", READING)
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "prober-2"}
    plane.grant("muster-doctor-probe", probing["rules"], subject, namespace="default")
    answer = doctor(kubeconfig)
    assert [each["outcome"] for each in json.loads(answer.stdout)["probe"]] == ["refused-by-muster", "admitted"]


@contextlib.contextmanager
def silent(_folder) -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@contextlib.contextmanager
def plain(_folder) -> Iterator[str]:
    """A server without TLS."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def leaf(ca=CA, names=LOCAL, at=NOW, days=365):
    """A server that serves this leaf, and ends each connection after the handshake."""
    return lambda folder: tls_server(issue.leaf(ca, names, at, days), folder)


@contextlib.contextmanager
def nothing(_folder) -> Iterator[str]:
    yield "127.0.0.1:1"


@contextlib.contextmanager
def nameless(_folder) -> Iterator[str]:
    yield "policy.invalid:443"


UNREACHABLE = {
    Failure.TRUST: (leaf(issue.authority(NOW)), CA.certificate),
    Failure.EXPIRED: (leaf(at=NOW - 400 * DAY), CA.certificate),
    Failure.NAME: (leaf(names=names_of(("10.0.0.1",))), CA.certificate),
    Failure.BUNDLE: (leaf(), b"nonsense"),
    Failure.REFUSED: (nothing, CA.certificate),
    Failure.TIMEOUT: (silent, CA.certificate),
    Failure.CLOSED: (leaf(), CA.certificate),
    Failure.NOT_TLS: (plain, CA.certificate),
    Failure.NOT_RESOLVED: (nameless, CA.certificate),
}


@contextlib.contextmanager
def first_webhook(api, client: Manifest, **fields) -> Iterator[None]:
    """A mutating webhook of another program for groups, which is called before those of Muster."""
    content = {**webhook(EVERY_GROUP, name="first.policy.example", **fields), "admissionReviewVersions": ["v1"], "clientConfig": client}
    content["timeoutSeconds"] = 1
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": MUTATING, "metadata": {"name": FIRST}}
    api.create({**head, "webhooks": [content]})
    try:
        yield
    finally:
        api.delete(MUTATING, FIRST)


def client_of(address: str, ca: bytes, path: str = "/validate") -> Manifest:
    return {"url": f"https://{address}{path}", "caBundle": base64.b64encode(ca).decode()}


@pytest.mark.parametrize("failure", UNREACHABLE, ids=lambda each: each.name)
def test_a_webhook_that_cannot_be_called(plane, probe, tmp_path, failure) -> None:
    serve, ca = UNREACHABLE[failure]
    with serve(tmp_path) as address, first_webhook(plane.api, client_of(address, ca)):
        until(lambda: probe()[1], told=lambda: str(probe()))
        answers, found, _ = probe()
    assert {each["outcome"] for each in answers} == {"webhook-unreachable"}
    message = found[0]["message"]
    assert message.startswith(f"the API server cannot call first.policy.example: {failure.value} ("), message
    assert found[0]["object"] == f"{MUTATING} {FIRST}"
    assert "failurePolicy" in found[0]["command"]


@pytest.mark.parametrize(
    ("service", "failure"), [("nowhere", Failure.NO_SERVICE), ("without-port", Failure.NO_PORT)], ids=["no service", "no port"]
)
def test_a_service_that_cannot_be_called(plane, probe, service, failure) -> None:
    api = plane.api
    if service != "nowhere":
        ports = [{"name": "other", "port": 8443}]
        api.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service, "namespace": "default"}, "spec": {"ports": ports}})
    try:
        client = {"service": {"namespace": "default", "name": service, "path": "/x", "port": 443}}
        with first_webhook(api, {**client, "caBundle": base64.b64encode(CA.certificate).decode()}):
            until(lambda: probe()[1], told=lambda: str(probe()))
            assert failure.value in probe()[1][0]["message"]
    finally:
        if service != "nowhere":
            api.delete("Service", service, "default")


def test_the_path_and_the_answer_of_a_server(plane, probe, webhooks) -> None:
    """The server of Muster, called at paths that it does not have, or that answers something else."""
    address = f"127.0.0.1:{webhooks.port}"
    ca = (webhooks.certificates / "ca.crt").read_bytes()
    with first_webhook(plane.api, client_of(address, ca, "/nope")):
        until(lambda: probe()[1], told=lambda: str(probe()))
        assert Failure.PATH.value in probe()[1][0]["message"]


def test_muster_itself_cannot_be_called(plane, probe, webhooks) -> None:
    webhooks.server.stop()
    try:
        answers, found, _ = probe()
    finally:
        webhooks.start()
    assert {each["outcome"] for each in answers} == {"webhook-unreachable"}
    assert Failure.REFUSED.value in found[0]["message"]
    assert {each["webhook"] for each in answers} == {"groups.muster.dev"}


def test_no_configuration_of_muster(plane, webhooks) -> None:
    webhooks.withdraw()
    try:
        content = json.loads(doctor(plane.kubeconfig).stdout)
        assert content["probe"] == []
        assert "there is no webhook configuration of Muster, so no dry run was made" in str(content["unchecked"])
    finally:
        webhooks.apply_configurations()
        until(lambda: webhooks.judges("default"))


def test_every_check_is_provoked(probe, request) -> None:
    demand_provoked(request, PROVOKED_ELSEWHERE["probe"])
