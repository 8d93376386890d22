"""The Helm chart on a real API server: applied, applied again without a change, and the webhooks are called as they are configured."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest
import yaml

from kubeapi.versions import kubernetes_releases
from tests.cluster import go_tools
from tests.cluster.api import ApiError
from tests.cluster.conftest import available
from tests.cluster.installed import CONFIGURATIONS, NAMESPACE, Installed, eventually, installed, pod_group
from tests.cluster.unfit import is_refused, unfit_group
from tests.deploy import rendered

DIGEST = f"sha256:{'0a' * 32}"
TERM = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
OF_COMPONENTS = (
    r"serviceAccount.annotations.eks\.amazonaws\.com/role-arn=arn:aws:iam::1:role/muster",
    *(f"{TERM}.{each}" for each in ("key=pool", "operator=In", "values={infra}")),
    *(
        f"topologySpreadConstraints[0].{each}"
        for each in ("maxSkew=2", "topologyKey=rack", "whenUnsatisfiable=DoNotSchedule", "minDomains=2")
    ),
    "extraEnv[0].name=TZ",
    "extraEnv[0].value=Europe/Paris",
    "podLabels.team=infra",
    "podAnnotations.team=infra",
)
SETTINGS = (
    *(f"{section}.{each}" for section in ("webhooks", "sidecar") for each in OF_COMPONENTS),
    "sidecar.extraEnv[1].name=NODE",
    "sidecar.extraEnv[1].valueFrom.fieldRef.fieldPath=spec.nodeName",
    "sidecar.extraEnv[2].name=TOKEN",
    "sidecar.extraEnv[2].valueFrom.secretKeyRef.name=proxy",
    "sidecar.extraEnv[2].valueFrom.secretKeyRef.key=token",
    "sidecar.extraEnv[2].valueFrom.secretKeyRef.optional=true",
    "sidecar.extraEnv[3].name=MEMORY",
    "sidecar.extraEnv[3].valueFrom.resourceFieldRef.resource=limits.memory",
    "image.tag=v2",
    f"image.digest={DIGEST}",
    "webhooks.env.MUSTER_RULES=gang-minimum=warning",
)
"""Values that change objects of the chart and add none."""
OWN_KINDS = "webhooks.pods=true", "criticalPodsQuota=true", "sidecar.enabled=true", rendered.ALL_MODES, rendered.MONITORING, *SETTINGS
"""Values with which the chart has all its objects of Kubernetes' own kinds."""
EVERYTHING = (*OWN_KINDS, "certificate.source=cert-manager", "prometheus.monitors=true", "prometheus.alerts=true")
EXTRA_KINDS = (
    "certificates.cert-manager.io",
    "issuers.cert-manager.io",
    "podmonitors.monitoring.coreos.com",
    "prometheusrules.monitoring.coreos.com",
    "servicemonitors.monitoring.coreos.com",
)
SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


class OfChart(Installed):
    """The webhooks of the chart with the CA of the certificate, as an administrator brings it; helm creates the namespace."""

    def manifests(self):
        bundle = base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()
        values = f"certificate.caBundle={bundle}", "certificate.source=secret", "api=kubernetes", *OWN_KINDS
        flags = [part for each in values for part in ("--set", each)]
        done = rendered.template(*flags, "--kube-version", f"{kubernetes_releases.name(self.plane.programs.minor())}.0")
        assert 0 == done.returncode, done.stderr
        return [SYSTEM, *filter(None, yaml.safe_load_all(done.stdout))]


@pytest.fixture(scope="module", autouse=True)
def webhooks(plane, tmp_path_factory):
    available(lambda: go_tools.find("helm"))
    with installed(plane, tmp_path_factory.mktemp("chart"), kind=OfChart) as created:
        yield created


def test_a_group_with_an_error_is_refused_and_another_one_completed(api, namespace):
    with pytest.raises(ApiError) as refused:
        api.create(unfit_group("bad", namespace))
    created = api.create(pod_group("good", namespace))

    assert is_refused(refused.value.status)
    assert {"single": {}} == created["spec"]["disruptionMode"]


