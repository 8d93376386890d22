"""The Helm chart: its values, and the manifests of ``deploy/`` that are rendered from it."""

from __future__ import annotations

import base64
import shutil
import subprocess

import pytest
import yaml

from kubeapi.versions import kubernetes_releases
from kubeapi.versions.api_versions import SCHEDULING, TABLE
from tests.cluster import programs
from tests.cluster.conftest import available
from tests.deploy import rendered
from tests.deploy.rendered import DIGEST, SIDECAR, container, objects, with_values
from validators.reports import custom_resources
from webhooks import admission_options

pytestmark = pytest.mark.usefixtures("helm")
GROUP_KINDS = ("Workload", "PodGroup", "CompositePodGroup")
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SIDECAR_FLAGS = ("--set", *SIDECAR)
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
    "build.enabled=true",
    "build.policy=true",
)


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
    assert with_values(*EVERYTHING).stdout == with_values(*reversed(EVERYTHING)).stdout


def test_all_objects_say_what_they_belong_to_and_where_they_are():
    cluster_scoped = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", *CONFIGURATIONS}
    cluster_scoped |= {f"{kind}AdmissionPolicy{part}" for kind in ("Mutating", "Validating") for part in ("", "Binding")}
    for (kind, _), each in objects(*EVERYTHING).items():
        assert "muster" == each["metadata"]["labels"]["app.kubernetes.io/part-of"]
        assert (kind in cluster_scoped) == ("namespace" not in each["metadata"])


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
    want = objects(*values, "api=kubernetes")

    (own,) = found["Deployment", "muster-webhook"]["spec"]["template"]["spec"]["containers"]
    (other,) = want["Deployment", "muster-webhook"]["spec"]["template"]["spec"]["containers"]
    for each in (own, other):
        each["env"].sort(key=lambda variable: variable["name"])
    assert found.pop(("Namespace", "muster-system"))
    assert want == found


def test_the_component_of_client_certificates_is_the_value_of_the_chart(tmp_path):
    kubectl = available(lambda: programs.find().path("kubectl"))
    shutil.copytree(rendered.DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("certs"))
    own = tmp_path / "deploy" / "overlays" / "own"
    own.mkdir()
    lines = ["resources: [../managed]", "components: [../../components/client-ca]"]
    (own / "kustomization.yaml").write_text("\n".join(lines), encoding="utf-8")
    built = subprocess.run([kubectl, "kustomize", own], capture_output=True, text=True, check=True).stdout
    (deployment,) = (each for each in yaml.safe_load_all(built) if each["kind"] == "Deployment")
    want = objects("webhooks.clientCAConfigMap=muster-client-ca")["Deployment", "muster-webhook"]

    (changed,), (rendered_one,) = (each["spec"]["template"]["spec"]["containers"] for each in (deployment, want))
    for each in (changed, rendered_one):
        each["env"].sort(key=lambda variable: variable["name"])
    assert deployment == want
    (mount,) = (each["mountPath"] for each in rendered_one["volumeMounts"] if each["name"] == "client-ca")
    assert f"--client-ca={mount}/ca.crt" in rendered_one["args"]


def test_names_of_client_certificates_are_options():
    found = objects("webhooks.clientCAConfigMap=ours", "webhooks.clientNames={kube-apiserver,system:a b}")["Deployment", "muster-webhook"]
    (own,) = found["spec"]["template"]["spec"]["containers"]

    assert ["--client-name=kube-apiserver", "--client-name=system:a b"] == [each for each in own["args"] if "client-name" in each]


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


@pytest.mark.parametrize("modes", [("validate",), ("protect", "validate"), ("ungate", "preempt"), ("place", "preempt")])
def test_a_mode_that_is_off_has_no_role(modes):
    found = objects(*SIDECAR, f"sidecar.modes={{{','.join(modes)}}}")
    _, own = container("muster-sidecar", *SIDECAR, f"sidecar.modes={{{','.join(modes)}}}")

    roles = {name for kind, name in found if kind == "ClusterRole" and name.startswith("muster-sidecar")}
    assert {"muster-sidecar", *(f"muster-sidecar-{mode}" for mode in modes)} == roles
    assert roles == {each["roleRef"]["name"] for (kind, name), each in found.items() if kind == "ClusterRoleBinding" and name in roles}
    assert ("ungate" in modes) == (("ValidatingAdmissionPolicy", "muster-sidecar-ungate") in found)
    assert f"--mode={','.join(modes)}" in own["args"]


def test_undoing_has_a_role_and_an_option_of_its_own():
    values = (*SIDECAR, "sidecar.modes={ungate}")
    before, found = objects(*values), objects(*values, "sidecar.deviations=undo")

    assert {("ClusterRole", "muster-sidecar-undo"), ("ClusterRoleBinding", "muster-sidecar-undo")} == found.keys() - before.keys()
    args = [container("muster-sidecar", *each)[1]["args"] for each in (values, (*values, "sidecar.deviations=undo"))]
    assert ["--deviations=undo"] == [each for each in args[1] if each not in args[0]]


