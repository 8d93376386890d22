"""Upgrade and rollback by the commands of docs/operate/upgrade.md, between an earlier version of ``deploy/`` and this one."""

from __future__ import annotations

import json
import shutil

import pytest

from scheduler_core.sidecar.settings import Mode
from tests.cluster.api import ApiError
from tests.cluster.deployed import Deployed, routed_plane
from tests.cluster.installed import CONFIGURATIONS, NAMESPACE, eventually
from tests.cluster.kubelet import Kubelet, node
from tests.cluster.other_version import MANAGED, extracted
from tests.cluster.page_shell import Shell, section
from tests.cluster.unfit import is_refused, unfit_group
from tests.cluster.waiting import until
from tests.docs import pages

PAGE, HELM = (pages.DOCS / "operate" / f"{name}.md" for name in ("upgrade", "helm"))
WEBHOOK, SIDECAR = "muster-webhook", "muster-sidecar"
OVERLAYS = ("deploy/overlays/managed", "deploy/sidecar")
CONTROLLERS = ("deployment-controller", "replicaset-controller")
KINDS = "serviceaccounts,roles,rolebindings,services,deployments,poddisruptionbudgets,networkpolicies"
CLUSTER_KINDS = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations"
OTHER = (
    ("base/rbac.yaml", "[list, watch]", "[get, list, watch]"),
    ("chart/templates/webhooks/rbac.yaml", "[list, watch]", "[get, list, watch]"),
    ("base/webhooks.yaml", "timeoutSeconds: 3", "timeoutSeconds: 5"),
    ("chart/values.yaml", "timeoutSeconds: 3", "timeoutSeconds: 5"),
    ("base/network-policy.yaml", "name: muster-webhook\n  namespace", "name: renamed\n  namespace"),
)
"""By file, texts of the version before and what they are replaced with."""
ROLES = (WEBHOOK, SIDECAR, *(f"{SIDECAR}-{mode}" for mode in Mode))
CHANGED = {
    *(("ClusterRole", each) for each in (*ROLES, "muster-webhook-certificate")),
    *(("Deployment", each) for each in (WEBHOOK, SIDECAR)),
    *((kind, "muster") for kind in CONFIGURATIONS),
}
"""Objects that differ from those of the version before: its roles are for the built-in kinds only."""
RENAMED = ("NetworkPolicy", "renamed")
WRITTEN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """Return a checkout of the version before; its role and its configurations are made to differ too."""
    folder = extracted(MANAGED, tmp_path_factory.mktemp("before"))
    for name, old, new in OTHER:
        file = folder / "deploy" / name
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
    return folder


@pytest.fixture
def plane(programs):
    with routed_plane(programs) as started:
        yield started


@pytest.fixture
def shell(plane, tmp_path):
    return Shell(plane, tmp_path)


def objects(shell):
    """Return the objects of Muster without what the API server and controllers write."""
    listed = [
        f"kubectl get {KINDS} -n {NAMESPACE} -l app.kubernetes.io/part-of=muster -o json",
        f"kubectl get {CLUSTER_KINDS} -l app.kubernetes.io/part-of=muster -o json",
    ]
    result = {}
    for each in (each for line in listed for each in json.loads(shell.run(line))["items"]):
        metadata = {key: value for key, value in each["metadata"].items() if key not in (*WRITTEN, "annotations")}
        content = {key: value for key, value in each.items() if key != "status"}
        result[each["kind"], metadata["name"]] = {**content, "metadata": metadata}
    return result


def images(content):
    return {content["Deployment", name]["spec"]["template"]["spec"]["containers"][0]["image"] for name in (WEBHOOK, SIDECAR)}


def bundles(content):
    return {each["clientConfig"].get("caBundle", "") for kind in CONFIGURATIONS for each in content[kind, "muster"]["webhooks"]}


def refuses(plane):
    """Return true if the API server refuses a group that only the webhooks refuse."""
    try:
        plane.api.create(unfit_group("probe", "default"), dryRun="All")
    except ApiError as error:
        return is_refused(error.status)
    return False


def test_helm(plane, shell, before, tmp_path):
    upgrade, rollback = (each.text for each in section("With Helm", PAGE))
    install = next(line for line in section("Install", HELM)[0].text.splitlines() if line.startswith("helm "))
    with Deployed(plane, WEBHOOK, NAMESPACE, tmp_path):
        shell.run(f"{install} --set sidecar.enabled=true", before)
        assert eventually(lambda: refuses(plane))
        old = objects(shell)
        shell.run(upgrade)
        new = objects(shell)
        assert {"REGISTRY/muster:NEW"} == images(new)
        assert CHANGED & old.keys() == {key for key in old if old[key] != new[key]}
        manifests = f"helm get manifest muster --namespace {NAMESPACE}"
        shell.run(f"{manifests} | kubectl diff --server-side --force-conflicts -f -")
        assert bundles(old) == bundles(new) != {""}
        assert refuses(plane)
        shell.run(rollback)
        assert old == objects(shell)
        assert refuses(plane)


@pytest.fixture
def controllers(plane):
    """Run the controllers of Deployments, kube-scheduler and kubelets."""
    plane.start_controllers(CONTROLLERS)
    plane.start_scheduler()
    plane.api.create_all([node(f"n{number}") for number in range(3)])
    with Kubelet(plane.api):
        yield


def running_images(plane):
    """Return the images of all pods that are not deleted."""
    pods = [each for each in plane.api.objects("Pod", NAMESPACE) if not each["metadata"].get("deletionTimestamp")]
    return {each["spec"]["containers"][0]["image"] for each in pods}


@pytest.mark.usefixtures("controllers")
def test_kustomize(plane, shell, before, tmp_path):
    """No replica of the webhooks runs here: pods of the Deployments are those of stand-ins for kubelets."""
    checkout = tmp_path / "checkout"
    webhooks, sidecar = (section(name, PAGE)[0].text for name in ("Webhooks", "Sidecar"))
    listed, deleted = (each.text for each in section("Objects that a version no longer has", PAGE))
    undo, again = (each.text for each in section("Roll back", PAGE))

    def removed():
        """Return the names of the objects that the page lists and deletes."""
        names = shell.run(listed, checkout).split()
        shell.run(deleted, checkout)
        return [each.partition("/")[2] for each in names]

    def check_out(version):
        shutil.rmtree(checkout, ignore_errors=True)
        shutil.copytree(version / "deploy", checkout / "deploy")

    check_out(before)
    for block in (webhooks, sidecar):
        shell.run(block.replace(":NEW", ":OLD"), checkout)
    old = objects(shell)
    assert {"REGISTRY/muster:OLD"} == images(old) == running_images(plane)
    check_out(pages.ROOT)
    for block in (webhooks, sidecar):
        shell.run(block, checkout)
    new = objects(shell)
    assert {"REGISTRY/muster:NEW"} == images(new) == running_images(plane)
    assert CHANGED & old.keys() == {key for key in old if old[key] != new[key]}
    for overlay in OVERLAYS:
        shell.run(f"kubectl diff -k {overlay}", checkout)
    assert removed() == ["renamed"]
    assert objects(shell) == {key: new[key] for key in new if key != RENAMED}
    shell.run(undo, checkout)
    until(lambda: running_images(plane) == {"REGISTRY/muster:OLD"}, told=lambda: str(running_images(plane)))
    check_out(before)
    shell.run(again, checkout)
    assert {*removed()} == {name for _, name in new.keys() - old.keys()}
    assert old == objects(shell)
