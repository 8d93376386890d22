"""The manifests agree with the code: paths, ports, names, verbs, variables and options."""

import base64
import datetime as dt
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from certs import issue, pair, store
from kubeapi import gather
from kubeapi.versions import served_versions
from muster.commands import serve
from muster.commands.why import kueue_workload, subject
from tests.cluster import programs
from tests.cluster.conftest import available
from validators import document_head
from validators.model.objects import KINDS
from webhooks import settings
from webhooks.enforcement import Enforcement
from webhooks.lookup import watched as cluster
from webhooks.server import routes

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMESPACE, SERVICE = "muster-system", "muster-webhook"


def documents(*paths):
    return [each for path in paths for each in yaml.safe_load_all((DEPLOY / path).read_text()) if each]


BASE = documents(*(f"base/{name}.yaml" for name in ("namespace", "rbac", "deployment", "service", "webhooks")))
PODS = documents("components/pods/webhooks.yaml")


def the(kind, objects=BASE):
    (result,) = (each for each in objects if each["kind"] == kind)
    return result


def container():
    (result,) = the("Deployment")["spec"]["template"]["spec"]["containers"]
    return result


def entries(objects):
    return [(each["kind"], entry) for each in objects for entry in each.get("webhooks", ())]


def variables_set():
    return {each["name"]: each["value"] for each in container()["env"]}


def as_started():
    """Return the settings with which the pod starts."""
    options = dict(arg.removeprefix("--").split("=", 1) for arg in container()["args"] if "=" in arg)
    given = {f"MUSTER_{name.replace('-', '_').upper()}": value for name, value in options.items()}
    return settings.Settings.from_environ({**variables_set(), **given, "MUSTER_CLUSTER": "true"})


def test_every_argument_is_an_option_of_serve():
    options = {name for each in serve.command.params for name in each.opts}
    first, *rest = container()["args"]

    assert "serve" == first
    assert set() == {arg.split("=")[0] for arg in rest} - options


def test_every_variable_is_an_option_that_can_be_read():
    names = {each.variable for each in settings.OPTIONS.values()}

    assert set() == set(variables_set()) - names
    assert "MUSTER_WATCH_PODS" in names
    assert as_started().cluster


def test_the_help_lists_every_option():
    text = serve.command.get_help(click.Context(serve.command))

    assert [] == [each.variable for each in settings.OPTIONS.values() if each.variable not in text]


def test_ports_lead_from_the_service_to_where_the_server_listens():
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    started = as_started()
    (port,) = the("Service")["spec"]["ports"]

    assert {"webhook": started.bind.port, "probes": started.probe_bind.port} == ports
    assert "webhook" == port["targetPort"]
    for _, entry in entries(BASE + PODS):
        want = {"name": SERVICE, "namespace": NAMESPACE, "port": port["port"]}
        assert want == {key: entry["clientConfig"]["service"][key] for key in want}