@pytest.mark.parametrize(("placed_by", "modes"), [("gate", "build,ungate"), ("scheduler", "build,place"), ("none", "build")])
def test_pods_that_join_groups_have_the_modes_without_which_they_wait_forever(placed_by, modes):
    values = *SIDECAR, "sidecar.modes={validate}", "build.enabled=true", f"build.placedBy={placed_by}"
    _, own = container("muster-sidecar", *values)

    assert f"--mode=validate,{modes}" in own["args"]
    assert {f"muster-sidecar-{each}" for each in modes.split(",")} <= {name for kind, name in objects(*values) if kind == "ClusterRole"}


def test_a_component_that_is_off_leaves_nothing_behind():
    assert not [key for key in objects(*SIDECAR, "webhooks.enabled=false", *EVERYTHING[1:2], *EVERYTHING[3:]) if "webhook" in key[1]]
    assert not [key for key in objects() if "sidecar" in key[1]]


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (rendered.ISSUED, "of the image muster:0.1.0"),
        ((f"image.digest={DIGEST}", "image.tag=v2"), f"of the image muster@{DIGEST}"),
        (("webhooks.env.MUSTER_ENFORCEMENT=warn",), "An object with an error is allowed with a warning"),
        (("webhooks.env.MUSTER_FINALIZERS=all", *SIDECAR, "sidecar.modes={place}"), "no sidecar in mode protect"),
        (("build.enabled=true",), "kubectl label namespace NAME muster.dev/groups=build"),
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
        pytest.param("1.30.0", [], [], id="an API server without the kinds"),
        pytest.param("1.34.9", [], [], id="the last one without the kinds"),
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

    assert f"lt $minor {kubernetes_releases.OLDEST} | ternary {kubernetes_releases.TODAY} (min {kubernetes_releases.NEWEST} $minor)" in text


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

    version = "--kube-version", f"{kubernetes_releases.name(minor)}.0"
    sidecar = rendered.template(*version, *SIDECAR_FLAGS, "--set", "api=kubernetes")
    assert (minor >= kubernetes_releases.TODAY) == (sidecar.returncode == 0)
    assert (
        sidecar.returncode == 0 or "the built-in kinds are scheduled from Kubernetes 1.37 on, and the API server is v1.3" in sidecar.stderr
    )
    assert 0 == rendered.template(*version, *SIDECAR_FLAGS).returncode


def serves(row, name, minor):
    return any(each.kind == name and each.since <= minor <= each.until for each in row.kinds)


def test_an_older_kubernetes_is_refused():
    assert "requires kubeVersion: >=1.30.0-0" in rendered.template("--kube-version", "1.29.9").stderr


BUILT_IN = ("scheduling.k8s.io/v1beta1/Workload", "scheduling.k8s.io/v1beta1/PodGroup", "scheduling.k8s.io/v1alpha3/CompositePodGroup")
CUSTOM = "scheduling.muster.dev/v1beta1/PodGroup"


@pytest.mark.parametrize(
    ("api", "served", "want"),
    [
        pytest.param("auto", [], True, id="nothing is known of the cluster"),
        pytest.param("auto", BUILT_IN, False, id="the built-in kinds are served"),
        pytest.param("auto", [each.replace("beta1", "alpha3") for each in BUILT_IN], False, id="in another version"),
        pytest.param("auto", BUILT_IN[:2], True, id="CompositePodGroup is not served"),
        pytest.param("auto", BUILT_IN[1:], True, id="Workload is not served"),
        pytest.param("auto", ["scheduling.k8s.io/v1/PriorityClass"], True, id="only classes are served"),
        pytest.param("auto", [CUSTOM], True, id="custom resources are served"),
        pytest.param("auto", [*BUILT_IN, CUSTOM], True, id="a cluster in migration keeps its definitions"),
        pytest.param("custom", BUILT_IN, True, id="custom"),
        pytest.param("kubernetes", [], False, id="kubernetes"),
    ],
)
def test_the_definitions_are_installed_where_the_cluster_needs_them(api, served, want):
    done = rendered.template("--set", f"api={api}", *(part for each in served for part in ("--api-versions", each)))
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    definitions = [each for each in found if each["kind"] == "CustomResourceDefinition"]
    aggregated = {each["metadata"]["name"] for each in found if "custom-resources" in each["metadata"]["name"]}

    assert [each["metadata"].pop("annotations") for each in definitions] == [{"helm.sh/resource-policy": "keep"}] * len(definitions)
    by_name = {each["metadata"]["name"]: each for each in definitions}
    assert by_name == ({each["metadata"]["name"]: each for each in custom_resources.definitions()} if want else {})
    assert aggregated == ({"muster-custom-resources-edit", "muster-custom-resources-view"} if want else set())


def test_the_component_of_kustomize_has_the_definitions_of_the_chart(tmp_path):
    kubectl = available(lambda: programs.find().path("kubectl"))
    shutil.copytree(rendered.DEPLOY, tmp_path / "deploy")
    folder = tmp_path / "deploy/overlays/ours"
    folder.mkdir()
    lines = "resources: [../managed]", "components: [../../components/custom-resources]"
    (folder / "kustomization.yaml").write_text("\n".join(lines), encoding="utf-8")
    built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True).stdout
    found = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(built)}
    want = objects("api=custom")
    for (kind, _), each in want.items():
        if kind == "CustomResourceDefinition":
            del each["metadata"]["annotations"]

    assert found.pop(("Namespace", "muster-system"))
    assert want.keys() == found.keys()
    assert [] == [key for key, each in want.items() if "muster.dev" in key[1] and each != found[key]]