@pytest.mark.parametrize("name", ["muster-webhook", "muster-sidecar"])
def test_the_objects_on_the_server_have_the_values(api, name):
    deployment = api.get("Deployment", name, NAMESPACE)
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    (constraint,) = pod["spec"]["topologySpreadConstraints"]
    selector = {"matchLabels": {"app.kubernetes.io/name": name}}
    account = api.get("ServiceAccount", pod["spec"]["serviceAccountName"], NAMESPACE)["metadata"]

    assert f"muster@{DIGEST}" == container["image"]
    assert {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/muster"}.items() <= account["annotations"].items()
    assert {"nodeAffinity", "podAntiAffinity"} == pod["spec"]["affinity"].keys()
    assert (selector, "DoNotSchedule", 2) == (constraint["labelSelector"], constraint["whenUnsatisfiable"], constraint["minDomains"])
    assert {"TZ": "Europe/Paris"}.items() <= {each["name"]: each.get("value") for each in container["env"]}.items()
    assert ("infra", "infra", "true") == (
        pod["metadata"]["labels"]["team"],
        pod["metadata"]["annotations"]["team"],
        pod["metadata"]["annotations"]["prometheus.io/scrape"],
    )


def test_applied_twice_nothing_differs(plane, webhooks):
    others = [each for each in webhooks.objects if each["kind"] not in CONFIGURATIONS]
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": others})

    once = plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests, check=True).stdout
    assert len(others) == once.count("serverside-applied")
    assert "" == plane.kubectl("diff", "--server-side", "-f", "-", stdin=manifests, check=True).stdout


def test_the_single_file_is_applied_twice_without_a_difference(plane, webhooks):
    """The configurations are not applied: the API server could not reach the Service."""
    file = yaml.safe_load_all((rendered.DEPLOY / "install.yaml").read_text())
    objects = [each for each in file if each["kind"] not in CONFIGURATIONS]
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})

    for _ in range(2):
        once = plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests, check=True).stdout
        assert len(objects) == once.count("serverside-applied")
        assert "" == plane.kubectl("diff", "--server-side", "-f", "-", stdin=manifests, check=True).stdout


def test_a_budget_that_kubectl_calls_configured_is_not_changed(plane, api, webhooks):
    """The field ``selector`` has the patch strategy ``replace``, so that kubectl sends it without a comparison."""
    budget = next(each for each in webhooks.objects if each["kind"] == "PodDisruptionBudget")
    name, versions = budget["metadata"]["name"], []

    for _ in range(3):
        printed = plane.kubectl("apply", "-f", "-", stdin=json.dumps(budget), check=True).stdout
        versions.append(api.get("PodDisruptionBudget", name, NAMESPACE)["metadata"]["resourceVersion"])

    assert printed == f"poddisruptionbudget.policy/{name} configured\n"
    assert versions[1] == versions[2]


def test_the_api_server_knows_every_field(plane, webhooks):
    """Strict validation, of the configurations too: a field that the server does not know would be dropped."""
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": webhooks.objects})

    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=manifests, check=True)

    assert "Warning" not in done.stderr


def test_pods_satisfy_the_standard_restricted(api, webhooks, namespace):
    """As the namespace of deploy/base demands; the API server checks the pods when they are created."""
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    assert label.items() <= yaml.safe_load((rendered.DEPLOY / "base/namespace.yaml").read_text())["metadata"]["labels"].items()
    api.patch("Namespace", namespace, body={"metadata": {"labels": label}})
    pods = [_pod_of(each, namespace) for each in webhooks.objects if each["kind"] == "Deployment"]

    assert eventually(lambda: "PodSecurity" in _refusal_of(api, {**pods[0], "spec": {**pods[0]["spec"], "hostNetwork": True}}))
    assert ["", ""] == [_refusal_of(api, each) for each in pods]


