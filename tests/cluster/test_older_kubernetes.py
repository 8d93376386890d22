"""The chart on an API server older than the sidecar needs: the webhooks are called for the versions of the API that it serves."""

from __future__ import annotations

import base64
import json

import pytest
import yaml

from kubeapi.versions import kubernetes_releases
from tests.cluster import go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import NAMESPACE, Installed
from tests.deploy import rendered

pytestmark = pytest.mark.kubernetes("1.35", "1.36")
GOOD = {
    35: ("Workload", {"podGroups": [{"name": "a", "policy": {"gang": {"minCount": 2}}}]}),
    36: ("PodGroup", {"schedulingPolicy": {"gang": {"minCount": 2}}}),
}
"""Kind and spec of an object that is valid."""
WITHOUT_GANG = {"schedulingPolicy": {"basic": {}}, "disruptionMode": "PodGroup"}
"""PodGroup of v1alpha2 that leaves as a whole, and is not placed as a whole: the API server accepts it."""


class OfOlderChart(Installed):
    """The webhooks of the chart as it is rendered for the version of the control plane."""

    def manifests(self):
        bundle = base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()
        values = "certificate.source=secret", f"certificate.caBundle={bundle}", "api=kubernetes"
        version = f"{kubernetes_releases.name(self.plane.programs.minor())}.0"
        done = rendered.template("--kube-version", version, *(part for each in values for part in ("--set", each)))
        assert 0 == done.returncode, done.stderr
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        return [namespace, *filter(None, yaml.safe_load_all(done.stdout))]


@pytest.fixture(scope="module")
def webhooks(programs, tmp_path_factory):
    available(lambda: go_tools.find("helm"))
    with ControlPlane(programs=programs) as plane:
        created = OfOlderChart(plane, tmp_path_factory.mktemp("older"))
        created.apply()
        created.start()
        yield created
        created.server.stop()


def api_version(minor):
    return {35: "scheduling.k8s.io/v1alpha1", 36: "scheduling.k8s.io/v1alpha2"}[minor]


def create(webhooks, kind, name, spec):
    manifest = {
        "apiVersion": api_version(webhooks.plane.programs.minor()),
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    return webhooks.plane.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(manifest))


def test_the_webhooks_mirror_the_api_server_and_review_what_it_serves(webhooks):
    minor = webhooks.plane.programs.minor()
    (deployment,) = (each for each in webhooks.objects if each["kind"] == "Deployment")
    env = {each["name"]: each["value"] for each in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    kind, spec = GOOD[minor]

    done = create(webhooks, kind, "good", spec)

    assert kubernetes_releases.name(minor) == env["MUSTER_KUBERNETES"]
    assert 0 == done.returncode, done.stderr
    # A Workload has no defaults.
    paths = ["/validate"] if kind == "Workload" else ["/mutate", "/validate"]
    reviews = webhooks.logged(least=len(paths), kind=kind, name="good")
    assert [(each, True) for each in paths] == [(each["path"], each["allowed"]) for each in reviews]


def test_an_object_that_only_muster_refuses_is_refused(webhooks):
    if webhooks.plane.programs.minor() < 36:
        pytest.skip("no Workload of v1alpha1 is known that only Muster refuses")

    done = create(webhooks, "PodGroup", "bad", WITHOUT_GANG)

    assert (1, True) == (done.returncode, "[muster: all-needs-gang]" in done.stderr), done.stderr
