"""Each check on installations that comply with it and that violate it.  The base is the manifests of ``deploy/``, without a finding."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import shlex
from collections.abc import Callable

import pytest
import yaml

from muster.doctor.checks import discover, examine
from muster.doctor.finding import Diagnosis, Unseen
from muster.doctor.latencies import Latency, read_latencies
from muster.doctor.leaves import trusts
from muster.doctor.rights import needed
from muster.doctor.world import ApiServer, Item, Replica, World, ignored_items
from tests.muster.doctor import built_examples, foreign_examples, probe_examples, worlds
from tests.muster.doctor.worlds import (
    CA,
    GATES,
    NAMESPACE,
    NOW,
    PAIR,
    RESOURCES,
    SERVER,
    TARGET,
    in_container,
    in_webhooks,
    trust,
    with_argument,
    world,
)
from validators.reports import custom_resources
from validators.rules.base import Severity

DAY = dt.timedelta(days=1)
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "Namespaced"}
NODES = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["nodes/*"]}
OTHER = worlds.authority()


def ignored(**spec):
    """A custom resource and a built-in object of its name; the fields of *spec* are those of the latter."""

    def one(api_version, **fields):
        metadata = {"name": "train", "namespace": "research"}
        return Item({"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": fields})

    return tuple(
        ignored_items([one("scheduling.muster.dev/v1beta1", schedulingPolicy={"basic": {}}), one("scheduling.k8s.io/v1beta1", **spec)])
    )


def catching(*rules, **fields):
    """Every first webhook has these rules, and selects every namespace and object unless *fields* say otherwise."""
    return in_webhooks(lambda each: each.update({"namespaceSelector": {}, "matchConditions": [], "rules": [*rules], **fields}), 0)


def budget(**spec):
    def change(objects):
        selector = objects["PodDisruptionBudget", SERVER]["spec"]["selector"]
        objects["PodDisruptionBudget", SERVER]["spec"] = {"selector": selector, **spec}

    return change


def replicas(number, ready=None):
    def change(objects):
        objects["Deployment", SERVER]["spec"]["replicas"] = number
        objects["Deployment", SERVER]["status"] = {"readyReplicas": number if ready is None else ready}

    return change


def with_variable(name, value):
    return in_container(
        SERVER, lambda each: each.update(env=[*(old for old in each.get("env", []) if old["name"] != name), {"name": name, "value": value}])
    )


def each_path(webhook):
    """The path of a webhook without its mode."""
    return "/" + webhook["clientConfig"]["service"]["path"].split("/")[1]


def without(kind, name):
    return lambda objects: objects.pop((kind, name))


def put(content):
    return lambda objects: objects.update({(content["kind"], content["metadata"]["name"]): content})


def served(pair, distrust="", address="10.0.0.1:9443", **fields):
    return Replica(TARGET, address, pair.certificate, distrust={PAIR.ca: distrust}, **fields)


def secret(pair):
    def change(objects):
        objects["Secret", "muster-webhook-tls"]["data"] = {"tls.crt": worlds.encoded(pair.certificate)}

    return change


def service_port(**fields):
    return lambda objects: objects["Service", SERVER]["spec"]["ports"][0].update(fields)


def ingress(*rules, **spec):
    """Set the rules of the server's NetworkPolicy."""
    return lambda objects: objects["NetworkPolicy", SERVER]["spec"].update({"ingress": [*rules], **spec})


