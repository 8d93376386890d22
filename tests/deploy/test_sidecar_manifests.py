"""The sidecar's manifests agree with the code: options, variables, probes, and the rights that each mode needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubeapi.groups import TREE_KINDS
from kubeapi.pods import PLACEMENT_GATE
from kubeapi.versions.served_versions import resources
from muster.commands.sidecar import sidecar
from scheduler_core.sidecar.cache.informers import WATCHED
from scheduler_core.sidecar.process.permissions import needed_permissions
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import Deviations, EvictionMethod
from workloadbuilder.adapters.built_kinds import KINDS

GROUPS = (*resources("PodGroup"), *resources("CompositePodGroup"))
SERVED = frozenset(each.name for each in GROUPS)
DEPLOY = Path(__file__).parents[2] / "deploy"


def documents(path):
    return [each for each in yaml.safe_load_all((DEPLOY / path).read_text()) if each]


RIGHTS = documents("sidecar/rbac.yaml")
BUILD = documents("sidecar/build.yaml")
UNGATE, POLICY, POLICY_BINDING = documents("sidecar/ungate.yaml")
BUDGET, DEPLOYMENT = documents("sidecar/deployment.yaml")
(CONTAINER,) = DEPLOYMENT["spec"]["template"]["spec"]["containers"]


def role(name, kind="ClusterRole"):
    (result,) = (each for each in (*RIGHTS, *BUILD) if each["kind"] == kind and each["metadata"]["name"] == name)
    return {
        (group, resource, verb)
        for rule in result["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_every_argument_is_an_option():
    options = {name for each in sidecar.params for name in each.opts}
    first, *rest = CONTAINER["args"]

    assert "sidecar" == first
    assert set() == {each.split("=")[0] for each in rest} - options


def test_every_variable_is_read():
    options = {f"MUSTER_{each.opts[0][2:].upper().replace('-', '_')}" for each in sidecar.params}

    assert set() == {each["name"] for each in CONTAINER["env"]} - options - {"MUSTER_LEASE_NAMESPACE"}


def test_what_is_watched_may_be_watched():
    expected = {(each.group, each.resource, verb) for each in WATCHED for verb in ("list", "watch")}
    roles = ("muster-sidecar", *(f"muster-sidecar-{mode}" for mode in {*Mode} - {Mode.BUILD}))

    assert expected == {each for name in roles for each in role(name) if each[2] in ("list", "watch")}


def test_the_mode_build_may_watch_what_it_reads_and_write_groups_and_labels_of_pods():
    groups = {(each.group, each.resource) for kind in TREE_KINDS for each in resources(kind)}
    read = {("", "namespaces"), *groups, *((each.group, each.plural) for each in KINDS)}
    owners = {(each.group, f"{each.plural}/finalizers", "update") for each in KINDS}
    events = {("events.k8s.io", "events", verb) for verb in ("create", "patch")}
    want = {(*each, verb) for each in read for verb in ("list", "watch")} | owners | events | {("", "pods", "patch")}

    assert want | {(*each, verb) for each in groups for verb in ("get", "create", "patch", "delete")} == role("muster-sidecar-build")
    needed = needed_permissions(Settings(modes=frozenset({Mode.BUILD}), lease=None), SERVED)
    assert {(each.group, each.resource, each.verb) for each in needed} <= role("muster-sidecar-build") | role("muster-sidecar")


def test_what_is_written_may_be_read_by_its_name_and_nothing_else():
    want = {(each.group, each.resource) for each in GROUPS}

    assert want == {(group, resource) for group, resource, verb in role("muster-sidecar") if verb == "get"}


@pytest.mark.parametrize("modes", [("place",), ("place", "preempt")], ids=",".join)
def test_roles_of_modes_have_the_rights_that_these_need_and_no_other(modes):
    """Also the right to allocate claims to devices, which no request of the sidecar names."""
    needed = [
        each
        for method in EvictionMethod
        for each in needed_permissions(Settings(modes=frozenset(map(Mode, modes)), eviction_method=method, lease=None), SERVED)
    ]
    granted = set[tuple[str, str, str]]().union(*(role(f"muster-sidecar-{mode}") for mode in modes), role("muster-sidecar"))

    assert {each for each in granted if each[2] not in ("list", "watch")} == {
        (each.group, each.resource, each.verb) for each in needed if each.verb not in ("list", "watch")
    }


@pytest.mark.parametrize("mode", sorted({*Mode} - {"ungate"}))
def test_every_mode_has_a_role_that_is_bound(mode):
    name = f"muster-sidecar-{mode}"
    bound = [each for each in (*RIGHTS, *BUILD) if each["kind"] == "ClusterRoleBinding" and each["roleRef"]["name"] == name]

    assert [{"kind": "ServiceAccount", "name": "muster-sidecar", "namespace": "muster-system"}] == [
        subject for each in bound for subject in each["subjects"]
    ]
    assert role(name)


def test_the_mode_that_may_change_pods_is_bound_by_a_manifest_of_its_own():
    assert ("", "pods", "patch") in role("muster-sidecar-ungate")
    assert "muster-sidecar-ungate" == UNGATE["roleRef"]["name"]
    assert [{"kind": "ServiceAccount", "name": "muster-sidecar", "namespace": "muster-system"}] == UNGATE["subjects"]
    bound = {each["roleRef"]["name"] for each in RIGHTS if each["kind"] == "ClusterRoleBinding"}
    assert not any(("", "pods", "patch") in role(name) for name in bound)
    assert not {"ungate", "build"} & set(
        next(each for each in CONTAINER["args"] if each.startswith("--mode="))[len("--mode=") :].split(",")
    )
    (kustomization,) = documents("sidecar/kustomization.yaml")
    assert ["rbac.yaml", "deployment.yaml", "network-policy.yaml"] == kustomization["resources"]


def test_only_the_role_for_undoing_lets_the_mode_ungate_delete_pods():
    undo, binding = documents("sidecar/undo.yaml")
    rights = {(resource, verb) for rule in undo["rules"] for resource in rule["resources"] for verb in rule["verbs"]}

    assert ("", "pods", "delete") not in role("muster-sidecar-ungate")
    assert {("pods", "delete"), ("pods/status", "patch")} == rights
    assert (undo["metadata"]["name"], UNGATE["subjects"]) == (binding["roleRef"]["name"], binding["subjects"])
    report, undoing = (
        {str(each) for each in needed_permissions(Settings(modes=frozenset({Mode.UNGATE}), deviations=each, lease=None), SERVED)}
        for each in Deviations
    )
    assert {"delete pods", "patch pods/status"} == undoing - report


def test_nothing_is_given_in_bulk():
    every = {
        each for result in RIGHTS if result["kind"] in ("ClusterRole", "Role") for each in role(result["metadata"]["name"], result["kind"])
    }

    assert not any("*" in part for each in every for part in each)
    assert not any(resource == "secrets" for _, resource, _ in every)


def test_only_validate_and_protect_write_no_pods():
    for mode in ("validate", "protect"):
        assert not any(resource.startswith("pods") for _, resource, _ in role(f"muster-sidecar-{mode}"))


def test_only_one_lease_can_be_changed():
    (result,) = (each for each in RIGHTS if each["kind"] == "Role")
    by_verb = {verb: rule.get("resourceNames") for rule in result["rules"] for verb in rule["verbs"]}

    assert {"create": None, "get": ["muster-sidecar"], "patch": ["muster-sidecar"]} == by_verb


def test_probes_are_where_they_are_served():
    port = {each["name"]: each["containerPort"] for each in CONTAINER["ports"]}["probes"]

    assert f"--probe-bind=0.0.0.0:{port}" in CONTAINER["args"]
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz"), ("startupProbe", "/healthz")):
        assert {"path": path, "port": "probes"} == CONTAINER[probe]["httpGet"]


def test_the_image_holds_every_package():
    copied = {
        line.split()[1]
        for line in (DEPLOY / "Containerfile").read_text().splitlines()
        if line.startswith("COPY ") and " --from" not in line
    }

    assert {path.parent.name for path in DEPLOY.parent.glob("*/py.typed")} <= copied


def test_only_the_sidecar_may_mark_pods():
    (condition,) = POLICY["spec"]["matchConditions"]
    account = UNGATE["subjects"][0]

    assert f'request.userInfo.username != "system:serviceaccount:{account["namespace"]}:{account["name"]}"' == condition["expression"]
    assert all(PLACEMENT_GATE in each["expression"] for each in POLICY["spec"]["variables"])
    assert (POLICY["metadata"]["name"], ["Deny"]) == (POLICY_BINDING["spec"]["policyName"], POLICY_BINDING["spec"]["validationActions"])


def test_replicas_are_spread_and_a_drain_evicts_one_at_a_time():
    spec, labels = DEPLOYMENT["spec"], DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    (spread,) = spec["template"]["spec"]["topologySpreadConstraints"]
    (term,) = spec["template"]["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]

    assert ("PodDisruptionBudget", {"maxUnavailable": 1, "selector": {"matchLabels": labels}}) == (BUDGET["kind"], BUDGET["spec"])
    assert ("topology.kubernetes.io/zone", "ScheduleAnyway") == (spread["topologyKey"], spread["whenUnsatisfiable"])
    assert labels == spread["labelSelector"]["matchLabels"] == term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert spec["replicas"] > 1