def test_probes_match_the_endpoints_of_the_server():
    paths = {name: container()[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}

    assert {"startupProbe": routes.HEALTH, "livenessProbe": routes.HEALTH, "readinessProbe": routes.READY} == {
        name: each["path"] for name, each in paths.items()
    }
    assert {"probes"} == {each["port"] for each in paths.values()}
    assert not as_started().tls_probes, "port 9443 is open to the cluster"


def test_no_annotation_announces_metrics_that_the_policy_closes():
    (policy,) = documents("base/network-policy.yaml")
    assert [{"ports": [{"port": "webhook", "protocol": "TCP"}]}] == policy["spec"]["ingress"]
    assert "annotations" not in the("Deployment")["spec"]["template"]["metadata"]
    (monitor,) = documents("components/prometheus/monitors.yaml")
    assert routes.METRICS == monitor["spec"]["podMetricsEndpoints"][0]["path"]


@pytest.mark.parametrize(("kind", "entry"), entries(BASE + PODS))
def test_a_webhook_is_called_where_and_how_it_answers(kind, entry):
    base = routes.VALIDATE if kind == "ValidatingWebhookConfiguration" else routes.MUTATE
    (mode,) = modes_selected(entry) if len(modes_selected(entry)) == 1 else ("",)

    assert (f"{base}/{mode}" if mode else base) == entry["clientConfig"]["service"]["path"]
    assert f"-{mode}." in entry["name"] if mode else "-" not in entry["name"]
    assert ("None", "Equivalent", ["v1"], 3) == (
        entry["sideEffects"],
        entry["matchPolicy"],
        entry["admissionReviewVersions"],
        entry["timeoutSeconds"],
    )
    assert entry["timeoutSeconds"] > as_started().request_seconds


@pytest.mark.parametrize(("kind", "entry"), entries(BASE + PODS))
def test_only_what_is_judged_is_sent(kind, entry):
    plurals = {served_versions.resource(kind).resource: kind for kind in KINDS}
    for rule in entry["rules"]:
        kinds = {plurals[resource.split("/")[0]] for resource in rule["resources"]}
        versions = {row.version for kind in kinds for group in rule["apiGroups"] for row in served_versions.current(kind, group)}

        assert all(document_head.has_rules(group, kind) for kind in kinds for group in rule["apiGroups"])
        assert {group for kind in kinds for group in served_versions.groups_of(kind)} == {*rule["apiGroups"]}
        assert versions == {*rule["apiVersions"]}
        assert ["CREATE", "UPDATE"] == rule["operations"]


def modes_selected(entry):
    """Return the modes of enforcement of the namespaces that *entry* is for, by their label; "" stands for no such label."""
    every = {"", *Enforcement}
    for each in entry.get("namespaceSelector", {}).get("matchExpressions", ()):
        if each["key"] == "muster.dev/enforcement":
            every = every & {*each["values"]} if each["operator"] == "In" else every - {*each["values"]}
    return every


def calls(objects):
    """Return (configuration, mode of the namespace, group, resource) for each call that *objects* configure."""
    return [
        (kind, mode, group, resource)
        for kind, entry in entries(objects)
        for mode in modes_selected(entry)
        for rule in entry["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]


@pytest.mark.parametrize("objects", [BASE, PODS], ids=["groups", "pods"])
def test_an_object_is_sent_once_whatever_the_label_of_its_namespace(objects):
    found = calls(objects)

    assert len(found) == len({*found})
    assert {(kind, "", *what) for kind, _, *what in found} == {each for each in found if not each[1]}
    assert {(kind, mode, *what) for kind, _, *what in found for mode in ("", *Enforcement)} == {*found}


def test_groups_fail_closed_only_where_they_can_be_refused():
    for _, entry in entries(BASE):
        assert ("Ignore" if modes_selected(entry) <= {"warn", "audit"} else "Fail") == entry["failurePolicy"]
    assert {"Ignore"} == {entry["failurePolicy"] for _, entry in entries(PODS)}
    for _, entry in entries(PODS):
        labels = entry.get("namespaceSelector", {}).get("matchLabels")
        assert (labels is None) == (entry["rules"][0]["scope"] == "Cluster")
        assert labels in (None, {"muster.dev/enforce": "true"})


@pytest.mark.parametrize(("kind", "entry"), entries(BASE + PODS))
def test_our_own_namespace_and_the_systems_are_exempt(kind, entry):
    if entry["rules"][0]["scope"] == "Cluster":
        assert "namespaceSelector" not in entry
        return
    expression, _mode = entry["namespaceSelector"]["matchExpressions"]

    assert {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [NAMESPACE, "kube-system"],
    } == expression


def granted(rules):
    return {(group, resource, *sorted(rule["verbs"])) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]}


def test_the_role_grants_what_is_watched_and_no_more():
    assert {(each.group, each.resource, "list", "watch") for each in cluster.WATCHED} == granted(the("ClusterRole")["rules"])
    subject = the("ClusterRoleBinding")["subjects"][0]
    assert the("ServiceAccount")["metadata"]["name"] == subject["name"]
    assert subject["name"] == the("Deployment")["spec"]["template"]["spec"]["serviceAccountName"]


def test_the_roles_of_why_grant_what_it_reads_and_no_more():
    cluster, own = documents("why/rbac.yaml")
    kinds = (*gather.KINDS, *gather.ADMISSION_KINDS)
    read = {(each.group, each.resource, "list") for kind in kinds for each in served_versions.resources(kind)}
    named = {(each.group, each.resource, "get") for kind in subject.KINDS.values() for each in served_versions.resources(kind)}

    kueue = {(each.partition("/")[0], "workloads", "get", "list") for each in kueue_workload.KUEUE}
    assert read | named | kueue == granted(cluster["rules"])
    assert {("coordination.k8s.io", "leases", "get"), ("", "pods/portforward", "create", "get")} == granted(own["rules"])


def test_the_pod_can_do_little_and_stops_in_time():
    spec = the("Deployment")["spec"]["template"]["spec"]
    started = as_started()

    assert {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}} == (
        container()["securityContext"]
    )
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["terminationGracePeriodSeconds"] > started.drain_seconds + started.stop_seconds + 5
    assert 3 == the("Deployment")["spec"]["replicas"]
    assert 1 == the("PodDisruptionBudget")["spec"]["maxUnavailable"]


def test_files_are_mounted_where_the_server_reads_them():
    (mount,) = (each["mountPath"] for each in container()["volumeMounts"] if each["name"] == "certs")
    started = as_started()

    assert {f"{mount}/{store.CERTIFICATE}", f"{mount}/{store.KEY}"} == {started.tls_cert, started.tls_key}


def test_names_in_the_instructions_are_those_of_the_manifests():
    pages = (DEPLOY.parent / "docs" / "operate").glob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)

    for want in (f"{SERVICE}.{NAMESPACE}.svc", "groups.muster.dev", "muster-pods", "deployment/muster-webhook"):
        assert want in text


@pytest.mark.parametrize("overlay", ["issued", "pods", "join"])
def test_kustomize_builds_an_overlay_with_its_ca(tmp_path, overlay):
    kubectl = available(lambda: programs.find().path("kubectl"))
    tree = tmp_path / "deploy"
    shutil.copytree(DEPLOY, tree, ignore=shutil.ignore_patterns("certs"))
    now = dt.datetime.now(dt.UTC)
    created = issue.leaf(issue.authority(now), pair.names_of((f"{SERVICE}.{NAMESPACE}.svc",)), now)
    store.write(tree / "overlays/issued/certs", created)
    built = subprocess.run([kubectl, "kustomize", str(tree / "overlays" / overlay)], capture_output=True, text=True, check=False)
    assert 0 == built.returncode, built.stderr
    objects = list(yaml.safe_load_all(built.stdout))
    bundles = {base64.b64decode(entry["clientConfig"]["caBundle"]) for _, entry in entries(objects)}

    assert {created.ca} == bundles
    secret = the("Secret", objects)
    assert "muster-webhook-tls" == secret["metadata"]["name"]
    assert created.key == base64.b64decode(secret["data"]["tls.key"])
    watched = (*cluster.WATCHED, *cluster.PODS) if overlay == "pods" else cluster.WATCHED
    assert {(each.group, each.resource, "list", "watch") for each in watched} == granted(the("ClusterRole", objects)["rules"])