def _pod_of(deployment, namespace):
    template = deployment["spec"]["template"]
    metadata = {"name": "probe", "namespace": namespace, "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], "serviceAccountName": "default"}}


def _refusal_of(api, manifest):
    try:
        api.create(manifest, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def test_the_modes_of_namespaces_apply(api, namespace):
    api.patch("Namespace", namespace, body={"metadata": {"labels": {"muster.dev/enforcement": "audit"}}})
    assert eventually(lambda: _is_accepted(api, namespace)), "the label has no effect"


def _is_accepted(api, namespace):
    try:
        api.create(unfit_group("probe", namespace), dryRun="All")
    except ApiError:
        return False
    return True


@pytest.fixture(scope="module")
def crds(plane):
    """The kinds of cert-manager and of the Prometheus operator on the API server, in their published form."""
    folder = str(available(go_tools.find_crds))
    plane.kubectl("create", "-f", folder, check=True)
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{name}" for name in EXTRA_KINDS), check=True)
    yield
    plane.kubectl("delete", "-f", folder, check=True)


@pytest.mark.parametrize("monitor", ["PodMonitor", "ServiceMonitor"])
def test_all_objects_of_the_chart_are_accepted_with_strict_validation(plane, crds, monitor):
    done = rendered.template(*(part for each in (*EVERYTHING, f"prometheus.monitorKind={monitor}") for part in ("--set", each)))

    applied = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=done.stdout, check=True)

    assert done.stdout.count("\nkind: ") == applied.stdout.count("(server dry run)")
    assert {"certificate", monitor.lower(), "prometheusrule"} <= {line.partition(".")[0] for line in applied.stdout.splitlines()}


def test_kubeconform_is_content_with_every_manifest(plane, crds, tmp_path):
    """Offline, as in a pipeline of a user; the schemas are those of the API server, and a field that they do not have is an error."""
    write_schemas(plane.kubectl("get", "--raw", "/openapi/v2", check=True).stdout, tmp_path)
    location = f"{tmp_path}/{{{{.ResourceKind}}}}_{{{{.Group}}}}_{{{{.ResourceAPIVersion}}}}.json"
    command = [available(lambda: go_tools.find("kubeconform")), "-strict", "-summary", "-schema-location", location]
    skipped = ("kustomization.yaml", "values.yaml", "Chart.yaml")
    files = [path for path in rendered.DEPLOY.rglob("*.yaml") if path.name not in skipped and "templates" not in path.parts]
    every = rendered.template(*(part for each in EVERYTHING for part in ("--set", each))).stdout
    (tmp_path / "chart.yaml").write_text(every, encoding="utf-8")

    done = subprocess.run([*command, *map(str, files), str(tmp_path / "chart.yaml")], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout
    assert "Skipped: 0" in done.stdout

    (tmp_path / "bad.yaml").write_text(every.replace("failurePolicy: Fail", "failurePolicie: Fail"), encoding="utf-8")
    bad = subprocess.run([*command, str(tmp_path / "bad.yaml")], capture_output=True, text=True, check=False)
    assert "failurePolicie" in bad.stdout


def write_schemas(openapi, folder):
    """Write a JSON Schema for each kind of an OpenAPI document, named KIND_GROUP_VERSION.json."""
    definitions = json.loads(openapi)["definitions"]
    for each in definitions.values():
        if "properties" in each:
            each.setdefault("additionalProperties", False)
        for name, value in each.get("properties", {}).items():
            if value.get("format") == "int-or-string":
                each["properties"][name] = {"type": ["integer", "string"]}
    for name in [name for name, each in definitions.items() if each.get("format") == "int-or-string"]:
        definitions[name] = {"type": ["integer", "string"]}
    (folder / "definitions.json").write_text(json.dumps({"definitions": definitions}), encoding="utf-8")
    for name, each in definitions.items():
        for kind in each.get("x-kubernetes-group-version-kind", ()):
            schema = {"$ref": f"file://{folder}/definitions.json#/definitions/{name}"}
            # kubeconform names the core group by its version.
            path = folder / f"{kind['kind'].lower()}_{kind['group'] or kind['version']}_{kind['version']}.json"
            path.write_text(json.dumps(schema), encoding="utf-8")
