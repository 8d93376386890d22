"""Values of the chart: their schema agrees with the programs, and refuses what cannot work, with the path of the value."""

from __future__ import annotations

import itertools
import json
import re

import pytest
import yaml

from kubeapi.versions import kubernetes_releases
from tests.deploy import rendered, values_schema
from tests.deploy.rendered import DIGEST, SIDECAR, container, with_values
from validators import gates, rule_options, rules
from webhooks import settings as webhook_settings

pytestmark = pytest.mark.usefixtures("helm")
SIDECAR_FLAGS = ("--set", *SIDECAR)
REQUIRED = "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
SPREAD = ",".join(
    f"webhooks.topologySpreadConstraints[0].{each}" for each in ("maxSkew=1", "topologyKey=rack", "whenUnsatisfiable=ScheduleAnyway")
)


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
        pytest.param("webhooks.clientCAConfigMap=CA", "clientCAConfigMap", id="a name that no ConfigMap has"),
        pytest.param("webhooks.clientNames={a}", "webhooks.clientNames: needs", id="names of client certificates without their CA"),
        pytest.param("webhooks.clientCAConfigMap=a,webhooks.clientNames[0]=", "clientNames/0", id="an empty name of a client certificate"),
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
    done = with_values(value)

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
    done = with_values(*SIDECAR, value)

    assert 0 == done.returncode, done.stderr


CONTRADICTIONS = [
    pytest.param(("webhooks.enabled=false",), "/sidecar/enabled': value must be true", id="nothing is installed"),
    pytest.param((*SIDECAR, "sidecar.modes={validate,preempt}"), "/sidecar/modes': no items match", id="preempt alone"),
    pytest.param((*SIDECAR, "sidecar.deviations=delete"), "/sidecar/deviations': value must be one of", id="no treatment"),
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
    done = with_values(*values)

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
        pytest.param((*SIDECAR, "sidecar.deviations=undo"), "sidecar.modes does not have ungate", id="nothing to undo"),
        pytest.param(("build.policy=true",), "build.policy is true, but build.enabled is false", id="the policy alone"),
        pytest.param(
            ("build.enabled=true", "webhooks.enabled=false", *SIDECAR),
            "nothing lets pods join groups",
            id="groups without webhook or policy",
        ),
        pytest.param(
            (
                *("build.enabled=true", "build.placedBy=scheduler", *SIDECAR),
                *("sidecar.modes={validate}", "sidecar.schedulerName=default-scheduler"),
            ),
            "kube-scheduler places the same pods",
            id="two schedulers of one name",
        ),
        pytest.param(
            ("build.enabled=true", "webhooks.env.MUSTER_PLACED_BY=none"),
            "MUSTER_PLACED_BY: the chart sets this variable itself",
            id="twice",
        ),
    ],
)
def test_what_a_schema_cannot_compare_is_refused_by_the_templates(values, want):
    done = with_values(*values)

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


@pytest.mark.parametrize(("name", "section"), [("muster-webhook", "webhooks"), ("muster-sidecar", "sidecar")])
def test_a_variable_of_the_chart_is_not_set_twice(name, section):
    """The API server refuses a list of variables with a name twice, and an option of the container hides its variable."""
    given = (*SIDECAR, "webhooks.pods=true", "webhooks.clientCAConfigMap=client-ca", "webhooks.clientNames={a}")
    _, own = container(name, *given)
    options = [each.partition("=")[0].removeprefix("--") for each in own["args"] if each.startswith("--")]
    for variable in (*(each["name"] for each in own["env"]), *(f"MUSTER_{each.upper().replace('-', '_')}" for each in options)):
        (value, *_) = values_schema.variables()[section].get(variable, {}).get("enum", ["1"])
        done = with_values(*given, f"{section}.env.{variable}={str(value).lower()}")
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


def test_the_policy_needs_an_api_server_that_has_it():
    flags = ("--set", "build.enabled=true,build.policy=true")

    assert "has no MutatingAdmissionPolicy of version v1" in rendered.template("--kube-version", "1.35.3", *flags).stderr
    assert "kind: MutatingAdmissionPolicy" in rendered.template("--kube-version", "1.36.0", *flags).stdout