def policy(name="default-deny", **spec):
    """Add a NetworkPolicy for all pods of the namespace."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return put({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": {"podSelector": {}, **spec}})


def second_sidecar(**metadata):
    def change(objects):
        first = objects["Deployment", "muster-sidecar"]
        objects["Deployment", "other"] = {**first, "metadata": {**first["metadata"], "name": "other", **metadata}}

    return change


def measured(seconds, count=1000, path="/validate"):
    return (Latency("pod a", path, count, seconds), Latency("pod b", path, count, 0.001))


def workload(parent="gang", child="gang", mode="single", parent_mode="single", **metadata):
    """Add a Workload with one template below another."""
    policies = {"gang": {"gang": {"minCount": 2}}, "basic": {"basic": {}}}
    above = {"gang": {"gang": {"minGroupCount": 1}}, "basic": {"basic": {}}}
    leaf = {"name": "workers", "schedulingPolicy": policies[child], "disruptionMode": {mode: {}}}
    root = {"name": "root", "schedulingPolicy": above[parent], "disruptionMode": {parent_mode: {}}, "podGroupTemplates": [leaf]}
    named = {"name": "train", "namespace": "default", **metadata}
    spec = {"compositePodGroupTemplates": [root]}
    return put({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": named, "spec": spec})


def tree(child):
    """Add a gang of one group with the scheduling policy *child*."""
    reference = {"workloadName": "train"}
    root = {"workloadRef": {**reference, "templateName": "root"}, "schedulingPolicy": {"gang": {"minGroupCount": 1}}}
    leaf = {"workloadRef": {**reference, "templateName": "workers"}, "parentCompositePodGroupName": "root", "schedulingPolicy": child}

    def change(objects):
        for kind, version, name, spec in (("CompositePodGroup", "v1alpha3", "root", root), ("PodGroup", "v1beta1", "leaf", leaf)):
            metadata = {"name": name, "namespace": "default"}
            put({"apiVersion": f"scheduling.k8s.io/{version}", "kind": kind, "metadata": metadata, "spec": spec})(objects)

    return change


def revoked(base: World, *names):
    """Take permissions from the sidecar."""
    granted = {
        account: {each: not (account[1] == "muster-sidecar" and str(each) in names) for each in known}
        for account, known in base.granted.items()
    }
    return dataclasses.replace(base, granted=granted)


def facts(minor=37, resources=RESOURCES, **gates):
    return ApiServer(minor, resources, {**GATES, **gates})


CUSTOM = frozenset(f"scheduling.muster.dev/v1beta1/{each}" for each in ("workloads", "podgroups", "compositepodgroups"))


def defined(change=None):
    """Add the definitions of custom resources, that of PodGroups with a *change*."""

    def changed(objects):
        for each in custom_resources.definitions():
            objects[each["kind"], each["metadata"]["name"]] = each
        if change is not None:
            change(objects["CustomResourceDefinition", "podgroups.scheduling.muster.dev"])

    return changed


def schema_of(definition):
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def managed(*roles):
    """Let the server manage its certificate, with these roles."""

    def change(objects):
        objects["Deployment", SERVER]["spec"]["template"]["spec"]["volumes"] = []
        with_argument(SERVER, "--certificates=managed")(objects)
        for each in roles:
            put(each)(objects)

    return change


NOT_IN_SYSTEM = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", NAMESPACE]}]}
EXPIRED = worlds.pair(worlds.authority(at=NOW - 400 * DAY), at=NOW - 366 * DAY)
LATE = worlds.pair(worlds.authority(at=NOW - 300 * DAY), at=NOW - 300 * DAY)
OLD_CA = worlds.authority(1000, NOW - 900 * DAY)
CERTIFICATE_ROLES = [*yaml.safe_load_all((worlds.DEPLOY / "components/managed-certificate/rbac.yaml").read_text(encoding="utf-8"))]
ROLES = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")

VALID: dict[str, list[Callable[[], World]]] = {
    **built_examples.VALID,
    **foreign_examples.VALID,
    **probe_examples.VALID,
    "self-lock": [
        lambda: world(catching(PODS, namespaceSelector=NOT_IN_SYSTEM)),
        lambda: world(catching(PODS, failurePolicy="Ignore")),
        lambda: world(
            catching(PODS, matchConditions=[{"name": "x", "expression": "!(request.namespace in ['kube-system', 'muster-system'])"}])
        ),
        lambda: world(catching(PODS | {"scope": "Cluster"})),
        lambda: world(catching(PODS | {"operations": ["DELETE"]})),
        lambda: world(catching(PODS, namespaceSelector={"matchLabels": {"muster.dev/enforce": "true"}})),
    ],
    "fail-without-replicas": [
        lambda: world(replicas(2)),
        lambda: world(replicas(1), in_webhooks(lambda each: each.update(failurePolicy="Ignore"))),
        lambda: world(replicas(3, 0), live=False),
    ],
    "fail-without-budget": [lambda: world(budget(minAvailable=1)), lambda: world(budget(maxUnavailable="34%"))],
    "drain-blocked": [lambda: world(budget(minAvailable=2)), lambda: world(budget(minAvailable="50%"))],
    "fail-in-lenient-mode": [
        world,
        lambda: world(with_argument(SERVER, "--enforcement=audit,gang-minimum=deny")),
        lambda: world(with_argument(SERVER, "--enforcement=gang-minimum=audit")),
        lambda: world(with_argument(SERVER, "--enforcement=audit"), in_webhooks(lambda each: each.update(failurePolicy="Ignore"))),
    ],
    "path-unknown": [
        world,
        lambda: world(in_webhooks(lambda each: each["clientConfig"]["service"].update(path=f"{each_path(each)}/deny"))),
    ],
    "review-seconds-long": [
        world,
        lambda: world(with_variable("MUSTER_REQUEST_SECONDS", "2.9")),
        lambda: world(with_variable("MUSTER_REQUEST_SECONDS", "x")),
    ],
    "timeout-exceeded": [lambda: world(latencies=measured(1.4)), lambda: world(latencies=measured(9.0, path="/other"))],
    "timeout-long": [lambda: world(in_webhooks(lambda each: each.update(timeoutSeconds=5)))],
    "ca-bundle-missing": [
        lambda: world(trust(b""), managed(), live=False),
        lambda: world(
            trust(b""),
            lambda objects: [
                each["metadata"].update(annotations={"cert-manager.io/inject-ca-from": "x/y"})
                for (kind, _), each in objects.items()
                if kind.endswith("WebhookConfiguration")
            ],
            live=False,
        ),
    ],
    "leaf-untrusted": [lambda: world(trust(CA.certificate + OTHER.certificate)), world],
    "leaf-names": [lambda: world(secret(worlds.pair(CA, "*.muster-system.svc", "10.0.0.1")), replicas=())],
    "leaf-expiry": [lambda: world(secret(worlds.pair(CA, at=NOW - 200 * DAY)), replicas=())],
    "ca-expiry": [lambda: world(trust(CA.certificate + OLD_CA.certificate)), world],
    "leaf-stale": [lambda: world(replicas=(served(PAIR), served(PAIR, address="10.0.0.2:9443"))), lambda: world(replicas=())],
    "unreachable": [world, lambda: world(service_port(targetPort=9443)), lambda: world(service_port(targetPort="9443"))],
    "port-closed": [
        lambda: world(policy()),
        lambda: world(ingress({})),
        lambda: world(ingress({"ports": [{"port": 9443}]})),
        lambda: world(ingress({"ports": [{"protocol": "TCP"}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]})),
        lambda: world(ingress({"ports": [{"port": 9000, "endPort": 9443}]})),
        lambda: world(ingress(policyTypes=["Egress"])),
        lambda: world(without("NetworkPolicy", SERVER)),
        lambda: world(without("NetworkPolicy", SERVER), policy(podSelector={"matchLabels": {"app.kubernetes.io/name": "other"}})),
        lambda: world(ingress({"ports": [{"port": "webhook"}]}), service_port(targetPort=9443)),
    ],
    "api-not-served": [
        lambda: world(
            api_server=facts(resources=RESOURCES - {"scheduling.k8s.io/v1beta1/workloads"} | {"scheduling.k8s.io/v1alpha3/workloads"})
        ),
        lambda: world(
            put(
                worlds.control_plane(
                    "kube-apiserver", "v1.37.1", "--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"
                )
            ),
            live=False,
        ),
        lambda: world(api_server=facts(30, CUSTOM)),
        lambda: world(put(worlds.control_plane("kube-apiserver", "v1.30.14")), defined(), live=False),
    ],
    "definitions-differ": [
        lambda: world(defined()),
        lambda: world(defined(lambda each: each.update(status={"storedVersions": ["v1beta1"]}))),
        lambda: world(defined(lambda each: each["spec"].update(conversion={"strategy": "None"}))),
        lambda: world(defined(), live=False),
    ],
    "gate-off": [
        lambda: world(api_server=facts(30, CUSTOM, GenericWorkload=False)),
        lambda: world(
            with_argument(SERVER, "--gates=CompositePodGroup=false"),
            with_argument("muster-sidecar", "--gates=CompositePodGroup=false"),
            api_server=facts(CompositePodGroup=False),
        ),
    ],
    "gates-differ": [
        lambda: world(api_server=ApiServer(37, RESOURCES, {"GenericWorkload": True})),
        lambda: world(api_server=facts(37, CUSTOM, GenericWorkload=False)),
    ],
    "object-ignored": [lambda: world(ignored=tuple(ignored_items(each.item for each in ignored())))],
    "kubernetes-differs": [
        lambda: world(with_argument(SERVER, "--kubernetes=1.38"), api_server=facts(38)),
        lambda: world(with_argument(SERVER, "--kubernetes=1.38"), api_server=facts(39)),
        lambda: world(api_server=facts(30, CUSTOM)),
    ],
    "scheduler-too-old": [
        lambda: world(
            put(worlds.scheduler("v1.30.14", "")), with_argument("muster-sidecar", "--mode=validate"), api_server=facts(30, CUSTOM)
        ),
        lambda: world(put(worlds.scheduler("v1.38.0"))),
        lambda: world(put(worlds.scheduler("v1.37.1", "AllAlpha=true,AllBeta=true"))),
        lambda: world(put({**worlds.scheduler("v1.36.0"), "status": {"phase": "Succeeded"}})),
    ],
    "rights-missing": [
        lambda: world(managed(*CERTIFICATE_ROLES), live=False),
        lambda: world(live=False),
        lambda: world(*(_without_kind(kind) for kind in ROLES), live=False),
    ],
    "upgrade-blocks-updates": [
        lambda: world(workload(child="basic")),
        lambda: world(workload(), upgrade_to=38),
        lambda: world(workload(parent="basic", child="basic"), upgrade_to=38),
    ],
    "upgrade-blocks-creation": [
        lambda: world(workload(parent="basic", mode="all", child="basic")),
        lambda: world(workload(mode="all"), upgrade_to=38),
        lambda: world(workload(child="basic"), upgrade_to=38),
    ],
    "upgrade-blocks-placement": [
        lambda: world(tree({"basic": {}})),
        lambda: world(tree({"gang": {"minCount": 1}}), upgrade_to=38),
    ],
    "upgrade-gates": [
        lambda: world(put(worlds.scheduler(gates="PodGroupPreemptionPolicy=true"))),
        lambda: world(put(worlds.scheduler(gates="GenericWorkload=true,EnvFiles=true")), upgrade_to=38),
    ],
    "two-schedulers": [
        lambda: world(bindings=frozenset({("muster", "a"), ("default-scheduler", "b")})),
        lambda: world(with_argument("muster-sidecar", "--mode=ungate"), bindings=frozenset({("muster", "a"), ("default-scheduler", "a")})),
        lambda: world(second_sidecar()),
    ],
}
INVALID: dict[str, list[tuple[Callable[[], World], Severity, str]]] = {
    **built_examples.INVALID,
    **foreign_examples.INVALID,
    **probe_examples.INVALID,
    "self-lock": [
        (lambda: world(catching(PODS)), Severity.ERROR, "refuses create pods in muster-system, its own namespace"),
        (lambda: world(catching(PODS)), Severity.ERROR, "refuses create pods in kube-system, where network"),
        (lambda: world(catching(NODES)), Severity.ERROR, "refuses create nodes, update nodes/status of the whole cluster"),
        (
            lambda: world(catching(PODS, matchConditions=[{"name": "x", "expression": "object.spec.schedulerName == 'muster'"}])),
            Severity.WARNING,
            "unless its matchConditions exempt them",
        ),
        (
            lambda: world(catching(PODS, matchConditions=[{"name": "x", "expression": "request.namespace != 'kube-system'"}])),
            Severity.ERROR,
            "refuses create pods in muster-system",
        ),
        (
            lambda: world(in_webhooks(lambda each: each.update(namespaceSelector={}), 0)),
            Severity.WARNING,
            "also reviews groups in muster-system",
        ),
        (
            lambda: world(catching(PODS, objectSelector={"matchLabels": {"app.kubernetes.io/name": SERVER}})),
            Severity.ERROR,
            "refuses create pods in muster-system",
        ),
    ],
    "fail-without-replicas": [
        (lambda: world(replicas(1)), Severity.ERROR, "is 1, and failurePolicy is Fail in MutatingWebhookConfiguration muster, Validating"),
        (lambda: world(replicas(3, 0)), Severity.ERROR, "no replica is ready"),
    ],
    "fail-without-budget": [
        (lambda: world(without("PodDisruptionBudget", SERVER)), Severity.WARNING, "no PodDisruptionBudget selects its pods"),
        (lambda: world(budget(maxUnavailable="100%")), Severity.WARNING, "allows the eviction of all 3 replicas"),
        (lambda: world(budget(minAvailable=0)), Severity.WARNING, "allows the eviction of all 3 replicas"),
    ],
    "drain-blocked": [
        (lambda: world(budget(minAvailable=3)), Severity.WARNING, "allows no eviction of the 3 replicas"),
        (lambda: world(budget(minAvailable="67%")), Severity.WARNING, "allows no eviction"),
        (lambda: world(budget(maxUnavailable=0)), Severity.WARNING, "allows no eviction"),
        (lambda: world(budget()), Severity.WARNING, "allows no eviction"),
    ],
    "fail-in-lenient-mode": [
        (
            lambda: world(in_webhooks(lambda each: each.update(failurePolicy="Fail"), 3)),
            Severity.WARNING,
            "Ignore for groups-audit.muster.dev",
        ),
        (lambda: world(in_webhooks(lambda each: each.pop("failurePolicy"), 2)), Severity.WARNING, "Ignore for groups-warn.muster.dev"),
        (lambda: world(with_argument(SERVER, "--enforcement=audit")), Severity.WARNING, "must be Ignore for groups.muster.dev"),
    ],
    "path-unknown": [
        (
            lambda: world(in_webhooks(lambda each: each["clientConfig"]["service"].update(path="/nope"), 0)),
            Severity.ERROR,
            "is /nope: must be /validate, or /validate/MODE",
        ),
        (
            lambda: world(in_webhooks(lambda each: each.update(clientConfig={"url": "https://muster-webhook.muster-system.svc/x"}), 0)),
            Severity.ERROR,
            "is /x: must be /mutate",
        ),
    ],
    "port-closed": [
        (lambda: world(ingress()), Severity.ERROR, "no rule allows ingress to port webhook of Deployment muster-system/muster-webhook"),
        (
            lambda: world(ingress(), lambda objects: objects["NetworkPolicy", SERVER]["spec"].pop("policyTypes")),
            Severity.ERROR,
            "selected by muster-webhook",
        ),
        (lambda: world(ingress({"ports": [{"port": "probes"}]})), Severity.ERROR, "no rule allows ingress to port webhook"),
        (lambda: world(ingress({"ports": [{"port": 9443, "protocol": "UDP"}]})), Severity.ERROR, "no rule allows ingress to port webhook"),
        (lambda: world(ingress({"ports": [{"port": 9000, "endPort": 9442}]})), Severity.ERROR, "no rule allows ingress to port webhook"),
        (lambda: world(ingress(), service_port(targetPort=9443)), Severity.ERROR, "no rule allows ingress to port 9443"),
        (lambda: world(without("NetworkPolicy", SERVER), policy(), live=False), Severity.ERROR, "selected by default-deny"),
    ],
    "review-seconds-long": [
        (lambda: world(with_variable("MUSTER_REQUEST_SECONDS", "20")), Severity.WARNING, "is 20, and timeoutSeconds of its webhooks 3"),
    ],
    "timeout-exceeded": [
        (lambda: world(latencies=measured(3.5)), Severity.ERROR, "is 3 s, and the 99th percentile of 1,000 reviews of /validate is 3.5 s"),
        (lambda: world(latencies=measured(1.6)), Severity.WARNING, "is 1.6 s (pod a)"),
        (lambda: world(latencies=measured(math.inf)), Severity.ERROR, "is more than 10 s"),
    ],
    "timeout-long": [
        (lambda: world(in_webhooks(lambda each: each.update(timeoutSeconds=30))), Severity.WARNING, "is 30 s: must be at most 5 s"),
        (lambda: world(in_webhooks(lambda each: each.pop("timeoutSeconds"))), Severity.WARNING, "is 10 s (the default)"),
    ],
    "ca-bundle-missing": [
        (lambda: world(trust(b""), managed()), Severity.ERROR, "no PEM certificate for groups.muster.dev"),
        (
            lambda: world(in_webhooks(lambda each: each["clientConfig"].pop("caBundle"), 1)),
            Severity.ERROR,
            "no PEM certificate for groups-deny",
        ),
        (lambda: world(trust(b"nonsense")), Severity.ERROR, "has no PEM certificate for groups.muster.dev, "),
        (
            lambda: world(in_webhooks(lambda each: each["clientConfig"].update(caBundle="%")), live=False),
            Severity.ERROR,
            "no PEM certificate",
        ),
    ],
    "leaf-untrusted": [
        (
            lambda: world(trust(OTHER.certificate), replicas=()),
            Severity.ERROR,
            "certificate of Secret muster-system/muster-webhook-tls: none of its CAs",
        ),
        (lambda: world(replicas=(served(PAIR, "self-signed"),)), Severity.ERROR, "certificate of replica 10.0.0.1:9443: self-signed"),
    ],
    "leaf-names": [
        (
            lambda: world(secret(worlds.pair(CA, "webhook.example.com"))),
            Severity.ERROR,
            "does not name muster-webhook.muster-system.svc; it names webhook.example.com",
        ),
        (lambda: world(replicas=(served(worlds.pair(CA, "localhost")),)), Severity.ERROR, "replica 10.0.0.1:9443 does not name"),
    ],
    "leaf-expiry": [
        (lambda: world(managed(), secret(LATE)), Severity.WARNING, "is in the last third of its life"),
        (lambda: world(secret(EXPIRED)), Severity.ERROR, "is expired at 2026-06-30"),
        (lambda: world(secret(LATE)), Severity.WARNING, "is in the last third of its life, which ends at 2026-09-04"),
        (lambda: world(secret(worlds.pair(CA, at=NOW + DAY))), Severity.ERROR, "is not valid before"),
        (lambda: world(replicas=(served(LATE),)), Severity.WARNING, "the certificate of replica 10.0.0.1:9443 is in the last third"),
        (lambda: world(secret(dataclasses.replace(PAIR, certificate=b"x"))), Severity.ERROR, "does not hold a PEM certificate"),
    ],
    "ca-expiry": [
        (
            lambda: world(trust(OLD_CA.certificate), secret(worlds.pair(OLD_CA, days=30)), replicas=()),
            Severity.WARNING,
            "its CA CN=muster-webhook-ca is in the last third",
        ),
        (
            lambda: dataclasses.replace(
                world(trust(OLD_CA.certificate), secret(worlds.pair(OLD_CA, days=3650)), replicas=()), now=NOW + 200 * DAY
            ),
            Severity.ERROR,
            "its CA CN=muster-webhook-ca is expired",
        ),
        (lambda: world(trust(OLD_CA.certificate), without("Secret", "muster-webhook-tls"), replicas=()), Severity.WARNING, "last third"),
    ],
    "leaf-stale": [
        (lambda: world(replicas=(served(worlds.pair(CA)),)), Severity.WARNING, "serves another certificate than Secret muster-system/"),
        (
            lambda: world(
                without("Secret", "muster-webhook-tls"), replicas=(served(PAIR), served(worlds.pair(CA), address="10.0.0.2:9443"))
            ),
            Severity.WARNING,
            "replica 10.0.0.2:9443 serves another certificate than replica 10.0.0.1:9443",
        ),
        (
            lambda: world(replicas=(served(PAIR), served(worlds.pair(CA)))),
            Severity.WARNING,
            "a process of replica 10.0.0.1:9443 serves another certificate than Secret muster-system/",
        ),
        (
            lambda: world(without("Secret", "muster-webhook-tls"), replicas=(served(PAIR), served(worlds.pair(CA)))),
            Severity.WARNING,
            "a process of replica 10.0.0.1:9443 serves another certificate than another process of it",
        ),
    ],
    "unreachable": [
        (lambda: world(without("Service", SERVER)), Severity.ERROR, "there is no Service muster-system/muster-webhook"),
        (
            lambda: world(service_port(port=8443)),
            Severity.ERROR,
            "calls port 443, and the ports of Service muster-system/muster-webhook are 8443",
        ),
        (lambda: world(service_port(targetPort="https")), Severity.ERROR, "targetPort https is not a port of Deployment"),
        (lambda: world(without("Deployment", SERVER)), Severity.ERROR, "selects the pods of no Deployment"),
        (
            lambda: world(replicas=(Replica(TARGET, "h:1", reason="refused", requested=True),)),
            Severity.ERROR,
            "h:1 of muster-system/muster-webhook does",
        ),
        (
            lambda: world(in_webhooks(lambda each: each.update(clientConfig={"url": "https://[x"}), 0)),
            Severity.ERROR,
            "a URL that can be parsed",
        ),
    ],
    "api-not-served": [
        (
            lambda: world(api_server=facts(resources=RESOURCES - {"scheduling.k8s.io/v1beta1/podgroups"})),
            Severity.ERROR,
            "does not serve podgroups of scheduling.k8s.io",
        ),
        (
            lambda: world(api_server=facts(resources=RESOURCES - {"scheduling.k8s.io/v1alpha3/compositepodgroups"})),
            Severity.WARNING,
            "compositepodgroups",
        ),
        (lambda: world(put(worlds.control_plane("kube-apiserver", "v1.37.1")), live=False), Severity.ERROR, "does not serve workloads"),
        (
            lambda: world(api_server=facts(30, CUSTOM - {"scheduling.muster.dev/v1beta1/podgroups"})),
            Severity.ERROR,
            "does not serve podgroups of scheduling.k8s.io in v1beta1 or v1alpha3, or of scheduling.muster.dev in v1beta1",
        ),
        (
            lambda: world(
                put(worlds.control_plane("kube-apiserver", "v1.30.14")),
                defined(lambda each: each["spec"]["versions"][0].update(served=False)),
                live=False,
            ),
            Severity.ERROR,
            "does not serve podgroups",
        ),
    ],
    "definitions-differ": [
        (
            lambda: world(defined(lambda each: schema_of(each)["properties"].pop("priority"))),
            Severity.WARNING,
            "differs from the definition of this version",
        ),
        (lambda: world(defined(lambda each: each["spec"]["names"].pop("shortNames")), live=False), Severity.WARNING, "differs"),
        (lambda: world(defined(lambda each: each.pop("spec"))), Severity.WARNING, "differs"),
    ],
    "gate-off": [
        (
            lambda: world(api_server=facts(GenericWorkload=False)),
            Severity.ERROR,
            "GenericWorkload is off: the API server drops spec.schedulingGroup",
        ),
        (lambda: world(api_server=facts(CompositePodGroup=False)), Severity.WARNING, "drops the parents of PodGroups"),
        (
            lambda: world(put(worlds.control_plane("kube-apiserver", "v1.37.1", "--feature-gates", "GenericWorkload=true")), live=False),
            Severity.WARNING,
            "TopologyAwareWorkloadScheduling is off",
        ),
    ],
    "gates-differ": [
        (lambda: world(api_server=facts(WithJob=True, WorkloadWithJob=False)), Severity.WARNING, "which has WorkloadWithJob=false"),
        (lambda: world(with_argument(SERVER, "--gates=WorkloadWithJob=false")), Severity.WARNING, "which has WorkloadWithJob=true"),
    ],
    "object-ignored": [
        (
            lambda: world(ignored=ignored(schedulingPolicy={"basic": {}}, priority=0)),
            Severity.WARNING,
            "is ignored: it is of scheduling.muster.dev, and PodGroup research/train of scheduling.k8s.io counts. Finish the move",
        ),
        (
            lambda: world(ignored=ignored(schedulingPolicy={"gang": {"minCount": 2}})),
            Severity.WARNING,
            "They differ in spec.schedulingPolicy, so muster migrate --cluster keeps it: delete it",
        ),
    ],
    "kubernetes-differs": [
        (lambda: world(api_server=facts(38)), Severity.WARNING, "its --kubernetes is 1.37, and the API server is 1.38"),
        (
            lambda: world(with_argument(SERVER, "--kubernetes=1.35"), api_server=facts(30, CUSTOM)),
            Severity.WARNING,
            "its --kubernetes is 1.35, and the API server is 1.30",
        ),
        (
            lambda: world(with_argument(SERVER, "--kubernetes=1.36")),
            Severity.WARNING,
            "its --kubernetes is 1.36, and the API server is 1.37",
        ),
    ],
    "scheduler-too-old": [
        (lambda: world(put(worlds.scheduler("v1.36.4"))), Severity.WARNING, "is 1.36, which ignores CompositePodGroups"),
        (
            lambda: world(put(worlds.scheduler("v1.36.4")), with_argument("muster-sidecar", "--mode=validate")),
            Severity.ERROR,
            "places the pods of a tree flat",
        ),
        (lambda: world(put(worlds.scheduler("v1.37.1", "GenericWorkload=true"))), Severity.WARNING, "CompositePodGroup off"),
    ],
    "rights-missing": [
        (
            lambda: world(managed(), live=False),
            Severity.ERROR,
            "muster-webhook lacks permissions: create secrets in namespace muster-system, get secrets muster-system/muster-webhook-tls",
        ),
        (
            lambda: revoked(world(), "create pods/binding"),
            Severity.ERROR,
            "ServiceAccount muster-system/muster-sidecar lacks permissions: create pods/binding",
        ),
        (
            lambda: world(without("ClusterRoleBinding", "muster-sidecar-preempt"), live=False),
            Severity.ERROR,
            "lacks permissions: list poddisruptionbudgets.policy, watch poddisruptionbudgets.policy, create pods/eviction",
        ),
        (
            lambda: world(without("RoleBinding", "muster-sidecar"), live=False),
            Severity.ERROR,
            "create leases.coordination.k8s.io in namespace muster-sys",
        ),
        (
            lambda: world(lambda objects: objects["ClusterRole", "muster-webhook"]["rules"].pop(), live=False),
            Severity.ERROR,
            "ServiceAccount muster-system/muster-webhook lacks permissions: list nodes, watch nodes",
        ),
    ],
    "upgrade-blocks-updates": [
        (lambda: world(workload(child="basic"), upgrade_to=38), Severity.ERROR, "Kubernetes 1.38 refuses every update of the object: "),
        (
            lambda: world(workload(child="basic", finalizers=["a.com/x"]), upgrade_to=38),
            Severity.ERROR,
            "and it cannot be deleted either, since a.com/x cannot be removed: ",
        ),
        (lambda: world(workload(parent_mode="all"), upgrade_to=38), Severity.ERROR, "Kubernetes 1.38 refuses every update of the object: "),
    ],
    "upgrade-blocks-creation": [
        (
            lambda: world(workload(parent="basic", mode="all", child="basic"), upgrade_to=38),
            Severity.WARNING,
            "Kubernetes 1.38 keeps the object, and refuses to create it again: ",
        )
    ],
    "upgrade-blocks-placement": [
        (lambda: world(tree({"basic": {}}), upgrade_to=38), Severity.ERROR, "kube-scheduler 1.38 places no group of its tree: ")
    ],
    "upgrade-gates": [
        (
            lambda: world(put(worlds.scheduler(gates="PodGroupPreemptionPolicy=false")), upgrade_to=38),
            Severity.ERROR,
            "--feature-gates names PodGroupPreemptionPolicy, which Kubernetes 1.38 no longer has",
        ),
        (
            lambda: world(put(worlds.scheduler(gates="EnvFiles=false")), upgrade_to=38),
            Severity.ERROR,
            "--feature-gates names EnvFiles, which cannot be off from 1.38 on",
        ),
    ],
    "two-schedulers": [
        (
            lambda: world(bindings=frozenset({("muster", "a"), ("default-scheduler", "a"), ("muster", "b")})),
            Severity.WARNING,
            "muster and default-scheduler both place pods on a",
        ),
        (lambda: world(with_argument("muster-sidecar", "--scheduler-name=default-scheduler")), Severity.ERROR, "kube-scheduler places too"),
        (lambda: world(with_argument("muster-sidecar", "--lease=none")), Severity.ERROR, "has 2 replicas and --lease none"),
        (lambda: world(second_sidecar(namespace="elsewhere")), Severity.ERROR, "places the pods with schedulerName muster, as"),
    ],
}


def _without_kind(kind):
    def change(objects):
        for key in [each for each in objects if each[0] == kind]:
            del objects[key]

    return change


def defects(of: World, check: str) -> list[Diagnosis]:
    return [each for found, each in examine(of) if found.id == check and isinstance(each, Diagnosis)]


def test_the_shipped_manifests_have_no_finding() -> None:
    assert [(check.id, each) for check, each in examine(world())] == []


def test_in_files_only_what_files_show_is_judged() -> None:
    results = [*examine(world(live=False))]
    assert [each for _, each in results if isinstance(each, Diagnosis)] == []
    assert {check.id for check, each in results if isinstance(each, Unseen)} == {"api-not-served", "gate-off", "timeout-exceeded"}


def by_label(webhook):
    webhook["namespaceSelector"] = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}


def test_the_command_for_an_ignored_object_loses_nothing() -> None:
    """The move goes on only if the objects are equal; what an object owns stays when it is deleted."""
    (equal,), (other,) = (defects(world(ignored=ignored(**spec)), "object-ignored") for spec in ({"schedulingPolicy": {"basic": {}}}, {}))
    assert equal.command == "muster migrate --cluster"
    assert other.command == "kubectl -n research delete podgroups.scheduling.muster.dev/train --cascade=orphan"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"apiVersion": 1}, id="no API version"),
        pytest.param({"apiVersion": "scheduling.muster.dev/v1beta1", "spec": ["a"], "metadata": {"name": 1}}, id="no name"),
        pytest.param({"apiVersion": "example.com/v1"}, id="a kind of another project"),
        pytest.param({"apiVersion": "v1"}, id="the core group"),
    ],
)
def test_objects_without_a_name_or_group_of_ours_ignore_none(content) -> None:
    built_in = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "train"}}
    items = [Item({**built_in, **content}), Item(built_in)]
    assert list(ignored_items(items)) == []


@pytest.mark.parametrize("spec", [None, "text", ["a"], {"schedulingPolicy": 1}])
def test_ignored_objects_of_any_shape_are_reported(spec) -> None:
    (pair,) = ignored(schedulingPolicy={"basic": {}})
    for one in (pair.item, pair.used):
        broken = Item({**one.content, "spec": spec, "metadata": {**one.content["metadata"], "labels": "text"}})
        changed = dataclasses.replace(pair, **{"item" if one is pair.item else "used": broken})
        assert len(defects(world(ignored=(changed,)), "object-ignored")) == 1


UNREAD = {
    "services": ("unreachable", without("Service", SERVER)),
    "deployments": ("unreachable", without("Deployment", SERVER)),
    "statefulsets": ("unreachable", without("Deployment", SERVER)),
    "poddisruptionbudgets": ("fail-without-budget", without("PodDisruptionBudget", SERVER)),
    "customresourcedefinitions": ("definitions-differ", defined(lambda each: each["spec"].pop("names"))),
    "namespaces": (
        "self-lock",
        lambda objects: (without("Namespace", NAMESPACE)(objects), catching(PODS)(objects), in_webhooks(by_label)(objects)),
    ),
}
"""By resource: the check that needs its objects, and an installation without them."""


@pytest.mark.parametrize("resource", UNREAD)
def test_objects_that_cannot_be_read_are_not_missing(resource: str) -> None:
    check, change = UNREAD[resource]
    assert defects(world(change), check)
    known = world(change, unread=frozenset({resource}))
    assert defects(known, check) == []
    assert any(found.id == check and isinstance(each, Unseen) for found, each in examine(known))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda each: schema_of(each)["properties"].pop("priority"), ".properties.spec.properties.priority"),
        (lambda each: schema_of(each)["properties"]["priority"].update(maximum=1), ".properties.spec.properties.priority.maximum"),
        (lambda each: schema_of(each)["properties"]["priority"].update(minLength=1), ".properties.spec.properties.priority.minLength"),
        (lambda each: each["spec"]["names"].update(categories=["all"]), "spec.names.categories[0]"),
        (lambda each: each["spec"]["versions"].pop(), "spec.versions"),
    ],
)
def test_the_first_field_of_a_definition_that_differs_is_named(change, field) -> None:
    (defect,) = defects(world(defined(change)), "definitions-differ")

    assert defect.field.endswith(field)
    assert "kubectl apply --server-side --force-conflicts -k deploy/custom-resources" == defect.command


def test_definitions_of_a_release_are_upgraded_with_it() -> None:
    def of_release(definition):
        schema_of(definition)["properties"].pop("priority")
        names = {"meta.helm.sh/release-name": "gangs", "meta.helm.sh/release-namespace": "ours"}
        definition["metadata"]["annotations"] = {**names, "helm.sh/resource-policy": "keep"}

    (defect,) = defects(world(defined(of_release)), "definitions-differ")

    assert "helm upgrade gangs deploy/chart --namespace ours --reset-then-reuse-values" == defect.command


def test_a_control_plane_without_pods_gets_custom_resources() -> None:
    hosted = defects(world(api_server=facts(37, frozenset())), "api-not-served")
    own = defects(world(put(worlds.control_plane("kube-apiserver", "v1.37.1")), api_server=facts(37, frozenset())), "api-not-served")
    older = defects(world(put(worlds.control_plane("kube-apiserver", "v1.34.4")), api_server=facts(34, frozenset())), "api-not-served")

    assert [each.command.partition(" ")[0] for each in (*hosted, *own, *older)] == ["kubectl"] * 3 + ["sudo"] * 3 + ["kubectl"] * 3


def test_every_check_has_examples() -> None:
    assert set(discover()) == set(VALID) == set(INVALID)


@pytest.mark.parametrize(("check", "make"), [(check, make) for check, listed in VALID.items() for make in listed])
def test_valid(check: str, make: Callable[[], World]) -> None:
    assert defects(make(), check) == []


@pytest.mark.parametrize(("check", "make", "severity", "text"), [(check, *each) for check, listed in INVALID.items() for each in listed])
def test_invalid(check: str, make: Callable[[], World], severity: Severity, text: str) -> None:
    found = [each for each in defects(make(), check) if text in each.message]
    assert found, [each.message for each in defects(make(), check)]
    assert {each.severity for each in found} == {severity}
    assert all(shlex.split(each.command.replace("<", "")) for each in found)


def test_names_in_commands_are_quoted() -> None:
    def change(objects):
        configuration = objects["ValidatingWebhookConfiguration", "muster"]
        configuration["metadata"]["name"] = "x; rm -rf ~"

    (command,) = (each.command for each in defects(world(catching(NODES), change), "self-lock") if "rm -rf" in each.command)
    assert "x; rm -rf ~" in shlex.split(command)


def test_the_command_names_an_installation_elsewhere() -> None:
    def elsewhere(each):
        each["clientConfig"] = {"service": {"namespace": "team", "name": "webhook", "path": "/validate"}}

    commands = {each.command for each in defects(world(in_webhooks(elsewhere)), "ca-bundle-missing")}
    assert commands == {"muster certs rotate --namespace=team --service=webhook"}
    assert {each.command for each in defects(world(trust(b"")), "ca-bundle-missing")} == {"muster certs rotate"}


def test_the_command_names_the_secret_and_the_configurations_of_the_installation() -> None:
    def mount(spec):
        spec["volumes"][0]["secret"]["secretName"] = "mine"

    def change(objects):
        mount(objects["Deployment", SERVER]["spec"]["template"]["spec"])
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            objects[kind, "muster"]["metadata"]["name"] = "ours"

    commands = {each.command for each in defects(world(trust(b""), change), "ca-bundle-missing")}
    assert commands == {"muster certs rotate --secret=mine --configuration=ours"}


def test_replicas_that_manage_the_certificate_and_have_not_created_it_have_a_log() -> None:
    """`muster certs rotate` needs the Secret."""
    changes = trust(b""), managed()
    assert {each.command for each in defects(world(*changes), "ca-bundle-missing")} == {"muster certs rotate"}
    found = defects(world(*changes, without("Secret", "muster-webhook-tls")), "ca-bundle-missing")
    assert {each.command for each in found} == {"kubectl -n muster-system logs deployment/muster-webhook"}


def test_missing_permissions_are_granted_by_what_has_installed_the_component() -> None:
    def command(*changes):
        return {each.command for each in defects(world(*changes, without("ClusterRoleBinding", SERVER), live=False), "rights-missing")}

    def moved(objects):
        for kind, name in (("Deployment", SERVER), ("ServiceAccount", SERVER)):
            objects[kind, name]["metadata"]["namespace"] = "team"

    def with_pods(objects):
        env = objects["Deployment", SERVER]["spec"]["template"]["spec"]["containers"][0]["env"]
        env.append({"name": "MUSTER_WATCH_PODS", "value": "true"})

    def by_helm(objects):
        objects["Deployment", SERVER]["metadata"]["annotations"] = {"meta.helm.sh/release-name": "prod"}

    template = "helm template muster deploy/chart --namespace={} --show-only=templates/webhooks/rbac.yaml --set=webhooks.pods={} "
    rest = "--set=certificate.secretName=muster-webhook-tls | kubectl apply -f -"
    assert command() == {"kubectl apply -f deploy/base/rbac.yaml"}
    assert command(moved) == {template.format("team", "false") + rest}
    assert command(with_pods) == {template.format("muster-system", "true") + rest}
    other = with_argument(SERVER, "--certificate-secret=other")
    named = {each.command for each in defects(world(managed(*CERTIFICATE_ROLES), other, live=False), "rights-missing")}
    shown = "--show-only=templates/webhooks/rbac.yaml --show-only=templates/webhooks/certificate-rbac.yaml"
    values = "--set=webhooks.pods=false --set=certificate.secretName=other"
    assert named == {f"helm template muster deploy/chart --namespace=muster-system {shown} {values} | kubectl apply -f -"}
    upgrade = "helm upgrade prod deploy/chart --namespace=muster-system --reset-then-reuse-values --force-conflicts"
    assert command(by_helm) == {upgrade}


def test_a_closed_port_is_opened_in_the_policy_of_the_server() -> None:
    def command(*changes):
        (found,) = defects(world(*changes), "port-closed")
        return found.command

    def moved(objects):
        for kind in ("Deployment", "Service"):
            objects[kind, SERVER]["metadata"]["namespace"] = "team"
        objects["NetworkPolicy", "default-deny"]["metadata"]["namespace"] = "team"
        in_webhooks(lambda each: each["clientConfig"]["service"].update(namespace="team"))(objects)

    probes = {"ports": [{"port": "probes"}]}
    patch = shlex.split(command(policy(), ingress(probes)))
    assert ["kubectl", "-n", NAMESPACE, "patch", "networkpolicy", SERVER] == patch[:6]
    assert [probes, {"ports": [{"port": "webhook", "protocol": "TCP"}]}] == json.loads(patch[-1].removeprefix("--patch="))[0]["value"]
    denied = without("NetworkPolicy", SERVER), policy()
    assert command(*denied) == "kubectl apply -f deploy/base/network-policy.yaml"
    assert "patch networkpolicy default-deny" in command(*denied, service_port(targetPort=9443))
    shown = "--show-only=templates/webhooks/network-policy.yaml"
    assert command(*denied, moved) == f"helm template muster deploy/chart --namespace=team {shown} | kubectl apply -f -"


def test_fields_of_the_wrong_type_are_absent() -> None:
    """Nothing in a file ends the program."""
    normal = worlds.objects()
    for key, content in normal.items():
        if key[0] in ("ClusterRole", "Namespace", "ServiceAccount"):
            continue
        for field in content.keys() - {"kind", "apiVersion"}:
            for value in (None, "x", [1], {"a": 1, "template": [2], "spec": "y"}):
                broken = {**normal, key: {**content, field: value}}
                list(examine(World(now=NOW, items=tuple(map(Item, broken.values())))))


@pytest.mark.parametrize("path", [("clientConfig",), ("clientConfig", "service"), ("rules",), ("namespaceSelector",), ("matchConditions",)])
@pytest.mark.parametrize("value", [None, 1, "x", [1], {"matchExpressions": [1, {"operator": "Odd"}]}, [{"resources": 1}]])
def test_webhooks_of_the_wrong_type(path, value) -> None:
    def change(each):
        for key in path[:-1]:
            each = each[key]
        each[path[-1]] = value

    list(examine(world(in_webhooks(change), live=False)))
    in_container(SERVER, lambda each: each.update(args=value, env=value))


def test_a_chain_is_trusted_by_its_root() -> None:
    assert trusts(CA.certificate, PAIR.certificate)
    assert trusts(OTHER.certificate + CA.certificate, PAIR.certificate)
    assert not trusts(OTHER.certificate, PAIR.certificate)
    assert not trusts(CA.certificate, b"")
    assert not trusts(b"", PAIR.certificate + CA.certificate)


METRICS = """\
# TYPE muster_review_duration_seconds histogram
muster_review_duration_seconds_bucket{le="0.1",path="/validate"} 980.0
muster_review_duration_seconds_bucket{le="0.5",path="/validate"} 1000.0
muster_review_duration_seconds_bucket{le="+Inf",path="/validate"} 1000.0
muster_review_duration_seconds_bucket{le="10.0",path="/mutate"} 1.0
muster_review_duration_seconds_bucket{le="+Inf",path="/mutate"} 200.0
muster_review_duration_seconds_bucket{le="0.1",path="/idle"} 0.0
muster_review_duration_seconds_bucket{le="+Inf",path="/idle"} 0.0
muster_review_duration_seconds_bucket{le="x",path="/odd"} 1
"""


def test_percentiles_are_those_of_histogram_quantile() -> None:
    latencies = {each.path: (each.count, each.p99_seconds) for each in read_latencies("x", METRICS)}
    assert latencies == {"/idle": (0, 0.0), "/mutate": (200, math.inf), "/validate": (1000, pytest.approx(0.3))}


@pytest.mark.parametrize(("example", "check", "command"), built_examples.COMMANDS)
def test_commands_about_mode_build(example, check, command) -> None:
    assert [command] == [each.command for each in defects(example(), check)]


def test_permissions_of_the_ungating_mode() -> None:
    changed = world(with_argument("muster-sidecar", "--mode=ungate,preempt"))
    ((_, permissions),) = (each for each in needed(changed) if each[0].subcommand == "sidecar")
    assert {"patch pods", "create pods/eviction"} <= set(map(str, permissions))
    assert "delete pods" not in map(str, permissions)


def test_permissions_of_the_mode_that_undoes_gangs() -> None:
    changed = world(with_argument("muster-sidecar", "--mode=ungate"), with_argument("muster-sidecar", "--deviations=undo"))
    ((_, permissions),) = (each for each in needed(changed) if each[0].subcommand == "sidecar")
    assert {"delete pods", "patch pods/status"} <= set(map(str, permissions))
