"""The chart with custom resources: helm on real API servers, the webhooks that it installs, and the commands of the page about them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
import yaml

from kubeapi.groups import INITIALLY_SCHEDULED, PROTECTION_FINALIZERS
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import kubernetes_releases
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from tests.cluster import go_tools
from tests.cluster.api import ApiError
from tests.cluster.conftest import available, built
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import NAMESPACE, Installed, eventually
from tests.cluster.kubelet import node, pod
from tests.cluster.options import NO_GATES, Options
from tests.cluster.page_shell import Shell, section
from tests.cluster.resources import Manifest
from tests.cluster.sidecars import sidecar
from tests.cluster.test_definitions import definitions, group
from tests.deploy import rendered
from tests.docs import pages
from tests.validators.reports.test_custom_resources import nested
from validators.reports import custom_resources

VERSION = f"{CUSTOM}/v1beta1"
PAGE = pages.DOCS / "operate" / "custom-resources.md"
WITHOUT_KINDS = Options(gates=NO_GATES, served=())
INSTALL = f"helm install muster deploy/chart --namespace {NAMESPACE} --create-namespace --set webhooks.enforcement=audit"
UPGRADE = f"helm upgrade muster deploy/chart --namespace {NAMESPACE} --reset-then-reuse-values"
UNINSTALL = f"helm uninstall muster --namespace {NAMESPACE}"
KINDS = ("Workload", "PodGroup", "CompositePodGroup")


@pytest.fixture(params=["1.30", "1.37"])
def plane(request) -> Iterator[ControlPlane]:
    """A control plane without the built-in kinds."""
    with ControlPlane(WITHOUT_KINDS, built(request.param)) as started:
        yield started


@pytest.fixture
def both() -> Iterator[ControlPlane]:
    """A control plane with the built-in kinds."""
    with ControlPlane(Options(), built("1.37")) as started:
        yield started


def defined(plane: ControlPlane) -> list[str]:
    return sorted(f"crd/{each['metadata']['name']}" for each in plane.api.objects("CustomResourceDefinition"))


def established(plane: ControlPlane) -> None:
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *definitions(), check=True)


class OfChart(Installed):
    """The webhooks of the chart with custom resources, as it is rendered for the version of the control plane."""

    def manifests(self) -> list[Manifest]:
        bundle = base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()
        values = "certificate.source=secret", f"certificate.caBundle={bundle}", "sidecar.enabled=true"
        version = f"{kubernetes_releases.name(self.plane.programs.minor())}.0"
        done = rendered.template("--kube-version", version, *(part for each in values for part in ("--set", each)))
        assert 0 == done.returncode, done.stderr
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        return [namespace, *filter(None, yaml.safe_load_all(done.stdout))]


def test_from_zero_to_a_refused_tree_and_a_placed_gang(plane, tmp_path):
    """The values of the chart are its defaults, but for the certificate and the sidecar; nothing is pruned before the webhook sees it."""
    available(lambda: go_tools.find("helm"))
    webhooks = OfChart(plane, tmp_path)
    webhooks.apply()
    established(plane)
    webhooks.start()
    workload = {"apiVersion": VERSION, "kind": "Workload", "metadata": {"name": "train", "namespace": "default"}}
    leaf = {"name": "leaf", "schedulingPolicy": {"gang": {"minCount": 2}}}

    def refusal(content: Manifest) -> list[tuple[str, str, str]]:
        try:
            plane.api.create(content, dryRun="All")
        except ApiError as error:
            return error.causes
        return []

    deep = {**workload, "spec": {"compositePodGroupTemplates": [nested(4, podGroupTemplates=[leaf])]}}
    assert eventually(lambda: bool(refusal(deep))), "the API server does not call the webhooks"
    ((field, _, message),) = refusal(deep)
    created = plane.api.create({**workload, "spec": {"compositePodGroupTemplates": [nested(3, podGroupTemplates=[leaf])]}})
    completed = plane.api.create(group("good"))

    assert "spec.compositePodGroupTemplates[0]" == field
    assert "[muster: template-depth]" in message
    assert [nested(3, podGroupTemplates=[leaf])] == created["spec"]["compositePodGroupTemplates"]
    assert "PreemptLowerPriority" == completed["spec"]["preemptionPolicy"]

    plane.api.create(node("n1", cpu=8))
    labels = {POD_GROUP_LABEL: "good"}
    members = [pod(f"p{number}", "default", spec={"schedulerName": "muster"}, labels=labels, cpu=1) for number in range(2)]
    plane.api.create_all(members)
    with sidecar(plane, tmp_path, "--mode=validate,place,preempt,protect", through=plane.service_account("muster-sidecar", NAMESPACE)):
        for each in members:
            plane.api.wait("Pod", each["metadata"]["name"], "default", until=lambda found: bool(found and found["spec"].get("nodeName")))
        placed = plane.api.wait("PodGroup", "good", "default", until=_is_placed, version=VERSION)
    assert [PROTECTION_FINALIZERS["PodGroup"]] == placed["metadata"]["finalizers"]


def _is_placed(found: Manifest | None) -> bool:
    conditions = (found or {}).get("status", {}).get("conditions", ())
    return any(each["type"] == INITIALLY_SCHEDULED["PodGroup"] and each["status"] == "True" for each in conditions)


def test_helm_installs_and_upgrades_the_definitions_and_removes_none(plane, tmp_path):
    shell = Shell(plane, tmp_path)
    told = shell.run(INSTALL)
    established(plane)
    assert "PodGroup: custom resource of scheduling.muster.dev, defined by this release" in told
    created = plane.api.create(group("train"))

    older = [{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/priority"}]
    plane.api.patch("CustomResourceDefinition", f"podgroups.{CUSTOM}", body=older, how="json")
    shell.run(f"{UPGRADE} --force-conflicts")
    wanted = {each["metadata"]["name"]: each["spec"]["versions"] for each in custom_resources.definitions()}
    stored = {each["metadata"]["name"]: each["spec"]["versions"] for each in plane.api.objects("CustomResourceDefinition")}
    assert wanted == stored

    shell.run(f"{UPGRADE} --set api=kubernetes")
    assert sorted(definitions()) == defined(plane)
    shell.run(UNINSTALL)
    assert sorted(definitions()) == defined(plane)
    assert created["metadata"]["uid"] == plane.api.get("PodGroup", "train", "default", version=VERSION)["metadata"]["uid"]

    shell.run(INSTALL)
    assert not plane.kubectl("get", "clusterrole", "muster-custom-resources-edit").returncode


@pytest.mark.parametrize("name", ["edit", "view"])
def test_users_have_the_rights_that_they_have_for_the_built_in_kinds(both, tmp_path, name):
    Shell(both, tmp_path).run("kubectl apply --server-side -k deploy/custom-resources")

    def rights(role: str, group: str) -> set[tuple[str, str]]:
        rules = (each for each in both.api.get("ClusterRole", role)["rules"] if group in each["apiGroups"])
        return {(resource, verb) for each in rules for resource in each["resources"] for verb in each["verbs"]}

    own = both.api.get("ClusterRole", f"muster-custom-resources-{name}")["metadata"]["labels"]
    assert f"rbac.authorization.k8s.io/aggregate-to-{name}" in own
    assert rights(f"system:aggregate-to-{name}", SCHEDULING) == rights(f"muster-custom-resources-{name}", CUSTOM)


def test_where_the_built_in_kinds_are_served_no_definition_is_installed(both, tmp_path):
    shell = Shell(both, tmp_path)
    told = shell.run(INSTALL)
    assert "PodGroup: built-in kind of scheduling.k8s.io" in told
    assert [] == defined(both)

    shell.run(f"{UPGRADE} --set api=custom")
    established(both)
    told = shell.run(f"{UPGRADE} --set api=auto")
    assert "The definitions of this release stay when it is removed" in told
    manifest = shell.run(f"helm get manifest muster --namespace {NAMESPACE}")
    assert len(KINDS) == manifest.count("kind: CustomResourceDefinition")


def test_definitions_of_somebody_else_are_left_alone_and_can_be_given_to_the_release(plane, tmp_path):
    shell = Shell(plane, tmp_path)
    (by_kubectl,) = (each.text for each in section("Without Helm", PAGE) if "kubectl apply" in each.text)
    (adopt,) = (each.text for each in section("Helm", PAGE) if "meta.helm.sh" in each.text)
    shell.run(by_kubectl)
    shell.run("kubectl delete clusterrole muster-custom-resources-edit muster-custom-resources-view")
    shell.run("kubectl delete validatingadmissionpolicy,validatingadmissionpolicybinding muster-pod-group-label")

    refused = shell(f"{INSTALL} --set api=custom")
    assert refused.returncode
    assert "invalid ownership metadata" in refused.stderr
    shell("helm uninstall muster --namespace muster-system")
    told = shell.run(INSTALL)
    assert "whose definition does not belong to this release" in told

    shell.run(adopt)
    shell.run(f"{UPGRADE} --force-conflicts")
    manifest = shell.run(f"helm get manifest muster --namespace {NAMESPACE}")
    assert len(KINDS) == manifest.count("kind: CustomResourceDefinition")
    shell.run(UNINSTALL)
    assert sorted(definitions()) == defined(plane)


def test_the_commands_of_the_page_leave_nothing(plane, tmp_path):
    shell = Shell(plane, tmp_path)
    shell.run(INSTALL)
    established(plane)
    for kind, finalizer in PROTECTION_FINALIZERS.items():
        content = {**group("train", finalizers=[finalizer]), "kind": kind}
        if kind == "CompositePodGroup":
            content["spec"] = {"workloadRef": {"workloadName": "w", "templateName": "t"}, "schedulingPolicy": {"basic": {}}}
        plane.api.create(content)
    pod = {"metadata": {"name": "p", "labels": {f"{CUSTOM}/pod-group": "train"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    plane.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}), check=True)

    shell.run(UNINSTALL)
    for each in section("Remove", PAGE):
        shell.run(each.text)

    assert [] == defined(plane)
    assert "" == shell.run("kubectl get clusterrole -l app.kubernetes.io/part-of=muster -o name")
    assert plane.api.exists("Pod", "p", "default")
