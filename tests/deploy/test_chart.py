"""The Helm chart: its values, and the manifests of ``deploy/`` that are rendered from it."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess

import pytest
import yaml

from kubeapi.versions import kubernetes_releases
from kubeapi.versions.api_versions import SCHEDULING, TABLE
from tests.cluster import go_tools, programs
from tests.cluster.conftest import available
from tests.deploy import rendered, values_schema
from validators import gates, rule_options, rules
from webhooks import admission_options
from webhooks import settings as webhook_settings

GROUP_KINDS = ("Workload", "PodGroup", "CompositePodGroup")
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SIDECAR = ("sidecar.enabled=true",)
SIDECAR_FLAGS = ("--set", *SIDECAR)
DIGEST = f"sha256:{'0a' * 32}"
REQUIRED = "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
SPREAD = ",".join(
    f"webhooks.topologySpreadConstraints[0].{each}" for each in ("maxSkew=1", "topologyKey=rack", "whenUnsatisfiable=ScheduleAnyway")
)
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


def test_every_value_is_on_the_page():
    values = yaml.safe_load((rendered.CHART / "values.yaml").read_text(encoding="utf-8"))
    page = (rendered.DEPLOY.parent / "docs/operate/helm.md").read_text(encoding="utf-8")
    rows = [line for line in page.partition("## Values")[2].splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0])}

    for section, part in values.items():
        for name in part if isinstance(part, dict) else [""]:
            path = f"{section}.{name}".removesuffix(".")
            assert {path, name} & named or any(each.startswith(f"{end}.") for end in (path, name) for each in named), path


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
        pytest.param("webhooks.env.MUSTER_RULES=gang-minimu=off", "MUSTER_RULES", id="no rule"),
        pytest.param("webhooks.env.MUSTER_ENFORCEMENT=gang-minimu=audit", "MUSTER_ENFORCEMENT", id="no rule that has a mode"),
        pytest.param("webhooks.env.MUSTER_GATES=GenericWorkload", "MUSTER_GATES", id="a gate without a value"),
        pytest.param("sidecar.env.MUSTER_GATES=GenericWorkloads=true", "MUSTER_GATES", id="no gate"),
        pytest.param("sidecar.env.MUSTER_STRATEGY=best", "MUSTER_STRATEGY", id="no strategy of the sidecar"),
        pytest.param("sidecar.env.MUSTER_WRITERS=65", "MUSTER_WRITERS", id="above the largest number of the sidecar"),
        pytest.param("sidecar.env.MUSTER_LABELS=maybe", "MUSTER_LABELS", id="neither on nor off"),
        pytest.param("webhooks.resources.limit.memory=1Gi", "limit", id="a key of the resources"),
        pytest.param("webhooks.tolerations[0].opertor=Exists", "opertor", id="a key of a toleration"),
        pytest.param("webhooks.tolerations[0].effect=NoExecute", "tolerations/0", id="a toleration of everything without Exists"),
        pytest.param(
            "webhooks.tolerations[0].key=a,webhooks.tolerations[0].tolerationSeconds=30", "effect", id="seconds without NoExecute"
        ),
        pytest.param("webhooks.resources.limits.memory=1Gb", "limits/memory", id="no quantity"),
        pytest.param("webhooks.priorityClassName=Critical", "priorityClassName", id="no name of a priority class"),
        pytest.param("sidecar.affinity.nodeAffinty.a=b", "nodeAffinty", id="a key of the affinity"),
        pytest.param(f"webhooks.affinity.{REQUIRED}[0].topologyKe=zone", "topologyKe", id="a key of a term of the affinity"),
        pytest.param("webhooks.topologySpreadConstraints[0].maxSkew=1", "topologyKey", id="a constraint without a key"),
        pytest.param(
            f"{SPREAD},webhooks.topologySpreadConstraints[0].minDomains=2",
            "whenUnsatisfiable",
            id="a number of domains that is a preference",
        ),
        pytest.param("webhooks.serviceAccount.annotation.a=b", "annotation", id="a key of the ServiceAccount"),
        pytest.param("sidecar.serviceAccount.annotations.a b=c", "a b", id="no key of an annotation"),
        pytest.param("webhooks.podLabels.team=a b", "podLabels/team", id="no value of a label"),
        pytest.param(r"webhooks.podLabels.app\.kubernetes\.io/name=mine", "io~1name", id="the label by which the Service selects"),
        pytest.param(r"webhooks.podAnnotations.prometheus\.io/port=9090", "io~1port", id="another port of metrics"),
        pytest.param("webhooks.extraEnv[0].value=a", "extraEnv/0", id="a variable without a name"),
        pytest.param("webhooks.extraEnv[0].name=A,webhooks.extraEnv[0].value=1", "extraEnv/0/value", id="a number as a variable"),
        pytest.param(
            "webhooks.extraEnv[0].name=A,webhooks.extraEnv[0].value=b,webhooks.extraEnv[0].valueFrom.fieldRef.fieldPath=spec.nodeName",
            "extraEnv/0/value",
            id="two values of a variable",
        ),
        pytest.param("webhooks.exemptNamespaces={Mine}", "exemptNamespaces", id="no name of a namespace"),
        pytest.param("image.repository=registry:5000/muster:v1", "repository", id="a tag in the repository"),
        pytest.param("image.tag=v1 ", "tag", id="a blank in the tag"),
        pytest.param(f"image.tag=v1@{DIGEST}", "image/tag", id="a digest in the tag"),
        pytest.param("image.digest=sha256:123", "image/digest", id="half a digest"),
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
        pytest.param("networkPolicy.reviewsFrom={10.0.0.256/28}", "reviewsFrom", id="no address"),
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
        f"image.tag=v1.2,image.digest={DIGEST}",
        "webhooks.resources=null",
        "webhooks.resources.limits.memory=1.5e9",
        "webhooks.tolerations[0].operator=Exists,webhooks.tolerations[0].effect=NoExecute,webhooks.tolerations[0].tolerationSeconds=30",
        "webhooks.affinity=null,webhooks.topologySpreadConstraints=null,webhooks.serviceAccount=null,webhooks.extraEnv=null",
        "webhooks.priorityClassName=",
        "networkPolicy.reviewsFrom={fd00::/8,10.0.0.0/32,::ffff:10.0.0.0/104}",
        "sidecar.schedulerName=batch.example",
        r"webhooks.env.MUSTER_ENFORCEMENT=audit\, gang-minimum=deny\,",
        "webhooks.env.MUSTER_KUBERNETES=1.36",
        r"webhooks.env.MUSTER_RULES=gang-minimum=off\,all-needs-gang=warning",
        r"webhooks.env.MUSTER_RULES=\, gang-minimum = off\,\,all-needs-gang=warning \,",
        r"webhooks.env.MUSTER_GATES=GenericWorkload=true\,CompositePodGroup=false",
        r"webhooks.env.MUSTER_CERTIFICATE_NAMES=localhost\, muster-webhook.muster-system.svc",
        "sidecar.env.MUSTER_LABELS=false",
        "sidecar.env.MUSTER_BUDGET=100000",
    ],
)
def test_an_unusual_value_is_accepted(value):
    done = helm_template(*SIDECAR, value)

    assert 0 == done.returncode, done.stderr


CONTRADICTIONS = [
    pytest.param(("webhooks.enabled=false",), "/sidecar/enabled': value must be true", id="nothing is installed"),
    pytest.param((*SIDECAR, "sidecar.modes={validate,preempt}"), "/sidecar/modes': no items match", id="preempt alone"),
    pytest.param(
        ("webhooks.env.MUSTER_REQUEST_SECONDS=5", "webhooks.timeoutSeconds=5"),
        "/webhooks/env/MUSTER_REQUEST_SECONDS': exclusiveMaximum: got 5, want 5",
        id="the API server does not wait for the answer",
    ),
    pytest.param(
        ("networkPolicy.enabled=false", "networkPolicy.reviewsFrom={10.0.0.0/28}"),
        "/networkPolicy/reviewsFrom'",
        id="no policy to restrict",
    ),
    pytest.param(
        ("networkPolicy.enabled=false", "networkPolicy.metricsFrom={monitoring}"), "/networkPolicy/metricsFrom'", id="no policy to open"
    ),
    pytest.param(
        ("webhooks.hostNetwork=true", "networkPolicy.reviewsFrom={10.0.0.0/28}"), "/networkPolicy/reviewsFrom'", id="a policy for nodes"
    ),
    pytest.param(("certificate.source=secret",), "/certificate/caBundle': minLength", id="no CA"),
    pytest.param(("certificate.source=secret", "certificate.caBundle=null"), "'caBundle'", id="no value of a CA"),
    pytest.param(("certificate.source=cert-manager", "certificate.caBundle=QUE="), "/certificate/caBundle'", id="two CAs"),
    pytest.param(("certificate.certManager.issuerRef.name=ours",), "/certificate/certManager/issuerRef'", id="no cert-manager"),
    pytest.param(
        ("certificate.source=cert-manager", "certificate.secretName=muster-ca"), "/certificate/secretName'", id="the Secret of the CA"
    ),
    pytest.param(("certificate.secretName=muster-explain",), "/certificate/secretName'", id="a Secret of the sidecar"),
    pytest.param((*SIDECAR, "sidecar.schedulerName=default-scheduler"), "/sidecar/schedulerName'", id="two schedulers"),
    pytest.param(("prometheus.monitors=true",), "/networkPolicy/metricsFrom': minItems", id="a monitor of nothing"),
    pytest.param(("prometheus.alerts=true",), "/networkPolicy/metricsFrom': minItems", id="alerts about nothing"),
    pytest.param(("webhooks.env.MUSTER_GATES=GenericWorkload=false",), "/webhooks/env/MUSTER_GATES'", id="a gate without one it needs"),
    pytest.param(
        ("webhooks.env.MUSTER_GATES=WorkloadWithJob=false", "sidecar.env.MUSTER_GATES=WorkloadWithJob=true"),
        "/sidecar/env/MUSTER_GATES'",
        id="one API server with two values of a gate",
    ),
]


@pytest.mark.parametrize(("values", "path"), CONTRADICTIONS)
def test_values_that_contradict_each_other_are_refused_by_the_schema(values, path):
    done = helm_template(*values)

    assert (1, True) == (done.returncode, path in done.stderr), done.stderr
    assert "values don't meet the specifications of the schema" in done.stderr


@pytest.mark.parametrize(
    ("values", "want"),
    [
        pytest.param(
            ("webhooks.env.MUSTER_BODY_BYTES=32000000",),
            "MUSTER_BODY_BYTES=32000000 must be at most three quarters of MUSTER_TOTAL_BODY_BYTES=33554432",
            id="one body exceeds the limit of all",
        ),
        pytest.param(
            ("webhooks.env.MUSTER_CERTIFICATE_NAMES=webhook.example",),
            "MUSTER_CERTIFICATE_NAMES=webhook.example must have muster-webhook.muster-system.svc",
            id="a certificate of another name",
        ),
        *(
            pytest.param(
                (*SIDECAR, f"{section}.env.{variable}=a"), f"{section}.env.{variable}: the chart sets this variable itself", id=variable
            )
            for section, variable in (
                ("webhooks", "MUSTER_KUBECONFIG"),
                ("sidecar", "MUSTER_CONTEXT"),
                ("sidecar", "MUSTER_LEASE"),
                ("webhooks", "MUSTER_CERTIFICATE_REPLICAS"),
            )
        ),
        pytest.param(
            ("webhooks.extraEnv[0].name=A", "webhooks.extraEnv[0].value=a", "webhooks.extraEnv[1].name=A", "webhooks.extraEnv[1].value=b"),
            "webhooks.extraEnv: A is in the list twice",
            id="a variable twice",
        ),
    ],
)
def test_what_a_schema_cannot_compare_is_refused_by_the_templates(values, want):
    done = helm_template(*values)

    assert (1, True) == (done.returncode, want in done.stderr), done.stderr


@pytest.mark.parametrize("section", ["webhooks", "sidecar"])
def test_a_gate_that_the_version_does_not_have_is_refused(section):
    """Of the version that is given, else of the API server; the gates that some version lacks are those of the templates."""
    (gate,) = gates.LAST_VERSIONS
    flags = "--set", f"{section}.env.MUSTER_GATES={gate}=false", *SIDECAR_FLAGS
    newer = kubernetes_releases.name(gates.LAST_VERSIONS[gate] + 1)

    for refused in (("--kube-version", f"{newer}.0"), ("--set", f"{section}.env.MUSTER_KUBERNETES={newer}")):
        done = rendered.template(*flags, *refused)
        assert f"{section}.env.MUSTER_GATES: Kubernetes {newer} has no gate {gate}" in done.stderr
    assert 0 == rendered.template(*flags, "--kube-version", "1.37.0").returncode


def test_the_sums_of_the_templates_have_the_defaults_of_the_server():
    text = (rendered.CHART / "templates/_helpers.tpl").read_text(encoding="utf-8")
    for name in ("body_bytes", "total_body_bytes"):
        option = webhook_settings.OPTIONS[name]
        assert f'"{option.variable}" | default {option.default} |' in text


@pytest.mark.parametrize("section", ["webhooks", "sidecar"])
def test_every_rule_and_gate_of_a_setting_is_known_to_the_schema_and_no_other(section):
    schema = json.loads(rendered.SCHEMA.read_text(encoding="utf-8"))["properties"][section]["properties"]["env"]["properties"]
    names = {
        "MUSTER_GATES": (gates.NEEDS, "false"),
        "MUSTER_RULES": (rules.discover(), "off"),
        "MUSTER_ENFORCEMENT": (rules.discover(), "warn"),
    }
    for variable in schema.keys() & names.keys():
        known, value = names[variable]
        pattern = re.compile(schema[variable]["pattern"])
        assert all(pattern.search(f"{each}={value}") for each in known)
        assert pattern.search(",\n".join(f" {each}={value} " for each in known))
        assert not any(pattern.search(f"{each}={value}") for name in known for each in (f"{name}s", f"x{name}", name[1:]))


def test_the_schema_accepts_the_gates_with_which_the_server_starts():
    """The gates of every version that it mirrors: the schema does not know the version."""
    conditions = values_schema.variables()["webhooks"]["MUSTER_GATES"]["allOf"]
    for values in itertools.product(("", "true", "false"), repeat=len(gates.NEEDS)):
        text = ",".join(f"{name}={value}" for name, value in zip(gates.NEEDS, values, strict=True) if value)
        applying = [each["then"] for each in conditions if all(re.search(part["pattern"], text) for part in each["if"]["allOf"])]
        assert starts(text) == all(re.search(each["pattern"], text) for each in applying), text


def starts(text):
    try:
        gates.Gates.from_switches(rule_options.gate_switches([text]))
    except gates.GateError:
        return False
    return True


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
        others = objects(*(rendered.ISSUED if source == "secret" else (f"certificate.source={source}",)))
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
        f"{section}.podAnnotations.team=infra",
        rf"{section}.serviceAccount.annotations.eks\.amazonaws\.com/role-arn=arn:aws:iam::1:role/muster",
        f"{section}.extraEnv[0].name=TZ",
        f"{section}.extraEnv[0].value=Europe/Paris",
        f"{section}.extraEnv[1].name=GOMEMLIMIT",
        f"{section}.extraEnv[1].valueFrom.resourceFieldRef.resource=limits.memory",
    )
    spec, own = container(name, *values)
    metadata = objects(*values)["Deployment", name]["spec"]["template"]["metadata"]

    assert 5 == objects(*values)["Deployment", name]["spec"]["replicas"]
    assert ("registry.example/muster:v2", "Always", [{"name": "pull"}]) == (own["image"], own["imagePullPolicy"], spec["imagePullSecrets"])
    assert {"name": "MUSTER_GATES", "value": "CompositePodGroup=false"} in own["env"]
    assert ({"pool": "infra"}, [{"operator": "Exists"}]) == (spec["nodeSelector"], spec["tolerations"])
    assert "2Gi" == own["resources"]["limits"]["memory"]
    assert {"app.kubernetes.io/name": name, "sidecar.istio.io/inject": "no"} == metadata["labels"]
    assert {"team": "infra"} == metadata["annotations"]
    account = objects(*values)["ServiceAccount", name]["metadata"]
    assert {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/muster"} == account["annotations"]
    assert [
        {"name": "TZ", "value": "Europe/Paris"},
        {"name": "GOMEMLIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
    ] == own["env"][-2:]
    assert spec["serviceAccountName"] == account["name"]


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ((), "muster:0.1.0"),
        (("image.tag=v2",), "muster:v2"),
        ((f"image.digest={DIGEST}",), f"muster@{DIGEST}"),
        ((f"image.digest={DIGEST}", "image.tag=v2", "image.repository=a.example:5000/b/muster"), f"a.example:5000/b/muster@{DIGEST}"),
    ],
)
def test_a_digest_replaces_the_tag(values, want):
    for name in ("muster-webhook", "muster-sidecar"):
        assert want == container(name, *SIDECAR, *values)[1]["image"]


@pytest.mark.parametrize(("name", "section"), [("muster-webhook", "webhooks"), ("muster-sidecar", "sidecar")])
def test_replicas_are_placed_as_the_values_say(name, section):
    """Maps are merged with the defaults of the chart, lists replace them, and null removes them."""
    own = {"matchLabels": {"app.kubernetes.io/name": name}}
    zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
    spec, _ = container(name, *SIDECAR)
    (term,) = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert ("kubernetes.io/hostname", own) == (term["podAffinityTerm"]["topologyKey"], term["podAffinityTerm"]["labelSelector"])
    assert [{**zone, "labelSelector": own}] == spec["topologySpreadConstraints"]

    node = f"{section}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
    constraint = SPREAD.replace("webhooks", section)
    spec, _ = container(
        name,
        *SIDECAR,
        f"{node}.key=pool",
        f"{node}.operator=In",
        f"{node}.values={{infra}}",
        f"{section}.tolerations[0].operator=Exists",
        constraint,
    )
    assert {"podAntiAffinity", "nodeAffinity"} == spec["affinity"].keys()
    assert [{**zone, "topologyKey": "rack", "labelSelector": own}] == spec["topologySpreadConstraints"]

    selector = f"{section}.topologySpreadConstraints[0].labelSelector.matchLabels.team=infra"
    spec, _ = container(name, *SIDECAR, f"{section}.affinity=null", constraint, selector)
    assert "affinity" not in spec
    assert {"matchLabels": {"team": "infra"}} == spec["topologySpreadConstraints"][0]["labelSelector"]
    assert "topologySpreadConstraints" not in container(name, *SIDECAR, f"{section}.topologySpreadConstraints=null")[0]


def test_a_value_adds_no_right():
    """Whatever it places, annotates or starts: the roles are those of the chart."""
    values = (
        f"image.digest={DIGEST}",
        *(f"{section}.{each}" for section in ("webhooks", "sidecar") for each in ("serviceAccount.annotations.a=b", "affinity=null")),
        *(f"{section}.extraEnv[0].name=A" for section in ("webhooks", "sidecar")),
    )

    def rights(*values):
        return {key: each for key, each in objects(*SIDECAR, *values).items() if "Role" in key[0]}

    assert rights() == rights(*values)


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
    (others,) = objects("networkPolicy.reviewsFrom={10.0.0.0/28}", *rendered.ISSUED)["NetworkPolicy", "muster-webhook"]["spec"]["ingress"]
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
    want = objects(rendered.MONITORING)

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

    want = objects(*values, "prometheus.monitors=true", "prometheus.alerts=true", rendered.MONITORING)
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
    assert 0 == helm_template("prometheus.monitors=true", "prometheus.alerts=true", "networkPolicy.enabled=false").returncode


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (rendered.ISSUED, "of the image muster:0.1.0"),
        ((f"image.digest={DIGEST}", "image.tag=v2"), f"of the image muster@{DIGEST}"),
        (("webhooks.env.MUSTER_ENFORCEMENT=warn",), "An object with an error is allowed with a warning"),
        (("webhooks.env.MUSTER_FINALIZERS=all", *SIDECAR, "sidecar.modes={place}"), "no sidecar in mode protect"),
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


def test_the_chart_has_the_version_of_the_program():
    chart = yaml.safe_load((rendered.CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = (rendered.DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8")

    assert f'\nversion = "{chart["appVersion"]}"\n' in project
    assert chart["version"] == chart["appVersion"]


@pytest.mark.parametrize(
    ("version", "values", "want"),
    [
        pytest.param("1.35.0", [], ["1.35"], id="the oldest API server with a kind of group"),
        pytest.param("1.36.2", [], ["1.36"], id="an older API server"),
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


def test_the_newest_version_that_is_mirrored_is_the_newest_one_known():
    text = (rendered.CHART / "templates/_helpers.tpl").read_text(encoding="utf-8")

    assert f"min {kubernetes_releases.NEWEST} (semver" in text


@pytest.mark.parametrize("minor", kubernetes_releases.names().values())
def test_a_version_of_kubernetes_is_served_as_the_page_says(minor):
    """The webhooks are called for every version of the API that this API server has, and after an upgrade for those of the next one."""
    done = rendered.template("--kube-version", f"{kubernetes_releases.name(minor)}.0", "--set", "webhooks.pods=true")
    assert 0 == done.returncode, done.stderr
    configurations = [
        each for each in yaml.safe_load_all(done.stdout) if each and each["kind"] in CONFIGURATIONS and each["metadata"]["name"] == "muster"
    ]
    called = {
        version for each in configurations for entry in each["webhooks"] for rule in entry["rules"] for version in rule["apiVersions"]
    }
    having = {
        each: {row.version for row in TABLE if row.group == SCHEDULING and any(serves(row, kind, each) for kind in GROUP_KINDS)}
        for each in (minor, min(minor + 1, kubernetes_releases.NEWEST))
    }

    assert having[minor]
    assert set().union(*having.values()) <= called

    sidecar = rendered.template("--kube-version", f"{kubernetes_releases.name(minor)}.0", *SIDECAR_FLAGS)
    assert (minor >= kubernetes_releases.TODAY) == (sidecar.returncode == 0)
    assert sidecar.returncode == 0 or "the sidecar needs Kubernetes 1.37 or newer, and the API server is v1.3" in sidecar.stderr


def serves(row, name, minor):
    return any(each.kind == name and each.since <= minor <= each.until for each in row.kinds)


def test_an_older_kubernetes_is_refused():
    assert "requires kubeVersion: >=1.35.0-0" in rendered.template("--kube-version", "1.34.9").stderr
