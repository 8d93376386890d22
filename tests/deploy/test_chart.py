"""The Helm chart: its values, and the manifests of ``deploy/`` that are rendered from it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess

import pytest
import yaml

from tests.cluster import go_tools, programs
from tests.cluster.conftest import available
from tests.deploy import rendered, values_schema
from webhooks import admission_options
from webhooks import settings as webhook_settings

CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SIDECAR = ("sidecar.enabled=true",)
EVERYTHING = (
    "webhooks.pods=true",
    "certificate.source=cert-manager",
    "sidecar.enabled=true",
    rendered.ALL_MODES,
    "prometheus.monitors=true",
    "prometheus.alerts=true",
    rendered.MONITORING,
    "criticalPodsQuota=true",
    "doctor.roles=true",
    "why.roles=true",
)


@pytest.fixture(scope="module", autouse=True)
def helm():
    return available(lambda: go_tools.find("helm"))


def helm_template(*values):
    return rendered.template(*(part for each in values for part in ("--set", each)))


def objects(*values):
    """Return the objects of the chart with these values, by kind and name."""
    done = helm_template(*values)
    assert 0 == done.returncode, done.stderr
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert len(found) == len({(each["kind"], each["metadata"]["name"]) for each in found})
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def container(name, *values):
    spec = objects(*values)["Deployment", name]["spec"]["template"]["spec"]
    (result,) = spec["containers"]
    return spec, result


@pytest.mark.parametrize("name", list(rendered.FILES))
def test_a_manifest_is_that_of_the_chart(name):
    assert rendered.render(name) == (rendered.DEPLOY / name).read_text(encoding="utf-8"), "run `make manifests`"


@pytest.mark.parametrize(("name", "copy"), rendered.COPIES.items())
def test_the_demonstration_installs_the_same(name, copy):
    assert (rendered.DEPLOY / name).read_bytes() == (rendered.DEMO / copy).read_bytes(), "run `make manifests`"


def test_helm_finds_nothing_to_improve(helm):
    done = subprocess.run([helm, "lint", "--strict", rendered.CHART], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout


def test_it_is_rendered_the_same_each_time():
    """A certificate that is made while rendering would change with each upgrade."""
    assert helm_template(*EVERYTHING).stdout == helm_template(*reversed(EVERYTHING)).stdout


def test_all_objects_say_what_they_belong_to_and_where_they_are():
    cluster_scoped = {"ClusterRole", "ClusterRoleBinding", *CONFIGURATIONS}
    cluster_scoped |= {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    for (kind, _), each in objects(*EVERYTHING).items():
        assert "muster" == each["metadata"]["labels"]["app.kubernetes.io/part-of"]
        assert (kind in cluster_scoped) == ("namespace" not in each["metadata"])


def test_the_defaults_of_the_values_satisfy_the_schema_and_all_of_them_are_in_it():
    values = yaml.safe_load((rendered.CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((rendered.CHART / "values.schema.json").read_text(encoding="utf-8"))

    assert values.keys() == schema["properties"].keys() - {"global"}
    for name, part in values.items():
        if isinstance(part, dict):
            assert part.keys() == schema["properties"][name]["properties"].keys()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        pytest.param("webhook.replicas=2", "webhook", id="a section that does not exist"),
        pytest.param("webhooks.replica=2", "replica", id="a value that does not exist"),
        pytest.param("webhooks.replicas=0", "replicas", id="no replica"),
        pytest.param("runAsUser=0", "runAsUser", id="root"),
        pytest.param("webhooks.enforcement=dryrun", "enforcement", id="a mode"),
        pytest.param("webhooks.failurePolicy=fail", "failurePolicy", id="case"),
        pytest.param("webhooks.timeoutSeconds=2", "timeoutSeconds", id="less than the server needs to answer"),
        pytest.param("webhooks.timeoutSeconds=31", "timeoutSeconds", id="more than the API server waits"),
        pytest.param("webhooks=null", "webhooks", id="no section"),
        pytest.param("webhooks.replicas=null", "replicas", id="no value"),
        pytest.param("certificate.certManager=null", "certManager", id="no section in a section"),
        pytest.param("webhooks.env.PATH=/", "PATH", id="a variable that is no setting"),
        pytest.param("webhooks.env.MUSTER_RULE=gang-minimum=off", "MUSTER_RULE", id="a variable that does not exist"),
        pytest.param("webhooks.env.MUSTER_STRATEGY=greedy", "MUSTER_STRATEGY", id="a variable of the sidecar"),
        pytest.param("sidecar.env.MUSTER_RULES=gang-minimum=off", "MUSTER_RULES", id="a variable of the webhooks"),
        pytest.param("webhooks.env.MUSTER_ENFORCEMENT=foo", "MUSTER_ENFORCEMENT", id="no mode of enforcement"),
        pytest.param("webhooks.env.MUSTER_WORKERS=0", "MUSTER_WORKERS", id="below the least number"),
        pytest.param("webhooks.env.MUSTER_CERTIFICATE_DAYS=3651", "MUSTER_CERTIFICATE_DAYS", id="above the largest number"),
        pytest.param("webhooks.env.MUSTER_REQUEST_SECONDS=soon", "MUSTER_REQUEST_SECONDS", id="no number of seconds"),
        pytest.param("webhooks.env.MUSTER_PROFILE=kap", "MUSTER_PROFILE", id="no profile"),
        pytest.param("webhooks.env.MUSTER_KUBERNETES=1.20", "MUSTER_KUBERNETES", id="no version of Kubernetes"),
        pytest.param("webhooks.env.MUSTER_RULES=gang-minimum=none", "MUSTER_RULES", id="no severity"),
        pytest.param("webhooks.env.MUSTER_GATES=GenericWorkload", "MUSTER_GATES", id="a gate without a value"),
        pytest.param("sidecar.env.MUSTER_STRATEGY=best", "MUSTER_STRATEGY", id="no strategy of the sidecar"),
        pytest.param("sidecar.env.MUSTER_WRITERS=65", "MUSTER_WRITERS", id="above the largest number of the sidecar"),
        pytest.param("sidecar.env.MUSTER_LABELS=maybe", "MUSTER_LABELS", id="neither on nor off"),
        pytest.param("webhooks.resources.limit.memory=1Gi", "limit", id="a key of the resources"),
        pytest.param("webhooks.tolerations[0].opertor=Exists", "opertor", id="a key of a toleration"),
        pytest.param("webhooks.exemptNamespaces={Mine}", "exemptNamespaces", id="no name of a namespace"),
        pytest.param("image.repository=registry:5000/muster:v1", "repository", id="a tag in the repository"),
        pytest.param("image.tag=v1 ", "tag", id="a blank in the tag"),
        pytest.param("certificate.secretName=my_secret", "secretName", id="no name of a Secret"),
        pytest.param("certificate.caBundle=aGVsbG8", "caBundle", id="half a base64"),
        pytest.param("certificate.source=helm", "source", id="a source"),
        pytest.param("certificate.caBundle=-----BEGIN", "caBundle", id="PEM instead of base64"),
        pytest.param("certificate.certManager.issuerRef.kind=ClusterIssuer", "issuerRef", id="an issuer without a name"),
        pytest.param("sidecar.modes={place,bind}", "modes", id="a mode of the sidecar"),
        pytest.param("sidecar.modes={}", "modes", id="no mode of the sidecar"),
        pytest.param("sidecar.schedulerName=Muster", "schedulerName", id="no name of a scheduler"),
        pytest.param("networkPolicy.reviewsFrom={10.0.0.1}", "reviewsFrom", id="an address without a length"),
        pytest.param("networkPolicy.reviewsFrom={10.0.0.0/99}", "reviewsFrom", id="a length of no address"),
        pytest.param("networkPolicy.metricsFrom={team_a}", "metricsFrom", id="no name of a namespace that reads metrics"),
    ],
)
def test_a_bad_value_is_refused_with_its_name(value, field):
    done = helm_template(value)

    assert 0 != done.returncode
    assert field in done.stderr
    assert "nil pointer" not in done.stderr


@pytest.mark.parametrize(
    "value",
    [
        "image.repository=registry.example:5000/team/muster",
        f"image.tag=v1.2@sha256:{'0a' * 32}",
        "webhooks.resources=null",
        "webhooks.tolerations[0].tolerationSeconds=30",
        "networkPolicy.reviewsFrom={fd00::/8,10.0.0.0/32,::ffff:10.0.0.0/104}",
        "sidecar.schedulerName=batch.example",
        r"webhooks.env.MUSTER_ENFORCEMENT=audit\, gang-minimum=deny\,",
        "webhooks.env.MUSTER_KUBERNETES=1.36",
        r"webhooks.env.MUSTER_RULES=gang-minimum=off\,all-needs-gang=warning",
        r"webhooks.env.MUSTER_GATES=GenericWorkload=true\,CompositePodGroup=false",
        "sidecar.env.MUSTER_LABELS=false",
        "sidecar.env.MUSTER_BUDGET=100000",
    ],
)
def test_an_unusual_value_is_accepted(value):
    done = helm_template(*SIDECAR, value)

    assert 0 == done.returncode, done.stderr


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (("webhooks.enabled=false",), "webhooks.enabled and sidecar.enabled are false"),
        ((*SIDECAR, "sidecar.modes={validate,preempt}"), "sidecar.modes: preempt needs place or ungate"),
        (("webhooks.env.MUSTER_REQUEST_SECONDS=20",), "MUSTER_REQUEST_SECONDS=20 must be less than webhooks.timeoutSeconds=3"),
        (("networkPolicy.enabled=false", "networkPolicy.reviewsFrom={10.0.0.0/28}"), "networkPolicy.reviewsFrom has no effect"),
        (("networkPolicy.enabled=false", "networkPolicy.metricsFrom={monitoring}"), "networkPolicy.metricsFrom has no effect"),
        (
            ("certificate.certManager.issuerRef.name=ours",),
            "certificate.certManager.issuerRef has no effect with certificate.source=managed",
        ),
        (
            ("certificate.source=cert-manager", "certificate.caBundle=QUE="),
            "certificate.caBundle is not for certificate.source=cert-manager",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(values, want):
    done = helm_template(*values)

    assert (1, True) == (done.returncode, want in done.stderr), done.stderr


def test_the_types_of_the_variables_are_those_of_the_settings():
    assert values_schema.render(rendered.SCHEMA) == rendered.SCHEMA.read_text(encoding="utf-8"), "run `make manifests`"


@pytest.mark.parametrize("option", [each for each in webhook_settings.OPTIONS.values() if each.type.bounds], ids=lambda each: each.variable)
def test_the_bounds_are_those_that_the_server_checks(option):
    low, high = option.type.bounds
    for accepted in (low, high):
        assert float(option.type.parse([str(accepted)])) == accepted
    for refused in (low - 0.01 if isinstance(low, float) else low - 1, high + 1):
        with pytest.raises(ValueError, match="must be a"):
            option.type.parse([str(refused)])


@pytest.mark.parametrize("values", [(), ("webhooks.pods=true",)], ids=["groups", "pods"])
def test_a_ca_is_in_every_entry(values):
    bundle = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()
    found = objects(*values, f"certificate.caBundle={bundle}")
    bundles = {
        entry["clientConfig"]["caBundle"] for (kind, _), each in found.items() if kind in CONFIGURATIONS for entry in each["webhooks"]
    }

    assert {bundle} == bundles


def test_cert_manager_writes_the_ca_of_the_certificate_that_the_server_reads():
    found = objects("certificate.source=cert-manager", "webhooks.pods=true", "certificate.secretName=mine")
    certificate = found["Certificate", "muster-webhook"]["spec"]
    spec, _ = container("muster-webhook", "certificate.source=cert-manager", "certificate.secretName=mine")

    assert ("mine", ["muster-webhook.muster-system.svc"]) == (certificate["secretName"], certificate["dnsNames"])
    assert "mine" == next(each["secret"]["secretName"] for each in spec["volumes"] if each["name"] == "certs")
    assert ("Issuer", certificate["issuerRef"]["name"]) in found
    injected = {
        each["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] for (kind, _), each in found.items() if kind in CONFIGURATIONS
    }
    assert {"muster-system/muster-webhook"} == injected
    assert all("caBundle" not in entry["clientConfig"] for kind in CONFIGURATIONS for entry in found[kind, "muster"]["webhooks"])


def test_replicas_manage_the_certificate_unless_another_source_is_chosen():
    values = ("certificate.secretName=mine", "webhooks.pods=true")
    found = objects(*values)
    spec, own = container("muster-webhook", *values)
    (role,) = (each for (kind, name), each in found.items() if (kind, name) == ("Role", "muster-webhook-certificate"))

    assert "--certificates=managed" in own["args"]
    assert not [each for each in own["args"] if each.startswith("--tls")]
    assert {"MUSTER_CERTIFICATE_NAMESPACE": "muster-system", "MUSTER_CERTIFICATE_SECRET": "mine"}.items() <= {
        each["name"]: each["value"] for each in own["env"]
    }.items()
    assert ["scratch"] == [each["name"] for each in spec["volumes"]] == [each["name"] for each in own["volumeMounts"]]
    assert [["mine"], ["muster-webhook"]] == [each["resourceNames"] for each in role["rules"] if "resourceNames" in each]
    for source in ("secret", "cert-manager"):
        others = objects(f"certificate.source={source}")
        assert ("Role", "muster-webhook-certificate") not in others
        assert ("ClusterRole", "muster-webhook-certificate") not in others


@pytest.mark.parametrize(
    ("overlay", "values"),
    [("managed", ()), ("managed-pods", ("webhooks.pods=true",)), ("try", ("webhooks.enforcement=audit",))],
)
def test_an_overlay_with_managed_certificates_is_the_chart(overlay, values):
    kubectl = available(lambda: programs.find().path("kubectl"))
    built = subprocess.run(
        [kubectl, "kustomize", rendered.DEPLOY / "overlays" / overlay], capture_output=True, text=True, check=True
    ).stdout
    found = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(built)}
    want = objects(*values)

    (own,) = found["Deployment", "muster-webhook"]["spec"]["template"]["spec"]["containers"]
    (other,) = want["Deployment", "muster-webhook"]["spec"]["template"]["spec"]["containers"]
    for each in (own, other):
        each["env"].sort(key=lambda variable: variable["name"])
    assert found.pop(("Namespace", "muster-system"))
    assert want == found


def test_an_issuer_of_the_user_replaces_that_of_the_chart():
    values = ("certificate.source=cert-manager", "certificate.certManager.issuerRef.name=ours")
    found = objects(*values, "certificate.certManager.issuerRef.kind=ClusterIssuer")

    assert {"kind": "ClusterIssuer", "name": "ours"} == found["Certificate", "muster-webhook"]["spec"]["issuerRef"]
    assert not [kind for kind, _ in found if kind == "Issuer"]


@pytest.mark.parametrize(("mode", "policy"), [("deny", "Fail"), ("warn", "Ignore"), ("audit", "Ignore")])
def test_a_mode_that_refuses_nothing_does_not_depend_on_the_server(mode, policy):
    found = objects(f"webhooks.enforcement={mode}")
    _, own = container("muster-webhook", f"webhooks.enforcement={mode}")

    policies = {entry["failurePolicy"] for kind in CONFIGURATIONS for entry in found[kind, "muster"]["webhooks"][:1]}
    assert {policy} == policies
    assert {"Fail"} == {entry["failurePolicy"] for kind in CONFIGURATIONS for entry in found[kind, "muster"]["webhooks"][1:2]}
    variable = {"name": "MUSTER_ENFORCEMENT", "value": mode}
    assert (mode != "deny") == (variable in own["env"]), "kubectl set env must be able to change it"
    _, own = container("muster-webhook", f"webhooks.enforcement={mode}", "webhooks.env.MUSTER_ENFORCEMENT=warn")
    assert ["warn"] == [each["value"] for each in own["env"] if each["name"] == "MUSTER_ENFORCEMENT"]


@pytest.mark.parametrize(
    ("modes", "policy"),
    [
        ("audit", "Ignore"),
        ("warn,gang-minimum=audit", "Ignore"),
        ("audit,gang-minimum=deny", "Fail"),
        ("gang-minimum=audit", "Fail"),
        ("deny, audit", "Ignore"),
    ],
)
def test_the_policy_follows_from_the_modes_that_the_server_reads(modes, policy):
    """A variable replaces the value of the chart; its modes refuse something if the server says so."""
    value = f"webhooks.env.MUSTER_ENFORCEMENT={modes}".replace(",", r"\,")
    found = objects(value)
    read = admission_options.ENFORCEMENT.type.parse([modes])

    assert (policy == "Fail") == ("deny" in {read.default, *(mode for _, mode in read.rules)})
    assert {policy} == {entry["failurePolicy"] for kind in CONFIGURATIONS for entry in found[kind, "muster"]["webhooks"][:1]}


def test_exempt_namespaces_and_the_timeout_are_those_of_every_entry():
    found = objects("webhooks.exemptNamespaces={kube-system,rook-ceph}", "webhooks.timeoutSeconds=5", "webhooks.failurePolicy=Ignore")
    for kind in CONFIGURATIONS:
        for entry in found[kind, "muster"]["webhooks"]:
            assert ["muster-system", "kube-system", "rook-ceph"] == entry["namespaceSelector"]["matchExpressions"][0]["values"]
            assert ("Ignore", 5) == (entry["failurePolicy"], entry["timeoutSeconds"])


@pytest.mark.parametrize(("name", "section"), [("muster-webhook", "webhooks"), ("muster-sidecar", "sidecar")])
def test_replicas_image_settings_and_placement_are_set(name, section):
    values = (
        *SIDECAR,
        "image.repository=registry.example/muster",
        "image.tag=v2",
        "image.pullPolicy=Always",
        "imagePullSecrets={pull}",
        f"{section}.replicas=5",
        f"{section}.env.MUSTER_GATES=CompositePodGroup=false",
        f"{section}.nodeSelector.pool=infra",
        f"{section}.tolerations[0].operator=Exists",
        f"{section}.resources.limits.memory=2Gi",
        rf"{section}.podLabels.sidecar\.istio\.io/inject=no",
        rf"{section}.podLabels.app\.kubernetes\.io/name=other",
        f"{section}.podAnnotations.team=infra",
        rf"{section}.podAnnotations.prometheus\.io/port=none",
    )
    spec, own = container(name, *values)
    metadata = objects(*values)["Deployment", name]["spec"]["template"]["metadata"]

    assert 5 == objects(*values)["Deployment", name]["spec"]["replicas"]
    assert ("registry.example/muster:v2", "Always", [{"name": "pull"}]) == (own["image"], own["imagePullPolicy"], spec["imagePullSecrets"])
    assert {"name": "MUSTER_GATES", "value": "CompositePodGroup=false"} in own["env"]
    assert ({"pool": "infra"}, [{"operator": "Exists"}]) == (spec["nodeSelector"], spec["tolerations"])
    assert "2Gi" == own["resources"]["limits"]["memory"]
    assert {"app.kubernetes.io/name": name, "sidecar.istio.io/inject": "no"} == metadata["labels"]
    assert ("infra", "8080") == (metadata["annotations"]["team"], metadata["annotations"]["prometheus.io/port"])


@pytest.mark.parametrize(("value", "want"), [("null", None), ("1000690000", 1000690000)])
def test_a_cluster_can_assign_the_user(value, want):
    for name in ("muster-webhook", "muster-sidecar"):
        security = container(name, *SIDECAR, f"runAsUser={value}")[0]["securityContext"]
        given = {key: each for key, each in security.items() if key in ("runAsUser", "runAsGroup", "fsGroup")}
        assert {*given.values()} == ({want} if want else set())
        assert security["runAsNonRoot"]


def test_a_server_in_the_network_of_its_node_is_reached_without_the_network_of_pods():
    spec, own = container("muster-webhook", "webhooks.hostNetwork=true")
    assert (True, "ClusterFirstWithHostNet") == (spec["hostNetwork"], spec["dnsPolicy"])
    assert not {"hostNetwork", "dnsPolicy"} & {*container("muster-webhook")[0]}
    assert {9443, 8080} == {each["containerPort"] for each in own["ports"]}


@pytest.mark.parametrize(("name", "section"), [("muster-webhook", "webhooks"), ("muster-sidecar", "sidecar")])
def test_a_variable_of_the_chart_is_not_set_twice(name, section):
    """The API server refuses a list of variables with a name twice, and an option of the container hides its variable."""
    _, own = container(name, *SIDECAR, "webhooks.pods=true")
    options = [each.partition("=")[0].removeprefix("--") for each in own["args"] if each.startswith("--")]
    for variable in (*(each["name"] for each in own["env"]), *(f"MUSTER_{each.upper().replace('-', '_')}" for each in options)):
        (value, *_) = values_schema.variables()[section].get(variable, {}).get("enum", ["1"])
        done = helm_template(*SIDECAR, "webhooks.pods=true", f"{section}.env.{variable}={str(value).lower()}")
        assert (1, True) == (done.returncode, f"{section}.env.{variable}: the chart sets this variable itself" in done.stderr), done.stderr


def test_a_number_of_a_file_is_written_in_full(tmp_path):
    """helm reads the numbers of a file as floats."""
    (tmp_path / "values.yaml").write_text(
        "webhooks: {env: {MUSTER_BODY_BYTES: 8388608, MUSTER_KEEPALIVE_SECONDS: 1.5, MUSTER_KUBERNETES: 1.36}}\n", encoding="utf-8"
    )
    done = rendered.template("--values", str(tmp_path / "values.yaml"))
    (deployment,) = (each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "Deployment")
    env = {each["name"]: each["value"] for each in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}

    assert ("8388608", "1.5", "1.36") == tuple(env[f"MUSTER_{name}"] for name in ("BODY_BYTES", "KEEPALIVE_SECONDS", "KUBERNETES"))


@pytest.mark.parametrize("modes", [("validate",), ("protect", "validate"), ("ungate", "preempt"), ("place", "preempt")])
def test_a_mode_that_is_off_has_no_role(modes):
    found = objects(*SIDECAR, f"sidecar.modes={{{','.join(modes)}}}")
    _, own = container("muster-sidecar", *SIDECAR, f"sidecar.modes={{{','.join(modes)}}}")

    roles = {name for kind, name in found if kind == "ClusterRole" and name.startswith("muster-sidecar")}
    assert {"muster-sidecar", *(f"muster-sidecar-{mode}" for mode in modes)} == roles
    assert roles == {each["roleRef"]["name"] for (kind, name), each in found.items() if kind == "ClusterRoleBinding" and name in roles}
    assert ("ungate" in modes) == (("ValidatingAdmissionPolicy", "muster-sidecar-ungate") in found)
    assert f"--mode={','.join(modes)}" in own["args"]


def test_a_component_that_is_off_leaves_nothing_behind():
    assert not [key for key in objects(*SIDECAR, "webhooks.enabled=false", *EVERYTHING[1:2], *EVERYTHING[4:]) if "webhook" in key[1]]
    assert not [key for key in objects() if "sidecar" in key[1]]


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
    (others,) = objects("networkPolicy.reviewsFrom={10.0.0.0/28}", "certificate.source=secret")["NetworkPolicy", "muster-webhook"]["spec"][
        "ingress"
    ]
    assert [{"ipBlock": {"cidr": "10.0.0.0/28"}}] == others["from"]
    assert "networkPolicy/reviewsFrom/0" in helm_template("networkPolicy.reviewsFrom={api-server}").stderr.replace(".", "/")


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
    (block,) = re.findall(r"```yaml[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    folder = tmp_path / "deploy/overlays/ours"
    folder.mkdir()
    text = block.replace("../managed", f"../../{resource}").replace("components/prometheus", f"components/{component}")
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True).stdout
    found = {(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(built)}

    want = objects(*values, "prometheus.monitors=true", "prometheus.alerts=true", rendered.MONITORING)
    # The role of a mode that is off is in the manifests, and is not bound.
    assert want.keys() == found - {("Namespace", "muster-system"), ("ClusterRole", "muster-sidecar-ungate")}
    assert {("PrometheusRule", name), ("PodMonitor", name)} <= found


def test_monitors_that_could_read_nothing_are_an_error():
    done = helm_template("prometheus.monitors=true")

    assert 1 == done.returncode
    assert "--set 'networkPolicy.metricsFrom={monitoring}'" in done.stderr
    assert 0 == helm_template("prometheus.monitors=true", "networkPolicy.enabled=false").returncode


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (("certificate.source=secret",), "certificate.caBundle is empty"),
        (("certificate.source=secret", "certificate.caBundle=QUE="), ""),
        (("webhooks.env.MUSTER_ENFORCEMENT=warn",), "An object with an error is allowed with a warning"),
        (("webhooks.replicas=1",), "webhooks.replicas is 1 and webhooks.failurePolicy is Fail"),
        ((), "The replicas create the certificate in the Secret muster-webhook-tls"),
    ],
)
def test_the_notes_say_what_is_missing(helm, values, want):
    flags = [part for each in values for part in ("--set", each)]
    command = [helm, "install", "muster", rendered.CHART, "--namespace", rendered.NAMESPACE, "--dry-run=client", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"HOME": "/nonexistent", "PATH": ""})

    assert 0 == done.returncode, done.stderr
    assert want in done.stdout
    assert ("empty" in want) == ("caBundle is empty" in done.stdout)


def test_the_chart_has_the_version_of_the_program():
    chart = yaml.safe_load((rendered.CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = (rendered.DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8")

    assert f'\nversion = "{chart["appVersion"]}"\n' in project
    assert chart["version"] == chart["appVersion"]


@pytest.mark.parametrize(
    ("version", "values", "want"),
    [
        pytest.param("1.37.1", [], [], id="the version that is mirrored by default"),
        pytest.param("1.38.0-beta.0", [], ["1.38"], id="a newer API server"),
        pytest.param("v1.38.2-eks-1", [], ["1.38"], id="a managed cluster"),
        pytest.param("1.39.0", [], ["1.38"], id="newer than what is mirrored"),
        pytest.param("1.38.0", ["webhooks.env.MUSTER_KUBERNETES=1.37"], ["1.37"], id="given"),
    ],
)
def test_the_webhooks_mirror_the_version_of_the_api_server(version, values, want):
    done = rendered.template("--kube-version", version, *(part for each in values for part in ("--set-string", each)))
    assert 0 == done.returncode, done.stderr
    deployments = (each for each in yaml.safe_load_all(done.stdout) if each and each["kind"] == "Deployment")
    (env,) = (
        each["spec"]["template"]["spec"]["containers"][0]["env"] for each in deployments if each["metadata"]["name"] == "muster-webhook"
    )

    assert want == [each["value"] for each in env if each["name"] == "MUSTER_KUBERNETES"]
