"""Installations with a webhook of another program, which complies with a check or violates it, and what the finding says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from muster.doctor.world import ApiServer, World
from tests.muster.doctor import worlds
from tests.muster.doctor.worlds import GATES, NOW, world
from validators.rules.base import Severity

DAY = dt.timedelta(days=1)
POLICY, NAMESPACE = "policy", "policy-system"
CONFIGURATION = ("ValidatingWebhookConfiguration", POLICY)
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "Namespaced"}
BINDINGS = {**PODS, "resources": ["pods/binding"]}
GROUPS = {**PODS, "apiGroups": ["scheduling.k8s.io"], "apiVersions": ["v1beta1"], "resources": ["podgroups"]}
LEASES = {**PODS, "apiGroups": ["coordination.k8s.io"], "operations": ["UPDATE"], "resources": ["leases"]}
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
NODES = {**PODS, "resources": ["nodes"], "scope": "Cluster"}
OPTED_IN = {"matchLabels": {"policy": "on"}}


def but(*namespaces: str) -> worlds.Content:
    """Return the selector of all namespaces but these."""
    return {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [*namespaces]}]}


def when(*expressions: str) -> list[worlds.Content]:
    return [{"name": f"c{number}", "expression": each} for number, each in enumerate(expressions)]


EXEMPT = but("kube-system", "kube-node-lease", "muster-system", NAMESPACE)
CA = worlds.authority()


def webhook(*rules: worlds.Content, name: str = "pods.policy.example", **fields: Any) -> worlds.Content:
    """Return a webhook that fails closed; it exempts the namespaces of the system and its own unless *fields* say otherwise."""
    service = {"namespace": NAMESPACE, "name": POLICY, "path": "/validate", "port": 443}
    return {
        "name": name,
        "clientConfig": {"service": service, "caBundle": worlds.encoded(CA.certificate)},
        "rules": [*rules],
        "namespaceSelector": EXEMPT,
        "objectSelector": {},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        **fields,
    }


def calling(client: worlds.Content) -> worlds.Content:
    return {"clientConfig": client}


def others(*webhooks: worlds.Content, kind: str = CONFIGURATION[0], **metadata: Any) -> worlds.Change:
    """Add a configuration with these webhooks, and their server."""

    def change(objects: worlds.Objects) -> None:
        version = "admissionregistration.k8s.io/v1"
        objects[kind, POLICY] = {"apiVersion": version, "kind": kind, "metadata": {"name": POLICY, **metadata}, "webhooks": [*webhooks]}
        for each in server():
            objects[each["kind"], each["metadata"]["name"]] = each

    return change


def server() -> list[worlds.Content]:
    """Return the objects of the server: it is ready."""
    named = {"name": POLICY, "namespace": NAMESPACE}
    labels = {"app": POLICY, "tier": "admission"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "policy", "image": "policy"}]}}
    ports = [{"name": "https", "port": 443, "targetPort": 9443}]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": named, "spec": {"selector": {"app": POLICY}, "ports": ports}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named, "spec": {"replicas": 1, "template": template}},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**named, "labels": {"kubernetes.io/service-name": POLICY}},
            "ports": [{"name": "https", "port": 9443}],
            "endpoints": [{"addresses": ["10.0.0.9"]}],
        },
    ]


def labelled(name: str, **labels: str) -> worlds.Change:
    return lambda objects: objects["Namespace", name]["metadata"].update(labels=labels)


def without(kind: str) -> worlds.Change:
    return lambda objects: objects.pop((kind, POLICY))


def of_service(**fields: Any) -> worlds.Change:
    return lambda objects: objects["Service", POLICY]["spec"].update(fields)


def endpoints(*endpoints: worlds.Content, **fields: Any) -> worlds.Change:
    return lambda objects: objects["EndpointSlice", POLICY].update(endpoints=[*endpoints], **fields)


def bundle(*authorities: Any, extra: bytes = b"") -> worlds.Content:
    content = b"".join(each.certificate for each in authorities) + extra
    return {"clientConfig": {"service": webhook()["clientConfig"]["service"], "caBundle": worlds.encoded(content)}}


def url(text: str, **fields: Any) -> worlds.Content:
    return {"clientConfig": {"url": text, **fields}}


def several(seconds: int, number: int, **fields: Any) -> list[worlds.Content]:
    return [webhook(PODS, name=f"w{each}.policy.example", timeoutSeconds=seconds, **fields) for each in range(number)]


def policy(
    *validations: str,
    rules: tuple[worlds.Content, ...] = (EVERYTHING,),
    actions: tuple[str, ...] = ("Deny",),
    bound: Any = None,
    **spec: Any,
) -> worlds.Change:
    """Add a ValidatingAdmissionPolicy and its binding, to *bound* resources."""

    def change(objects: worlds.Objects) -> None:
        for each in policy_objects(*validations, rules=rules, actions=actions, bound=bound, **spec):
            objects[each["kind"], POLICY] = each

    return change


def policy_objects(
    *validations: str,
    rules: tuple[worlds.Content, ...] = (EVERYTHING,),
    actions: tuple[str, ...] = ("Deny",),
    bound: Any = None,
    **spec: Any,
) -> list[worlds.Content]:
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": POLICY}}
    constraints = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [*rules]}
    texts = [{"expression": each} for each in validations]
    content = {"failurePolicy": "Fail", "matchConstraints": constraints, "validations": texts, **spec}
    binding = {"policyName": POLICY, "validationActions": [*actions], **({} if bound is None else {"matchResources": bound})}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": content},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def type_error(objects: worlds.Objects) -> None:
    warnings = [{"fieldRef": "spec.validations[0].expression", "warning": "undefined field 'x'"}]
    objects["ValidatingAdmissionPolicy", POLICY]["status"] = {"typeChecking": {"expressionWarnings": warnings}}


OLD = worlds.authority(365, NOW - 400 * DAY)
SOON = worlds.authority(365, NOW - 355 * DAY)
BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
MUTATING = "MutatingWebhookConfiguration"
SPAM = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*"}

VALID: dict[str, list[Callable[[], World]]] = {
    "foreign-blocks-all": [
        world,
        lambda: world(others(webhook(PODS, failurePolicy="Ignore"))),
        lambda: world(others(webhook(PODS, namespaceSelector=OPTED_IN))),
        lambda: world(others(webhook(PODS, objectSelector=OPTED_IN))),
        lambda: world(others(webhook(PODS | {"operations": ["CONNECT"]}))),
        lambda: world(others(webhook(PODS | {"apiGroups": ["apps"]}))),
        lambda: world(others(webhook(PODS | {"apiVersions": ["v2"]}))),
        lambda: world(others(webhook(PODS | {"scope": "Cluster"}))),
        lambda: world(others(webhook(PODS | {"resources": ["pods/exec", "pods/ephemeralcontainers"]}))),
        lambda: world(others(webhook(PODS | {"resources": ["*/scale", "services/*"]}))),
        lambda: world(others(webhook(GROUPS | {"apiVersions": ["v1alpha1"]}))),
        lambda: world(others(webhook(BINDINGS, objectSelector={"matchExpressions": [{"key": "policy", "operator": "Exists"}]}))),
        lambda: world(others(webhook(PODS, matchConditions=when("request.resource.resource != 'pods'")))),
        lambda: world(others(webhook(PODS, matchConditions=when("object.spec.nodeName == 'a'", "request.namespace == 'team'")))),
        lambda: world(others(webhook(LEASES))),
    ],
    "foreign-blocks-system": [
        world,
        lambda: world(others(webhook(EVERYTHING | {"scope": "Namespaced"}))),
        lambda: world(others(webhook(EVERYTHING, failurePolicy="Ignore", namespaceSelector={}))),
        lambda: world(others(webhook(LEASES | {"operations": ["DELETE"]}, namespaceSelector={}))),
        lambda: world(
            others(webhook(LEASES, namespaceSelector={}, matchConditions=when("request.resource.group != 'coordination.k8s.io'")))
        ),
        lambda: world(
            others(
                webhook(
                    LEASES,
                    namespaceSelector={
                        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-node-lease"]}]
                    },
                    matchConditions=when("!('system:nodes' in request.userInfo.groups)"),
                )
            )
        ),
        lambda: world(others(webhook(NODES, matchConditions=when("!request.userInfo.username.startsWith('system:node:')")))),
        lambda: world(others(webhook(NODES | {"scope": "Namespaced"}))),
        lambda: world(others(webhook(NODES | {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"]}))),
    ],
    "foreign-self-lock": [
        world,
        lambda: world(others(webhook(PODS))),
        lambda: world(others(webhook(PODS, namespaceSelector={}, failurePolicy="Ignore"))),
        lambda: world(others(webhook(PODS, namespaceSelector={}, objectSelector={"matchLabels": {"app": "other"}}))),
        lambda: world(
            others(webhook(PODS, namespaceSelector={}, objectSelector={"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}))
        ),
        lambda: world(others(webhook(PODS, namespaceSelector={}, **url("https://policy.example.com/validate")))),
        lambda: world(others(webhook(PODS, namespaceSelector={}, matchConditions=when("request.namespace != 'policy-system'")))),
    ],
    "foreign-unreachable": [
        world,
        lambda: world(others(webhook(PODS))),
        lambda: world(others(webhook(PODS, failurePolicy="Ignore")), without("Service")),
        lambda: world(others(webhook(PODS, namespaceSelector=OPTED_IN)), without("Service")),
        lambda: world(others(webhook(PODS)), without("Service"), live=False),
        lambda: world(others(webhook(PODS)), of_service(type="ExternalName", externalName="policy.example.com"), endpoints()),
        lambda: world(others(webhook(PODS)), endpoints({"conditions": {"ready": False}}, {"conditions": {}})),
    ],
    "foreign-ca": [
        world,
        lambda: world(others(webhook(PODS, **bundle(OLD, CA)))),
        lambda: world(others(webhook(PODS, **bundle(CA, extra=BROKEN)))),
        lambda: world(others(webhook(PODS, **bundle(worlds.authority(7, NOW - 6 * DAY))))),
        lambda: world(others(webhook(PODS, **bundle(OLD), failurePolicy="Ignore"))),
        lambda: world(others(webhook(PODS, **bundle(OLD), namespaceSelector=OPTED_IN))),
        lambda: world(others(webhook(PODS, **url("https://policy.example.com/validate")))),
        lambda: world(others(webhook(PODS, **url("https://8.8.8.8/validate")))),
        lambda: world(others(webhook(PODS, clientConfig={"service": {"namespace": "x", "name": "y"}})), live=False),
    ],
    "foreign-timeout": [
        world,
        lambda: world(others(webhook(PODS, timeoutSeconds=10))),
        lambda: world(others(webhook(PODS, timeoutSeconds=30, namespaceSelector=OPTED_IN))),
        lambda: world(others(webhook(EVERYTHING, timeoutSeconds=4, namespaceSelector={}))),
        lambda: world(others(webhook(EVERYTHING, timeoutSeconds=10, matchConditions=when("request.resource.resource != 'leases'")))),
    ],
    "foreign-dry-run": [
        world,
        lambda: world(others(webhook(PODS, sideEffects="NoneOnDryRun"))),
        lambda: world(others(webhook(PODS, sideEffects="Some", namespaceSelector=OPTED_IN))),
    ],
    "policy-refuses": [
        world,
        lambda: world(policy("object.spec.replicas <= 5")),
        lambda: world(policy("true")),
        lambda: world(policy("false", actions=("Warn", "Audit"))),
        lambda: world(policy("false", rules=(PODS | {"apiGroups": ["apps"]},))),
        lambda: world(policy("false", rules=(PODS | {"resourceNames": ["a"]},))),
        lambda: world(policy("false", bound={"namespaceSelector": OPTED_IN}, rules=(PODS,))),
        lambda: world(policy("false", bound={"resourceRules": [LEASES | {"operations": ["DELETE"]}]})),
        lambda: world(policy("false", matchConditions=when("request.resource.resource == 'secrets'"), rules=(PODS, GROUPS))),
        lambda: world(policy("false", matchConditions=when("object.metadata.name == 'x'"))),
        lambda: world(policy("false", bound={"excludeResourceRules": [PODS | {"operations": ["*"]}]}, rules=(PODS,))),
        lambda: world(policy("'a' in variables.b", variables=[{"name": "b", "expression": "['a']"}])),
        lambda: world(policy("object.spec.x == 1", failurePolicy="Ignore"), type_error),
        lambda: world(policy("false"), lambda objects: objects.pop(("ValidatingAdmissionPolicy", POLICY))),
    ],
    "timeouts-add-up": [
        world,
        lambda: world(others(*several(10, 3), kind=MUTATING)),
        lambda: world(others(*several(30, 3))),
        lambda: world(others(*several(30, 2, namespaceSelector=OPTED_IN), kind=MUTATING)),
    ],
}
INVALID: dict[str, list[tuple[Callable[[], World], Severity, str]]] = {
    "foreign-blocks-all": [
        (
            lambda: world(others(webhook(PODS))),
            Severity.WARNING,
            "pods.policy.example refuses create pods in every namespace that is not exempt, while its server is down",
        ),
        (lambda: world(others(webhook(PODS, name="a.x"), webhook(PODS, name="b.x"))), Severity.WARNING, "a.x, b.x refuse create pods in"),
        (lambda: world(others(webhook(BINDINGS))), Severity.WARNING, "refuses create pods/binding in"),
        (lambda: world(others(webhook(BINDINGS | {"resources": ["*/binding"]}))), Severity.WARNING, "refuses create pods/binding in"),
        (lambda: world(others(webhook(GROUPS))), Severity.WARNING, "refuses create podgroups.scheduling.k8s.io in"),
        (lambda: world(others(webhook(PODS | {"operations": ["*"]}))), Severity.WARNING, "refuses create and delete pods in"),
        (
            lambda: world(others(webhook(EVERYTHING))),
            Severity.WARNING,
            "create pods/eviction, create and update workloads.scheduling.k8s.io and 4 more in",
        ),
        (lambda: world(others(webhook(SPAM))), Severity.WARNING, "create and delete pods, create and update workloads.scheduling.k8s.io"),
        (
            lambda: world(others({key: each for key, each in webhook(PODS).items() if key != "failurePolicy"})),
            Severity.WARNING,
            "create pods",
        ),
        (
            lambda: world(others(webhook(PODS, objectSelector={"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}))),
            Severity.WARNING,
            "refuses create pods in",
        ),
        (
            lambda: world(
                others(webhook(PODS, matchConditions=when("!has(object.metadata.deletionTimestamp)", "request.operation != 'DELETE'")))
            ),
            Severity.WARNING,
            "refuses create pods in",
        ),
        (lambda: world(others(webhook(PODS), kind=MUTATING)), Severity.WARNING, "refuses create pods in"),
        (lambda: world(others(webhook(PODS)), live=False), Severity.WARNING, "refuses create pods in"),
    ],
    "foreign-blocks-system": [
        (
            lambda: world(others(webhook(PODS, namespaceSelector=but("policy-system")))),
            Severity.WARNING,
            "refuses create pods in kube-system and muster-system, while its server is down",
        ),
        (
            lambda: world(others(webhook(LEASES, namespaceSelector={}))),
            Severity.WARNING,
            "update leases.coordination.k8s.io in kube-system, kube-node-lease and muster-system, while its",
        ),
        (
            lambda: world(others(webhook(PODS, namespaceSelector=OPTED_IN)), labelled("kube-system", policy="on")),
            Severity.WARNING,
            "refuses create pods in kube-system, while",
        ),
        (
            lambda: world(others(webhook(PODS, name="a.x", namespaceSelector={}), webhook(LEASES, name="b.x", namespaceSelector={}))),
            Severity.WARNING,
            "; b.x refuses update leases.coordination.k8s.io in kube-system, kube-node-lease and muster-system, while their servers are down",
        ),
        (lambda: world(others(webhook(NODES))), Severity.WARNING, "refuses create nodes, which no namespaceSelector exempts"),
        (
            lambda: world(
                others(webhook(NODES | {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"]})),
                api_server=ApiServer(36, worlds.RESOURCES, GATES),
            ),
            Severity.WARNING,
            "refuses create tokenreviews.authentication.k8s.io, which",
        ),
    ],
    "foreign-self-lock": [
        (
            lambda: world(others(webhook(PODS, namespaceSelector=but("kube-system")))),
            Severity.ERROR,
            "refuses create pods in policy-system, the namespace of its own server, while that is down",
        ),
        (
            lambda: world(others(webhook(PODS, namespaceSelector={}, objectSelector={"matchLabels": {"tier": "admission"}}))),
            Severity.ERROR,
            "in policy-system",
        ),
        (
            lambda: world(others(webhook(PODS, namespaceSelector=OPTED_IN)), labelled(NAMESPACE, policy="on")),
            Severity.ERROR,
            "in policy-system",
        ),
        (
            lambda: world(
                others(webhook(PODS, namespaceSelector={}, objectSelector={"matchLabels": {"app": POLICY}})), without("Deployment")
            ),
            Severity.ERROR,
            "in policy-system",
        ),
        (
            lambda: world(
                others(webhook(PODS, namespaceSelector={}, objectSelector={"matchLabels": {"tier": "admission"}})), without("Deployment")
            ),
            Severity.WARNING,
            "unless its matchConditions or its objectSelector exempt them",
        ),
        (
            lambda: world(others(webhook(PODS, namespaceSelector={}, matchConditions=when("object.spec.schedulerName == 'x'")))),
            Severity.WARNING,
            "unless its matchConditions",
        ),
    ],
    "foreign-unreachable": [
        (
            lambda: world(others(webhook(PODS)), without("Service")),
            Severity.ERROR,
            "there is no Service policy-system/policy; if its program was removed, delete the configuration: pods.policy.example refuses create pods",
        ),
        (
            lambda: world(others(webhook(PODS)), of_service(ports=[{"port": 8443}])),
            Severity.ERROR,
            "port 443 is called, and the ports of Service policy-system/policy are 8443",
        ),
        (lambda: world(others(webhook(PODS)), of_service(ports=[])), Severity.ERROR, "are none"),
        (
            lambda: world(others(webhook(PODS)), endpoints({"addresses": ["10.0.0.9"], "conditions": {"ready": False}})),
            Severity.ERROR,
            "Service policy-system/policy has no ready endpoint for port 443",
        ),
        (lambda: world(others(webhook(PODS)), without("EndpointSlice")), Severity.ERROR, "no ready endpoint"),
        (lambda: world(others(webhook(PODS)), endpoints({}, ports=[{"name": "other", "port": 1}])), Severity.ERROR, "no ready endpoint"),
        (
            lambda: world(others(webhook(PODS, namespaceSelector={}, matchConditions=when("object.spec.x == 1"))), without("Service")),
            Severity.WARNING,
            "unless its matchConditions exempt them",
        ),
    ],
    "foreign-ca": [
        (lambda: world(others(webhook(PODS, **bundle(OLD)))), Severity.ERROR, "its certificates are expired, the last one at 2026-05-27"),
        (lambda: world(others(webhook(PODS, **bundle(SOON)))), Severity.WARNING, "its certificates expire, the last one at 2026-07-11"),
        (
            lambda: world(others(webhook(PODS, **bundle(worlds.authority(at=NOW + DAY))))),
            Severity.ERROR,
            "are not valid before 2026-07-01 23:55 UTC",
        ),
        (lambda: world(others(webhook(PODS, **bundle(extra=BROKEN)))), Severity.ERROR, "has no PEM certificate that can be read"),
        (lambda: world(others(webhook(PODS, **bundle(extra=b"nonsense")))), Severity.ERROR, "has no PEM certificate that can be read"),
        (
            lambda: world(others(webhook(PODS, clientConfig={"service": webhook()["clientConfig"]["service"]}))),
            Severity.ERROR,
            "is missing, and no public CA signs certificates of policy.policy-system.svc, for pods.policy.example",
        ),
        (lambda: world(others(webhook(PODS, **url("https://10.0.0.1/validate")))), Severity.ERROR, "certificates of 10.0.0.1"),
        (lambda: world(others(webhook(PODS, **url("https://policy/validate")))), Severity.ERROR, "certificates of policy,"),
        (lambda: world(others(webhook(PODS, **bundle(OLD))), live=False), Severity.ERROR, "are expired"),
    ],
    "foreign-timeout": [
        (lambda: world(others(webhook(PODS, timeoutSeconds=11))), Severity.WARNING, "is 11 s: must be at most 10 s for create pods"),
        (
            lambda: world(others(webhook(PODS, timeoutSeconds=30, failurePolicy="Ignore"))),
            Severity.WARNING,
            "is 30 s: must be at most 10 s",
        ),
        (
            lambda: world(others(webhook(LEASES, namespaceSelector={}, failurePolicy="Ignore", timeoutSeconds=5))),
            Severity.WARNING,
            "is 5 s: must be at most 4 s for update leases",
        ),
        (
            lambda: world(
                others(
                    {
                        key: each
                        for key, each in webhook(SPAM, namespaceSelector={}).items()
                        if key not in ("timeoutSeconds", "failurePolicy")
                    }
                )
            ),
            Severity.WARNING,
            "is 10 s (the default): must be at most 4 s",
        ),
    ],
    "foreign-dry-run": [
        (lambda: world(others(webhook(PODS, sideEffects="Some"))), Severity.WARNING, "is Some: must be None or NoneOnDryRun"),
        (lambda: world(others(webhook(GROUPS, sideEffects="Unknown", failurePolicy="Ignore"))), Severity.WARNING, "is Unknown: must be"),
    ],
    "policy-refuses": [
        (
            lambda: world(policy("false", rules=(PODS, GROUPS), bound={"namespaceSelector": EXEMPT})),
            Severity.ERROR,
            "its policy policy refuses create pods, create podgroups.scheduling.k8s.io, whatever the object",
        ),
        (
            lambda: world(policy("object.spec.x == 1", "!(request.operation in ['CREATE', 'UPDATE'])", rules=(LEASES,))),
            Severity.ERROR,
            "refuses update leases.coordination.k8s.io in kube-system, kube-node-lease and muster-system, whatever the object",
        ),
        (lambda: world(policy("false", rules=(NODES,))), Severity.ERROR, "refuses create nodes, whatever the object"),
        (
            lambda: world(policy("object.spec.x == 1", rules=(PODS,), bound={"namespaceSelector": EXEMPT}), type_error),
            Severity.WARNING,
            "has type errors in spec.validations[0].expression, and failurePolicy is Fail: it refuses create pods if such",
        ),
    ],
    "timeouts-add-up": [
        (
            lambda: world(others(*several(10, 4, failurePolicy="Ignore"), kind=MUTATING)),
            Severity.WARNING,
            "for create pods, timeouts add up to 40 s, and the API server ends a request after 34 s: w0.policy.example (10 s), w1",
        ),
        (
            lambda: world(others(webhook(GROUPS, timeoutSeconds=29), kind=MUTATING), _second(webhook(GROUPS, timeoutSeconds=10))),
            Severity.WARNING,
            "for create podgroups.scheduling.k8s.io, timeouts add up to 39 s",
        ),
    ],
}


def _second(*webhooks: worlds.Content) -> worlds.Change:
    """Add a validating configuration with another name."""

    def change(objects: worlds.Objects) -> None:
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": CONFIGURATION[0], "metadata": {"name": "second"}}
        objects[CONFIGURATION[0], "second"] = {**head, "webhooks": [*webhooks]}

    return change
