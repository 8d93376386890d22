"""The roles of people who run ``muster doctor`` on a real API server: they are enough, and each of their grants is needed."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import json
import re
import threading

import pytest
import yaml

from muster.doctor.built_groups import OTHER_POD_GROUPS
from tests.cluster.doctor_installation import ENDPOINTS, examination
from tests.cluster.installed import DEPLOY, NAMESPACE
from tests.cluster.page_shell import section
from tests.cluster.waiting import until
from workloadbuilder.adapters.built_kinds import KINDS

PAGE = DEPLOY.parent / "docs" / "operate" / "doctor.md"
UNCHECKED = {
    "subjectaccessreviews": {"rights-missing"},
    "secrets": {"leaf-stale"},
    "pods/portforward": {"timeout-exceeded", "unreachable"},
    "/metrics": {"gate-off"},
}
"""By grant that is not necessary: the checks that are not made without it."""
OF_UPGRADES = frozenset({"workloads", "podgroups", "compositepodgroups", "jobs", "cronjobs"})
"""Resources that are read with ``--upgrade-to`` only."""
OF_BUILD = frozenset({*(each.group for each in KINDS), *(each.partition("/")[0] for each in OTHER_POD_GROUPS)} - {"apps", "batch"})
"""API groups that are read if groups are built, and which this API server does not serve."""
NUMBERS = itertools.count()
METRICS = b"".join(b'muster_review_duration_seconds_bucket{le="%s",path="/validate"} 500\n' % le for le in (b"0.1", b"+Inf"))


@pytest.fixture(scope="module")
def examined(plane, tmp_path_factory):
    with (
        examination(plane, tmp_path_factory.mktemp("installed")) as result,
        metrics_server() as port,
        result.as_pods({9443: result.webhooks.port, 8080: port}),
    ):
        yield result


@contextlib.contextmanager
def metrics_server():
    """Yield the port of a server with metrics of many reviews."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(METRICS)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def roles():
    """Return the rules of the roles by their kind."""
    return {each["kind"]: each["rules"] for each in yaml.safe_load_all((DEPLOY / "doctor" / "rbac.yaml").read_text(encoding="utf-8"))}


@contextlib.contextmanager
def person(examined, roles):
    """Yield the kubeconfig of a user with these rules only."""
    name = f"doctor{next(NUMBERS)}"
    kubeconfig = examined.plane.user(name, roles["ClusterRole"])
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}
    examined.plane.grant(name, roles["Role"], subject, namespace=NAMESPACE)
    try:
        yield kubeconfig
    finally:
        for kind, namespace in (("ClusterRole", ""), ("Role", NAMESPACE)):
            for each in (f"{kind}Binding", kind):
                examined.api.delete(each, name, namespace)


def not_seen(answer):
    """Return what doctor reports that it could not read or check."""
    unchecked = json.loads(answer.stdout)["unchecked"] if answer.stdout else ()
    return {*answer.stderr.splitlines(), *(f"{each['id']}: {each['reason']}" for each in unchecked)}


def without_each(roles):
    """Yield each resource or path, and the roles without it or, one by one, without its verbs and the names of its objects."""
    for kind, rules in roles.items():
        for number, rule in enumerate(rules):
            if OF_BUILD & {*rule.get("apiGroups", ())}:
                continue
            several = {"verbs"} if len(rule["verbs"]) > 1 else set()
            for field in ({"resources", "nonResourceURLs", "resourceNames"} | several) & {*rule}:
                for value in rule[field]:
                    rest = [each for each in rule[field] if each != value]
                    fewer = [*rules[:number], *([{**rule, field: rest}] if rest else []), *rules[number + 1 :]]
                    yield value if field in ("resources", "nonResourceURLs") else subject_of(rule), {**roles, kind: fewer}


def subject_of(rule):
    return (rule.get("resources") or rule["nonResourceURLs"])[0]


def test_the_roles_are_enough(examined) -> None:
    """They are bound by the commands of the page."""
    (block,) = (each.text for each in section("On a cluster", PAGE) if "create clusterrolebinding" in each.text)
    try:
        for command in block.splitlines():
            examined.mend(command)
        kubeconfig = examined.plane.write_kubeconfig("someone", groups=("operators",))
        complete = examined.doctor(replica=ENDPOINTS).stdout
        until(lambda: examined.doctor(kubeconfig=kubeconfig, replica=ENDPOINTS).stdout == complete, told=lambda: complete)
        answer = examined.doctor(kubeconfig=kubeconfig, replica=ENDPOINTS)
        assert (answer.exit_code, not_seen(answer)) == (0, set())
    finally:
        for kind, namespace in (("ClusterRole", ""), ("Role", NAMESPACE)):
            for each in (f"{kind}Binding", kind):
                examined.api.delete(each, "muster-doctor", namespace)


def test_each_grant_is_needed(examined, roles) -> None:
    """Without it doctor reports what it could not read or check, and takes nothing for missing."""
    for missing, fewer in without_each(roles):
        with person(examined, fewer) as kubeconfig:
            options = ["--upgrade-to=1.38", "--ignore=upgrade-gates"] if missing in OF_UPGRADES else []
            answer = examined.doctor(*options, kubeconfig=kubeconfig, replica=ENDPOINTS)
        if missing in UNCHECKED:
            assert (answer.exit_code, answer.stderr) == (0, ""), missing
            assert {each.partition(":")[0] for each in not_seen(answer)} == UNCHECKED[missing]
        else:
            assert answer.exit_code == 2, missing
            assert {missing} == {*re.findall('cannot (?:get|list) resource "([^"]*)"', answer.stderr)}
        assert not answer.stdout or json.loads(answer.stdout)["findings"] == [], missing


def test_nobody_gets_one_line(examined) -> None:
    answer = examined.doctor(kubeconfig=examined.plane.write_kubeconfig("nobody"))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "cannot list resource" in answer.stderr
