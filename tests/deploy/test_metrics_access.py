"""Network policies of the chart, and who reads metrics through them: monitors, and a Prometheus that follows annotations."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml

from tests.cluster import programs
from tests.cluster.conftest import available
from tests.deploy import rendered
from tests.deploy.rendered import SIDECAR, objects, with_values

pytestmark = pytest.mark.usefixtures("helm")
SIDECAR_FLAGS = ("--set", *SIDECAR)


def test_only_the_port_for_reviews_is_open():
    found = objects(*SIDECAR)
    webhook, sidecar = (found["NetworkPolicy", f"muster-{name}"]["spec"] for name in ("webhook", "sidecar"))

    assert (["Ingress"], [{"ports": [{"port": "webhook", "protocol": "TCP"}]}]) == (webhook["policyTypes"], webhook["ingress"])
    assert (["Ingress"], None) == (sidecar["policyTypes"], sidecar.get("ingress"))
    assert not [key for key in found if key[1].endswith("-metrics")]
    assert not [key for key in objects(*SIDECAR, "networkPolicy.enabled=false") if key[0] == "NetworkPolicy"]


def test_reviews_are_accepted_from_named_addresses_only():
    (rule,) = objects("networkPolicy.reviewsFrom={10.0.0.0/28,fd00::/64}")["NetworkPolicy", "muster-webhook"]["spec"]["ingress"]

    *addresses, replicas = rule["from"]
    assert ["10.0.0.0/28", "fd00::/64"] == [each["ipBlock"]["cidr"] for each in addresses]
    assert {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "muster-webhook"}}} == replicas
    (others,) = objects("networkPolicy.reviewsFrom={10.0.0.0/28}", *rendered.ISSUED)["NetworkPolicy", "muster-webhook"]["spec"]["ingress"]
    assert [{"ipBlock": {"cidr": "10.0.0.0/28"}}] == others["from"]
    assert "networkPolicy/reviewsFrom/0" in with_values("networkPolicy.reviewsFrom={api-server}").stderr.replace(".", "/")


def test_prometheus_may_read_the_metrics_of_every_pod():
    found = objects(*SIDECAR, rendered.MONITORING)
    for name in ("muster-webhook", "muster-sidecar"):
        policy = found["NetworkPolicy", f"{name}-metrics"]["spec"]
        (rule,) = policy["ingress"]
        assert found["Deployment", name]["spec"]["template"]["metadata"]["labels"] == policy["podSelector"]["matchLabels"]
        assert [{"port": "probes", "protocol": "TCP"}] == rule["ports"]
        assert ["monitoring"] == rule["from"][0]["namespaceSelector"]["matchExpressions"][0]["values"]


def test_a_service_monitor_reads_every_replica_through_a_service_of_its_own():
    values = (*SIDECAR, rendered.MONITORING, "prometheus.monitors=true")
    pods, services = objects(*values), objects(*values, "prometheus.monitorKind=ServiceMonitor")

    for name in ("muster-webhook", "muster-sidecar"):
        labels = pods["Deployment", name]["spec"]["template"]["metadata"]["labels"]
        assert labels == pods.pop(("PodMonitor", name))["spec"]["selector"]["matchLabels"]
        monitor, service = services.pop(("ServiceMonitor", name))["spec"], services.pop(("Service", f"{name}-metrics"))
        assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert [each["name"] for each in service["spec"]["ports"]] == [each["port"] for each in monitor["endpoints"]]
        assert (labels, "None", True) == (
            service["spec"]["selector"],
            service["spec"]["clusterIP"],
            service["spec"]["publishNotReadyAddresses"],
        )
    assert pods == services


PAGE = (rendered.DEPLOY.parent / "docs/operate/prometheus.md").read_text(encoding="utf-8")
MONITORED, ANNOTATED = re.findall(r"```yaml[^\n]*\n(.*?)```", PAGE, re.DOTALL)


def test_the_overlay_with_annotations_of_the_page_is_the_chart(tmp_path):
    kubectl = available(lambda: programs.find().path("kubectl"))
    shutil.copytree(rendered.DEPLOY, tmp_path / "deploy")
    folder = tmp_path / "deploy/overlays/annotated"
    folder.mkdir()
    shutil.copy(rendered.DEPLOY / "components/prometheus/network-policy.yaml", folder)
    (folder / "kustomization.yaml").write_text(ANNOTATED, encoding="utf-8")
    built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True).stdout
    found = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(built)}
    want = objects(rendered.MONITORING, "api=kubernetes")

    assert want.keys() == found.keys() - {("Namespace", "muster-system")}
    assert want["NetworkPolicy", "muster-webhook-metrics"] == found["NetworkPolicy", "muster-webhook-metrics"]
    own, other = (each["Deployment", "muster-webhook"]["spec"]["template"]["metadata"] for each in (want, found))
    assert own == other
    assert SCRAPED == own["annotations"]


@pytest.mark.parametrize(
    ("name", "component", "resource", "values"),
    [
        ("muster-webhook", "prometheus", "overlays/managed", ()),
        ("muster-sidecar", "prometheus-sidecar", "sidecar", (*SIDECAR, "webhooks.enabled=false")),
    ],
)
def test_the_component_of_the_page_is_the_chart(tmp_path, name, component, resource, values):
    kubectl = available(lambda: programs.find().path("kubectl"))
    shutil.copytree(rendered.DEPLOY, tmp_path / "deploy")
    folder = tmp_path / "deploy/overlays/ours"
    folder.mkdir()
    text = MONITORED.replace("../managed", f"../../{resource}").replace("components/prometheus", f"components/{component}")
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True).stdout
    found = {(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(built)}

    want = objects(*values, "api=kubernetes", "prometheus.monitors=true", "prometheus.alerts=true", rendered.MONITORING)
    # The role of a mode that is off is in the manifests, and is not bound.
    assert want.keys() == found - {("Namespace", "muster-system"), ("ClusterRole", "muster-sidecar-ungate")}
    assert {("PrometheusRule", name), ("PodMonitor", name)} <= found


SCRAPED = {"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "prometheus.io/path": "/metrics"}


@pytest.mark.parametrize(
    ("values", "webhooks", "sidecar"),
    [
        pytest.param((), {}, {}, id="the policies let nobody read"),
        pytest.param((rendered.MONITORING,), SCRAPED, SCRAPED, id="a namespace may read"),
        pytest.param(("networkPolicy.enabled=false",), SCRAPED, SCRAPED, id="no policy"),
        pytest.param(("webhooks.hostNetwork=true",), SCRAPED, {}, id="no policy protects a node"),
        pytest.param((rendered.MONITORING, "prometheus.monitors=true"), {}, {}, id="monitors read"),
        pytest.param((rendered.MONITORING, "prometheus.alerts=true"), SCRAPED, SCRAPED, id="alerts without monitors"),
    ],
)
def test_a_pod_is_annotated_if_somebody_can_read_its_metrics(values, webhooks, sidecar):
    for name, want in (("muster-webhook", webhooks), ("muster-sidecar", sidecar)):
        pod = objects(*SIDECAR, *values)["Deployment", name]["spec"]["template"]
        assert want == pod["metadata"].get("annotations", {})
        ports = {each["containerPort"]: each["name"] for each in pod["spec"]["containers"][0]["ports"]}
        assert "probes" == ports[int(SCRAPED["prometheus.io/port"])]


@pytest.mark.parametrize(("name", "section"), [("muster-webhook", "webhooks"), ("muster-sidecar", "sidecar")])
def test_an_annotation_by_which_nothing_could_be_read_is_refused(name, section):
    scrape = rf"{section}.podAnnotations.prometheus\.io/scrape"

    def annotations(value, *values):
        done = rendered.template("--set-string", f"{scrape}={value}", *(part for each in (*SIDECAR, *values) for part in ("--set", each)))
        assert 0 == done.returncode, done.stderr
        found = {each["metadata"]["name"]: each for each in yaml.safe_load_all(done.stdout) if each and each["kind"] == "Deployment"}
        return found[name]["spec"]["template"]["metadata"]["annotations"]

    refused = rendered.template("--set-string", f"{scrape}=true", *SIDECAR_FLAGS)
    assert f"/{section}/podAnnotations/prometheus.io~1scrape': value must be 'false'" in refused.stderr
    assert {"prometheus.io/scrape": "false"} == annotations("false")
    assert SCRAPED == annotations("true", rendered.MONITORING)
    assert SCRAPED | {"prometheus.io/scrape": "false"} == annotations("false", rendered.MONITORING)
    assert SCRAPED == annotations("true", rendered.MONITORING, "prometheus.monitors=true")


def test_monitors_can_read_where_there_is_no_policy():
    assert 0 == with_values("prometheus.monitors=true", "prometheus.alerts=true", "networkPolicy.enabled=false").returncode
