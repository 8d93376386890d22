"""Webhooks of other programs: what is not known is not judged, and texts of the API server about calls."""

from __future__ import annotations

import pytest

from muster.doctor.call_failures import CalledWebhook, Failure, called_webhook
from muster.doctor.checks import examine
from muster.doctor.finding import Diagnosis, Unseen
from muster.doctor.requests import PODS, START, group_requests, listed
from tests.muster.doctor import worlds
from tests.muster.doctor.foreign_examples import DAY, LEASES, NODES, OPTED_IN, bundle, others, webhook, when, without
from tests.muster.doctor.foreign_examples import PODS as POD_RULE
from tests.muster.doctor.worlds import world


def _no_namespaces(objects):
    for key in [each for each in objects if each[0] == "Namespace"]:
        del objects[key]


HIDDEN = when("object.spec.schedulerName == 'x'")
UNREAD = {
    "services": (others(webhook(POD_RULE)), without("Service"), {"foreign-unreachable"}),
    "services of selected pods": (
        others(webhook(POD_RULE, namespaceSelector={}, objectSelector=OPTED_IN)),
        lambda objects: [objects.pop((kind, "policy")) for kind in ("Service", "Deployment")],
        {"foreign-self-lock", "foreign-unreachable"},
    ),
    "endpointslices": (others(webhook(POD_RULE)), without("EndpointSlice"), {"foreign-unreachable"}),
    "namespaces": (
        others(webhook(POD_RULE, namespaceSelector=OPTED_IN)),
        _no_namespaces,
        {"foreign-blocks-system", "foreign-self-lock"},
    ),
}
"""By resource: an installation, the change by which its objects are not known, and the checks that depend on them."""


def results(of):
    return {(check.id, type(each)): each for check, each in examine(of) if check.id.startswith("foreign-")}


@pytest.mark.parametrize("resource", UNREAD)
def test_what_cannot_be_read_is_not_judged(resource) -> None:
    install, hide, checks = UNREAD[resource]
    found = results(world(install, hide, unread=frozenset({resource.split()[0]})))
    assert {check for check, kind in found if kind is Unseen} == checks
    assert not {check for check, kind in found if kind is Diagnosis} & checks


@pytest.mark.parametrize(
    ("rule", "check"),
    [(POD_RULE, "foreign-blocks-all"), (LEASES, "foreign-blocks-system"), (NODES, "foreign-blocks-system")],
    ids=["pods", "leases", "nodes"],
)
def test_conditions_about_fields_that_are_not_known(rule, check) -> None:
    found = results(world(others(webhook(rule, namespaceSelector={}, matchConditions=HIDDEN))))
    assert "depend on fields that are not known" in found[check, Unseen].reason
    assert (check, Diagnosis) not in found


def test_conditions_that_cannot_be_compiled() -> None:
    """The authorizer is not modelled."""
    conditions = when('authorizer.group("").resource("pods").check("create").allowed()')
    found = results(world(others(webhook(POD_RULE, matchConditions=conditions))))
    assert {*found} == {("foreign-blocks-all", Unseen)}


@pytest.mark.parametrize("path", [("clientConfig",), ("clientConfig", "service"), ("rules",), ("namespaceSelector",), ("matchConditions",)])
@pytest.mark.parametrize("value", [None, 1, "x", [1], {"matchExpressions": [1, {"operator": "Odd"}]}, [{"resources": 1}]])
def test_fields_of_the_wrong_type(path, value) -> None:
    content = webhook(POD_RULE)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    list(examine(world(others(content))))
    list(examine(world(others(content, kind="MutatingWebhookConfiguration"), live=False)))


def test_a_configuration_of_cert_manager_is_renewed_by_it() -> None:
    annotations = {"cert-manager.io/inject-ca-from": "x/y"}
    changed = world(others(webhook(POD_RULE, **bundle(worlds.authority(1, worlds.NOW - 3 * DAY))), annotations=annotations))
    (command,) = (each.command for check, each in examine(changed) if check.id == "foreign-ca")
    assert command.startswith("cmctl check api && ")


def test_requests_are_listed_by_resource() -> None:
    assert listed(PODS) == "create and delete pods, create pods/binding, update pods/status, create pods/eviction"
    assert listed(START).endswith(" and 7 more")
    assert listed(group_requests(frozenset())) == ""
    assert {each.versions for each in group_requests(worlds.RESOURCES)} == {("v1beta1",), ("v1alpha3",)}


CALL = 'Internal error occurred: failed calling webhook "a.b": failed to call webhook: Post "https://x.y.svc:443/z?timeout=3s": {}'
REASONS = {
    'no endpoints available for service "x"': Failure.NO_ENDPOINTS,
    "the name of the client certificate must be one of --client-name": Failure.CLIENT_NAME,
    "dial tcp 10.0.0.1:443: connect: no route to host": Failure.NO_ROUTE,
    "dial tcp 10.0.0.1:9443: i/o timeout": Failure.TIMEOUT,
    "net/http: TLS handshake timeout": Failure.TIMEOUT,
    "tls: failed to verify certificate: x509: certificate relies on legacy Common Name field, use SANs instead": Failure.NAME,
    "tls: failed to verify certificate: x509: certificate is not authorized to sign other certificates": Failure.CERTIFICATE,
    "proxyconnect tcp: dial tcp: lookup proxy on 10.0.0.10:53: server misbehaving": Failure.NOT_RESOLVED,
    "read tcp 10.0.0.1:1->10.0.0.2:2: read: connection reset by peer": Failure.CLOSED,
    "write tcp 10.0.0.1:1->10.0.0.2:2: use of closed network connection": Failure.CLOSED,
    'an error on the server ("") has prevented the request from succeeding': Failure.ANSWER,
    "remote error: tls: bad certificate": Failure.OTHER,
}


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_of_failed_calls(reason) -> None:
    """Those that tests/cluster provokes on an API server are not among them."""
    assert called_webhook(CALL.format(reason)) == CalledWebhook("a.b", reason, REASONS[reason])


def test_answers_that_are_no_calls() -> None:
    assert called_webhook('pods "x" is forbidden: exceeded quota') is None
    invalid = 'Internal error occurred: failed calling webhook "a.b": received invalid webhook response: webhook returned response.uid="x"'
    assert called_webhook(invalid) == CalledWebhook(
        "a.b", 'received invalid webhook response: webhook returned response.uid="x"', Failure.ANSWER
    )
    assert called_webhook('admission webhook "a.b" denied the request without explanation') == CalledWebhook(
        "a.b", "without explanation", is_denial=True
    )


def test_a_webhook_of_which_no_request_is_known_is_not_said_to_refuse_any() -> None:
    found = results(
        world(others(webhook(POD_RULE, namespaceSelector=OPTED_IN)), without("Service"), _no_namespaces, unread=frozenset({"namespaces"}))
    )
    assert not any(kind is Diagnosis for _, kind in found)
