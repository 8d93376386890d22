"""Values of the chart two by two: helm refuses a pair, or its objects fit together."""

from __future__ import annotations

import itertools
import re

import pytest
import yaml

from tests.deploy import rendered
from tests.sampling import every

pytestmark = pytest.mark.usefixtures("helm")
EXTRA = "extraEnv[0].name=A"
VALUES = (
    "api=custom",
    "api=kubernetes",
    "webhooks.enabled=false",
    "webhooks.replicas=1",
    "webhooks.enforcement=audit",
    "webhooks.failurePolicy=Ignore",
    "webhooks.timeoutSeconds=10",
    "webhooks.exemptNamespaces=null",
    "webhooks.pods=true",
    "webhooks.hostNetwork=true",
    "webhooks.clientCAConfigMap=client-ca",
    "webhooks.clientNames=null",
    "webhooks.env.MUSTER_ENFORCEMENT=warn",
    "webhooks.env.MUSTER_REQUEST_SECONDS=6",
    "webhooks.env.MUSTER_KUBERNETES=1.36",
    "webhooks.env.MUSTER_GATES=CompositePodGroup=false",
    "webhooks.env.MUSTER_TOTAL_BODY_BYTES=8000000",
    "webhooks.env.MUSTER_BODY_BYTES=1000000",
    "webhooks.env.MUSTER_FINALIZERS=all",
    "webhooks.env=null",
    f"webhooks.{EXTRA}",
    "webhooks.affinity=null",
    "webhooks.topologySpreadConstraints=null",
    "webhooks.serviceAccount.annotations.a=b",
    "webhooks.resources=null",
    "webhooks.priorityClassName=",
    "certificate.source=secret",
    "certificate.source=cert-manager",
    "certificate.secretName=muster-ca",
    "certificate.caBundle=QUE=",
    "certificate.certManager.issuerRef.name=ours",
    "sidecar.enabled=true",
    "sidecar.enabled=true,sidecar.replicas=1",
    "sidecar.enabled=true,sidecar.modes={validate}",
    "sidecar.enabled=true,sidecar.modes={ungate,preempt}",
    "sidecar.enabled=true,sidecar.modes={preempt}",
    "sidecar.enabled=true,sidecar.schedulerName=default-scheduler",
    "sidecar.env.MUSTER_GATES=CompositePodGroup=true",
    f"sidecar.{EXTRA}",
    "build.enabled=true",
    "build.enabled=true,build.policy=true",
    "build.enabled=true,build.placedBy=scheduler",
    "why.roles=true",
    "doctor.roles=true",
    "prometheus.monitors=true",
    "prometheus.monitorKind=ServiceMonitor",
    "prometheus.alerts=true",
    "networkPolicy.enabled=false",
    "networkPolicy.reviewsFrom={10.0.0.0/28}",
    "networkPolicy.metricsFrom={monitoring}",
    "criticalPodsQuota=true",
    "runAsUser=null",
    "image.tag=v2",
    f"image.digest=sha256:{'0a' * 32}",
)
TOGETHER = (
    ("webhooks.enabled=false", "sidecar.enabled=true"),
    ("webhooks.timeoutSeconds=10", "webhooks.env.MUSTER_REQUEST_SECONDS=6"),
    ("webhooks.env.MUSTER_TOTAL_BODY_BYTES=8000000", "webhooks.env.MUSTER_BODY_BYTES=1000000"),
    ("certificate.source=secret", "certificate.caBundle=QUE="),
    ("certificate.source=cert-manager", "certificate.certManager.issuerRef.name=ours"),
    ("prometheus.monitors=true", "networkPolicy.enabled=false"),
    ("prometheus.monitors=true", "networkPolicy.metricsFrom={monitoring}"),
)
"""Pairs of which one value is refused without the other."""
PAIRS = [*TOGETHER, *every(50, [pair for pair in itertools.combinations(VALUES, 2) if pair not in TOGETHER])]


@pytest.mark.parametrize("values", PAIRS, ids=" ".join)
def test_a_pair_of_values_is_refused_or_its_objects_fit_together(values):
    done = rendered.with_values(*values)
    if done.returncode:
        assert values not in TOGETHER, done.stderr
        assert re.search(r"at '/|must be at most three quarters of", done.stderr), done.stderr
        return
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len({*names})
    accounts_exist(objects, {*names})
    deployments = [each for each in objects if each["kind"] == "Deployment"]
    assert deployments
    for each in deployments:
        pods_can_run_and_are_read(each, objects)
    api_server_trusts(objects, {*names})


def accounts_exist(objects, names):
    """Each binding gives a role that exists to the account of a component."""
    for each in (each for each in objects if each["kind"].endswith("Binding") and "roleRef" in each):
        assert (each["roleRef"]["kind"], each["roleRef"]["name"]) in names
        assert {("ServiceAccount", subject["name"]) for subject in each["subjects"]} <= names


def pods_can_run_and_are_read(deployment, objects):
    """A variable is set once, a drain ends, and who is told of metrics can read them."""
    name, pod = deployment["metadata"]["name"], deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    variables = [each["name"] for each in container.get("env", ())]
    assert len(variables) == len({*variables})
    (budget,) = (each for each in objects if (each["kind"], each["metadata"]["name"]) == ("PodDisruptionBudget", name))
    assert {"maxUnavailable": 1, "selector": deployment["spec"]["selector"]} == budget["spec"]
    open_to = [
        rule
        for each in objects
        if each["kind"] == "NetworkPolicy" and each["spec"]["podSelector"] == deployment["spec"]["selector"]
        for rule in each["spec"].get("ingress", ())
        if {"port": "probes", "protocol": "TCP"} in rule["ports"]
    ]
    closed = any(each["kind"] == "NetworkPolicy" for each in objects) and not pod["spec"].get("hostNetwork") and not open_to
    read = [
        each for each in objects if each["metadata"]["name"] == name and each["kind"] in ("PodMonitor", "ServiceMonitor", "PrometheusRule")
    ]
    assert not (closed and (read or "prometheus.io/scrape" in pod["metadata"].get("annotations", {})))


def api_server_trusts(objects, names):
    """Each webhook has a CA, or somebody who writes it, and its answer comes before the end of the wait."""
    for each in (each for each in objects if each["kind"].endswith("WebhookConfiguration")):
        written = ("ClusterRole", "muster-webhook-certificate") in names or ("Certificate", "muster-webhook") in names
        assert written or all(entry["clientConfig"].get("caBundle") for entry in each["webhooks"])
