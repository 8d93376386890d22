"""Manifests of ``deploy/`` that are rendered from the chart: ``python -m tests.deploy.rendered`` writes them.

Before, it writes the types of the settings into the schema of the chart's values.

helm is built by ``make cluster-assets``.  A manifest has the comments of its template; its objects are in the order of helm.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.cluster import go_tools
from tests.cluster.programs import MissingError
from tests.cluster.resources import Manifest
from tests.deploy import values_schema

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart"
SCHEMA = CHART / "values.schema.json"
NAMESPACE = "muster-system"
ALL_MODES = "sidecar.modes={validate,place,ungate,preempt,protect,build}"
MONITORING = "networkPolicy.metricsFrom={monitoring}"
ISSUED = "certificate.source=secret", "certificate.caBundle=QUE="
"""A certificate that an administrator issues, of any CA."""
SIDECAR = ("sidecar.enabled=true",)
DIGEST = f"sha256:{'0a' * 32}"
SECONDS = 60
FILES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # Who deletes what the file has must not delete the definitions, and so all objects.
    "install.yaml": ("", ("api=kubernetes",)),
    "custom-resources/roles.yaml": ("custom-resources/roles.yaml", ("api=custom",)),
    "custom-resources/pod-group-label.yaml": ("custom-resources/pod-group-label.yaml", ("api=custom",)),
    "base/rbac.yaml": ("webhooks/rbac.yaml", ()),
    "base/deployment.yaml": ("webhooks/deployment.yaml", ISSUED),
    "components/managed-certificate/rbac.yaml": ("webhooks/certificate-rbac.yaml", ()),
    "base/service.yaml": ("webhooks/service.yaml", ()),
    "base/webhooks.yaml": ("webhooks/webhooks.yaml", ()),
    "components/pods/webhooks.yaml": ("webhooks/pods.yaml", ("webhooks.pods=true",)),
    "components/join/webhook.yaml": ("join/webhook.yaml", ("build.enabled=true",)),
    "components/join/policy.yaml": ("join/policy.yaml", ("build.enabled=true", "build.policy=true")),
    "components/cert-manager/certificate.yaml": ("webhooks/certificate.yaml", ("certificate.source=cert-manager",)),
    "base/network-policy.yaml": ("webhooks/network-policy.yaml", ()),
    "sidecar/network-policy.yaml": ("sidecar/network-policy.yaml", ("sidecar.enabled=true",)),
    **{
        f"components/{component}/{name}.yaml": (f"prometheus/{name}.yaml", (*of_prometheus, *of_component))
        for component, of_component in (
            ("prometheus", ()),
            ("prometheus-sidecar", ("sidecar.enabled=true", "webhooks.enabled=false")),
        )
        for name, of_prometheus in (
            ("monitors", ("prometheus.monitors=true", MONITORING)),
            ("network-policy", (MONITORING,)),
            ("alerts", ("prometheus.alerts=true", MONITORING)),
        )
    },
    "sidecar/rbac.yaml": ("sidecar/rbac.yaml", ("sidecar.enabled=true", ALL_MODES)),
    "sidecar/deployment.yaml": ("sidecar/deployment.yaml", ("sidecar.enabled=true",)),
    "components/critical-pods-quota/quota.yaml": ("quota.yaml", ("criticalPodsQuota=true",)),
    "doctor/rbac.yaml": ("doctor.yaml", ("doctor.roles=true",)),
    "doctor/probe.yaml": ("doctor-probe.yaml", ("doctor.roles=true",)),
    "why/rbac.yaml": ("why.yaml", ("why.roles=true",)),
    "sidecar/ungate.yaml": ("sidecar/ungate.yaml", ("sidecar.enabled=true", ALL_MODES)),
    "sidecar/undo.yaml": ("sidecar/undo.yaml", ("sidecar.enabled=true", ALL_MODES, "sidecar.deviations=undo")),
    "sidecar/build.yaml": ("sidecar/build.yaml", ("sidecar.enabled=true", ALL_MODES)),
}
"""Each manifest, with its template, or none for all, and the values that differ from those of the chart."""
WITH_NAMESPACE = "install.yaml"
DEMO = DEPLOY.parent / "muster" / "commands" / "demo" / "data" / "cluster"
COPIES = {
    "base/rbac.yaml": "deploy/webhook-rbac.yaml",
    "base/webhooks.yaml": "webhooks.yaml",
    "components/join/webhook.yaml": "join.yaml",
    "sidecar/rbac.yaml": "deploy/sidecar-rbac.yaml",
    "sidecar/build.yaml": "deploy/sidecar-build.yaml",
}
"""Manifests that the demonstration of the installed package needs, with their names in its data."""


def template(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``helm template`` on the chart.  Raises MissingError if helm was not built."""
    command = [go_tools.find("helm"), "template", "muster", CHART, "--namespace", NAMESPACE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)


def with_values(*values: str) -> subprocess.CompletedProcess[str]:
    """Run ``helm template`` on the chart with these values, each as in ``--set``.  Raises MissingError."""
    return template(*(part for each in values for part in ("--set", each)))


def objects(*values: str) -> dict[tuple[str, str], Manifest]:
    """Return the objects of the chart with these values, by kind and name.  Raises MissingError, and RuntimeError if helm refuses them."""
    done = with_values(*values)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in found}
    if len(by_name) != len(found):
        raise RuntimeError("two objects have the same kind and name")
    return by_name


def container(name: str, *values: str) -> tuple[Manifest, Manifest]:
    """Return the spec of the pods of a Deployment, and their container."""
    spec = objects(*values)["Deployment", name]["spec"]["template"]["spec"]
    (result,) = spec["containers"]
    return spec, result


def render(name: str) -> str:
    """Return the content of the manifest *name*, a key of FILES.  Raises MissingError, and RuntimeError if helm refuses the chart."""
    source, values = FILES[name]
    only = ("--show-only", f"templates/{source}") if source else ()
    done = template(*only, *(part for each in values for part in ("--set", each)))
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    documents = re.split(r"^---\n# Source: \S+\n", done.stdout, flags=re.MULTILINE)
    if name == WITH_NAMESPACE:
        documents.insert(0, (DEPLOY / "base/namespace.yaml").read_text(encoding="utf-8"))
    text = "---\n".join(each.strip("\n") + "\n" for each in documents if each.strip())
    return f"# Rendered from deploy/chart{f'/templates/{source}' if source else ''} by `make manifests`.\n{text}"


def main() -> int:
    """Write all manifests; 2 if helm is missing."""
    SCHEMA.write_text(values_schema.render(SCHEMA), encoding="utf-8")
    try:
        for name in FILES:
            path = DEPLOY / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(name), encoding="utf-8")
        for name, copy in COPIES.items():
            shutil.copyfile(DEPLOY / name, DEMO / copy)
    except MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
