"""Installation, emergency and removal by the commands of the pages: from a cluster without Muster to a refusal, and back."""

from __future__ import annotations

import re

import pytest
import yaml

from kubeapi.versions import kubernetes_releases
from tests.cluster.deployed import Deployed, routed_plane
from tests.cluster.installed import eventually
from tests.cluster.page_shell import Shell, section
from tests.cluster.unfit import unfit_group
from tests.docs import pages

PAGE, EMERGENCY, WEBHOOKS, SIDECAR = (pages.DOCS / "operate" / f"{name}.md" for name in ("helm", "emergency", "webhooks", "sidecar"))
NAMESPACE, NAME = "muster-system", "muster-webhook"


@pytest.fixture(scope="module")
def plane(programs):
    with routed_plane(programs) as started:
        yield started


@pytest.fixture
def shell(plane, tmp_path):
    """Return a function that runs a line in a checkout, with the programs of the page."""
    return Shell(plane, tmp_path)


def test_the_page_leads_from_nothing_to_a_refusal(plane, shell, tmp_path):
    install, bad, apply, refusal, bad_later, refusal_later = section("Install", PAGE)[:6]
    # A newer API server refuses the first group without Muster.
    bad, want = (bad, refusal.text) if plane.programs.minor() == kubernetes_releases.TODAY else (bad_later, refusal_later.text)
    (tmp_path / bad.title).write_text(bad.text, encoding="utf-8")
    with Deployed(plane, NAME, NAMESPACE, tmp_path):
        done = shell(install.text)
        assert 0 == done.returncode, done.stderr
        refused = shell(apply.text, tmp_path)
        assert (1, want) == (refused.returncode, refused.stderr)
        _, ignore, _, restore = section("Groups cannot be created", EMERGENCY)[:4]
        (helm,) = (line for line in restore.text.splitlines() if line.startswith("helm "))
        for commands, policies in ((ignore.text, {"Ignore"}), (helm, {"Fail", "Ignore"})):
            done = shell(commands)
            assert 0 == done.returncode, done.stderr
            assert policies == {each["failurePolicy"] for each in plane.api.get("ValidatingWebhookConfiguration", "muster")["webhooks"]}
        (uninstall,) = re.findall("`(helm uninstall [^`]+)`", PAGE.read_text(encoding="utf-8"))
        done = shell(uninstall)
        assert 0 == done.returncode, done.stderr
        assert 0 == shell(apply.text, tmp_path).returncode
        assert [] == _remaining(shell)


def test_a_trial_depends_on_no_server_and_refusing_does(shell, tmp_path):
    """No replica runs here."""
    apply, label, later = (line.partition("#")[0] for line in section("Try it without refusing anything", WEBHOOKS)[0].text.splitlines())
    group = "kubectl -n {} create --dry-run=server -f bad.yaml"
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(unfit_group("x", "")), encoding="utf-8")
    try:
        done = shell(f"kubectl create namespace research && kubectl create namespace other && {apply} && {label}")
        assert 0 == done.returncode, done.stderr
        assert eventually(lambda: "groups-deny.muster.dev" in shell(group.format("research"), tmp_path).stderr)
        assert 0 == shell(group.format("other"), tmp_path).returncode
        assert 0 == shell(later).returncode
        assert eventually(lambda: 'failed calling webhook "groups.muster.dev"' in shell(group.format("other"), tmp_path).stderr)
    finally:
        shell(f"kubectl delete namespace research other --wait=false; {_configurations_removed()}")


def test_applied_again_nothing_changes(shell):
    """kubectl sends the selector of a budget each time, because its type says that it is replaced; the API server changes nothing."""
    folders = ("overlays/managed-pods", "sidecar")
    apply = " && ".join(f"kubectl apply -k deploy/{each}" for each in folders)
    budgets = "kubectl -n muster-system get poddisruptionbudgets -o jsonpath='{.items[*].metadata.resourceVersion}'"
    try:
        assert 0 == shell(apply).returncode
        before = shell(budgets).stdout.split()
        again = shell(apply).stdout.splitlines()
        assert [] == [each for each in again if not each.endswith(" unchanged") and not each.startswith("poddisruptionbudget")]
        assert (2, before) == (len(before), shell(budgets).stdout.split())
        for each in folders:
            done = shell(f"kubectl diff -k deploy/{each}")
            assert (0, "") == (done.returncode, done.stdout)
    finally:
        shell(_configurations_removed())


def _configurations_removed():
    """Return the commands that stop the API server from calling the webhooks."""
    return section("Remove", WEBHOOKS)[0].text.partition("\nkubectl delete -k")[0]


def test_the_pages_remove_what_they_install(plane, shell):
    """The Secret and the Lease are those of running replicas, which there are none of."""
    *configurations, overlay = section("Remove", WEBHOOKS)[0].text.splitlines()
    # No controller ends the namespace here.
    overlay = f"{overlay.partition('#')[0]} --wait=false"
    keep_sidecar, sidecar = section("Remove", WEBHOOKS)[1].text, section("Remove", SIDECAR)[0].text
    install = "kubectl apply -k deploy/overlays/managed && kubectl apply -k deploy/sidecar && kubectl apply -f deploy/sidecar/ungate.yaml"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "muster-sidecar", "namespace": NAMESPACE}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "muster-webhook-tls", "namespace": NAMESPACE}}
    for commands in ("\n".join([*configurations, keep_sidecar, sidecar]), "\n".join([*configurations, sidecar, overlay])):
        for line in (install, *(f"kubectl apply -f - <<'E'\n{yaml.safe_dump(each)}E" for each in (lease, secret))):
            done = shell(line)
            assert 0 == done.returncode, done.stderr
        assert len(_remaining(shell)) > 20
        done = shell(commands)
        assert 0 == done.returncode, done.stderr
        assert [] == _remaining(shell)


def _remaining(shell):
    """Return the objects of Muster, but for the namespace and the objects that replicas have created."""
    kinds = shell("kubectl api-resources --verbs=list,delete -o name").stdout.split()
    kinds = [
        each for each in kinds if not each.startswith(("namespaces", "secrets", "leases", "events", "endpoint", "controllerrevisions"))
    ]
    return shell(f"kubectl get {','.join(kinds)} -A -l app.kubernetes.io/part-of=muster -o name").stdout.split()
