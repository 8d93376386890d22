"""Match conditions of webhooks for requests of which only some fields are known."""

from __future__ import annotations

import sys

import pytest

from scheduler_core.cel import syntax
from scheduler_core.cel.match_conditions import UNKNOWN, holds

LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases"}
USER = {"username": "system:node:a", "groups": ["system:nodes", "system:authenticated"]}
REQUEST = {"resource": LEASES, "operation": "UPDATE", "namespace": "kube-system", "name": UNKNOWN, "userInfo": USER, "dryRun": False}
OBJECT = {"metadata": {"namespace": "kube-system", "labels": UNKNOWN}, "spec": UNKNOWN}
EXPRESSIONS = {
    '!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")': False,
    '!("system:nodes" in request.userInfo.groups)': False,
    'request.userInfo.groups.exists(each, each.startsWith("system:"))': True,
    'request.userInfo.username.matches("^system:node:")': True,
    'request.resource.resource in ["pods", "leases"]': True,
    "!has(object.metadata.deletionTimestamp)": True,
    "oldObject == null": True,
    # What decides is known, although the other operand is not.
    'request.name != "x" && request.namespace != "kube-system"': False,
    'request.name == "x" || request.operation == "UPDATE"': True,
    # It depends on what is not known.
    'request.name == "x"': None,
    'object.spec.schedulerName == "x"': None,
    'has(object.metadata.labels) && "a" in object.metadata.labels': None,
    "has(namespaceObject.metadata.labels)": None,
    'authorizer.group("").resource("pods").check("create").allowed()': None,
    # No condition.
    "request.namespace": None,
    "request.subResource == ''": None,
    "x y": None,
    "\ud800": None,
}


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=ascii)
def test_conditions(expression) -> None:
    assert holds(expression, request=REQUEST, object=OBJECT, oldObject=None) is EXPRESSIONS[expression]


def test_without_the_parser(monkeypatch) -> None:
    """``muster doctor`` of files needs only the extra ``webhooks``, which does not have it."""
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    monkeypatch.setattr(syntax, "_environment", syntax._environment.__wrapped__)
    assert holds("request.operation == 'CREATE' || 1 == 2", request=REQUEST) is None
