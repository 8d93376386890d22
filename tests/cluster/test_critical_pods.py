"""A cluster that limits the priority class of Muster's pods, as GKE does: they are refused without the quota of ``deploy/``."""

from __future__ import annotations

import contextlib
import shutil

import pytest
import yaml

from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import ACCOUNT, DEPLOY, NAMESPACE
from tests.cluster.options import Options
from tests.cluster.page_shell import section
from tests.cluster.waiting import until

PAGE = DEPLOY.parent / "docs" / "operate" / "index.md"
LIMITED = {
    "resource": "pods",
    "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical", "system-cluster-critical"]}],
}
CONFIGURATION = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [
        {
            "name": "ResourceQuota",
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "ResourceQuotaConfiguration",
                "limitedResources": [LIMITED],
            },
        }
    ],
}


@pytest.fixture
def plane(programs, tmp_path):
    file = tmp_path / "admission.yaml"
    file.write_text(yaml.safe_dump(CONFIGURATION), encoding="utf-8")
    with ControlPlane(Options(apiserver_flags=(f"--admission-control-config-file={file}",)), programs) as started:
        started.start_controllers(("resourcequota-controller",))
        yield started


def test_the_quota_admits_the_pods(plane, tmp_path):
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    (block,) = (each for each in section("Clusters that need more", PAGE) if each.title)
    kustomization = tmp_path / block.title
    kustomization.parent.mkdir()
    kustomization.write_text(block.text, encoding="utf-8")
    plane.kubectl("apply", "-k", str(tmp_path / "deploy/overlays/managed"), check=True)
    template = plane.api.get("Deployment", ACCOUNT, NAMESPACE)["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "replica", "namespace": NAMESPACE}}
    with pytest.raises(ApiError, match="insufficient quota to match these scopes"):
        plane.api.create(pod)
    plane.kubectl("apply", "-k", str(kustomization.parent), check=True)

    def is_admitted():
        with contextlib.suppress(ApiError):
            plane.api.create(pod)
            return True
        return False

    until(is_admitted, told=lambda: str(plane.api.get("ResourceQuota", "muster-critical-pods", NAMESPACE)))
