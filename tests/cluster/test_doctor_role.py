"""The role of docs/operate/doctor.md on a real API server: its grants are enough, and each is needed."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import threading

import pytest
import yaml

from tests.cluster.deployed import node_address
from tests.cluster.examined import examination
from tests.cluster.installed import ACCOUNT, DEPLOY, NAMESPACE

PAGE = DEPLOY.parent / "docs" / "operate" / "doctor.md"
UNCHECKED = {
    "subjectaccessreviews": "rights-missing",
    "secrets": "leaf-untrusted",
    "pods/proxy": "timeout-exceeded",
    "/metrics": "gate-off",
}
"""By grant that is not necessary: the check that is not made without it."""
METRICS = b"".join(b'muster_review_duration_seconds_bucket{le="%s",path="/validate"} 500\n' % le for le in (b"0.1", b"+Inf"))


@pytest.fixture(scope="module")
def examined(plane, tmp_path_factory):
    if not node_address():
        pytest.skip("this machine has no address but the loopback")
    with examination(plane, tmp_path_factory.mktemp("installed")) as result, metrics_server() as port:
        annotations = {"prometheus.io/port": str(port)}
        plane.api.patch("Deployment", ACCOUNT, NAMESPACE, body={"spec": {"template": {"metadata": {"annotations": annotations}}}})
        template = plane.api.get("Deployment", ACCOUNT, NAMESPACE)["spec"]["template"]
        metadata = {"name": "replica", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}
        plane.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
        plane.api.set_status("Pod", "replica", NAMESPACE, status={"podIP": node_address(), "podIPs": [{"ip": node_address()}]})
        try:
            yield result
        finally:
            plane.api.delete("Pod", "replica", NAMESPACE, gracePeriodSeconds=0)


@contextlib.contextmanager
def metrics_server():
    """Yield the port of a server of metrics; the API server does not forward to the loopback, on which the replica listens."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(METRICS)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer((node_address(), 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def rules():
    """Return the rules of the page."""
    (block,) = (
        each for each in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "kind: ClusterRole\n" in each
    )
    (role,) = yaml.safe_load_all(block)
    return role["rules"]


@contextlib.contextmanager
def person(examined, rules):
    """Yield the kubeconfig of a user with these rules only."""
    name = f"doctor{hash(json.dumps(rules)) % 10**9}"
    try:
        yield examined.plane.user(name, rules)
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            examined.api.delete(kind, name)


def not_seen(answer):
    """Return what doctor reports that it could not read or check."""
    unchecked = json.loads(answer.stdout)["unchecked"] if answer.stdout else ()
    return {*answer.stderr.splitlines(), *(f"{each['id']}: {each['reason']}" for each in unchecked)}


def without_each(rules):
    """Yield each resource or path of the rules, and the rules without it."""
    for number, rule in enumerate(rules):
        field = "resources" if "resources" in rule else "nonResourceURLs"
        for value in rule[field]:
            rest = [each for each in rule[field] if each != value]
            yield value, [*rules[:number], *([{**rule, field: rest}] if rest else []), *rules[number + 1 :]]


def test_the_role_of_the_page_is_enough(examined, rules) -> None:
    with person(examined, rules) as kubeconfig:
        answer = examined.doctor(kubeconfig=kubeconfig, replica="endpoints")
    assert answer.stdout == examined.doctor(replica="endpoints").stdout
    assert (answer.exit_code, not_seen(answer)) == (0, set())


def test_each_grant_is_needed(examined, rules) -> None:
    """Without it doctor reports what it could not read or check, and takes nothing for missing."""
    for missing, fewer in without_each(rules):
        with person(examined, fewer) as kubeconfig:
            answer = examined.doctor(kubeconfig=kubeconfig, replica="endpoints")
        if missing in UNCHECKED:
            assert (answer.exit_code, answer.stderr) == (0, ""), missing
            assert {each.partition(":")[0] for each in not_seen(answer)} == {UNCHECKED[missing]}
        else:
            assert answer.exit_code == 2, missing
            assert {missing} == {*re.findall('cannot (?:get|list) resource "([^"]*)"', answer.stderr)}
        assert not answer.stdout or json.loads(answer.stdout)["findings"] == [], missing


def test_nobody_gets_one_line(examined) -> None:
    answer = examined.doctor(kubeconfig=examined.plane.write_kubeconfig("nobody"))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "cannot list resource" in answer.stderr
