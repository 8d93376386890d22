"""Muster's webhooks called by a real API server for requests of a real kubectl."""

from __future__ import annotations

import json

import pytest

from tests.cluster.api import ApiError
from tests.cluster.conftest import clean, new_namespace
from tests.cluster.custom_resources import CustomApi
from tests.cluster.installed import (
    ACCOUNT,
    CONFIGURATIONS,
    NAMESPACE,
    composite_group,
    eventually,
    installed,
    pod_group,
)
from tests.cluster.kubelet import pod
from tests.cluster.unfit import ALL_WITHOUT_GANG, is_refused, unfit, unfit_group

NO_TRAIN = "there must be a Workload of this name in namespace {namespace} [muster: tree-matches-templates]"
NO_PARENT = "there must be a CompositePodGroup of this name in namespace {namespace} [muster: parent-exists]"


@pytest.fixture(scope="module", autouse=True)
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed")) as created:
        yield created


@pytest.fixture
def before_1_38(plane):
    """Skip the test from Kubernetes 1.38 on, where all-needs-gang and disruption-nesting are rules of the API server."""
    if plane.programs.minor() >= 38:
        pytest.skip("this API server refuses the object itself, without the webhooks")


def create(plane, manifest, *options):
    return plane.kubectl("create", "-f", "-", *options, stdin=json.dumps(manifest))


def nested_workload(name, namespace, *modes, minimum=1):
    """A composite template of disruption mode All, over leaves with *modes*."""
    leaves = [
        {"name": f"leaf-{number}", "schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {mode: {}}}
        for number, mode in enumerate(modes)
    ]
    replica = {
        "name": "replica",
        "schedulingPolicy": {"gang": {"minGroupCount": minimum}},
        "disruptionMode": {"all": {}},
        "podGroupTemplates": leaves,
    }
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"compositePodGroupTemplates": [replica]},
    }


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_kubectl_prints_a_refusal_like_one_of_the_api_servers_own(plane, api, namespace, version):
    done = create(plane, unfit_group("x", namespace, version))

    assert (1, "", unfit().refusal) == (done.returncode, done.stdout, done.stderr.strip())
    assert not api.exists(unfit().kind, "x", namespace)


@pytest.mark.usefixtures("before_1_38")
def test_kubectl_prints_a_line_for_each_cause(plane, namespace):
    done = create(plane, nested_workload("serve", namespace, "single", "all", "single"))

    head, *lines = done.stderr.strip().splitlines()
    leaf = "spec.compositePodGroupTemplates[0].podGroupTemplates[{}].disruptionMode"
    assert (1, 'The Workload "serve" is invalid: ') == (done.returncode, f"{head.rstrip()} ")
    assert [f"* {leaf.format(number)}: Invalid value" for number in (0, 2)] == [": ".join(line.split(": ")[:2]) for line in lines]
    assert all(line.endswith("[muster: disruption-nesting]") for line in lines)


def test_kubectl_prints_the_warnings_and_each_cause_of_a_group_in_a_tree(plane, api, namespace):
    api.create(all_or_nothing(namespace))
    leaf = child("leaf", namespace, namespace)
    leaf["spec"]["workloadRef"]["workloadName"] = "other"

    def lines():
        return create(plane, leaf, "--dry-run=server").stderr.strip().splitlines()

    assert eventually(lambda: len(lines()) == 4)
    warning, head, mode, workload = lines()
    assert f'Warning: spec.workloadRef.workloadName: Not found: "other": {NO_TRAIN.format(namespace=namespace)}' == warning
    assert 'The PodGroup "leaf" is invalid:' == head.rstrip()
    assert mode.startswith('* spec.disruptionMode: Invalid value: "single": must be `all`')
    assert mode.endswith("[muster: tree-disruption-nesting]")
    assert workload.startswith("* spec.workloadRef.workloadName: Invalid value: \"other\": must be 'train'")
    assert workload.endswith("[muster: tree-one-workload]")


def test_a_client_finds_the_causes_one_by_one(api, namespace):
    with pytest.raises(ApiError) as refused:
        api.create(unfit_group("x", namespace))

    cause = (unfit().field, "FieldValueInvalid", unfit().message)
    assert (422, "Invalid", [cause]) == (refused.value.code, refused.value.reason, refused.value.causes)
    details = refused.value.status["details"]
    assert ("x", "scheduling.k8s.io", unfit().kind) == (details["name"], details["group"], details["kind"])


def test_what_the_api_server_refuses_itself_is_not_reported_twice(api, namespace, webhooks):
    with pytest.raises(ApiError) as refused:
        api.create(pod_group("x", namespace, {"schedulingPolicy": {"gang": {"minCount": -1}}}))

    assert ["spec.schedulingPolicy.gang.minCount"] == [field for field, _, _ in refused.value.causes]
    assert "muster" not in str(refused.value.status)
    assert [] == webhooks.logged(namespace=namespace, path="/validate")


def test_kubectl_prints_what_is_doubtful_as_warnings_and_continues(plane, api, namespace):
    done = create(plane, composite_group("root", namespace))

    want = f'Warning: spec.workloadRef.workloadName: Not found: "train": {NO_TRAIN.format(namespace=namespace)}'
    assert (0, want) == (done.returncode, done.stderr.strip())
    assert "compositepodgroup.scheduling.k8s.io/root created" == done.stdout.strip()


@pytest.mark.usefixtures("before_1_38")
def test_a_refusal_brings_its_warnings_along(plane, namespace):
    spec = {
        "parentCompositePodGroupName": "none",
        "workloadRef": {"workloadName": "train", "templateName": "leaf"},
        "schedulingPolicy": {"basic": {}},
        "disruptionMode": {"all": {}},
    }
    done = create(plane, pod_group("x", namespace, spec))

    assert [
        f'Warning: spec.parentCompositePodGroupName: Not found: "none": {NO_PARENT.format(namespace=namespace)}',
        f'Warning: spec.workloadRef.workloadName: Not found: "train": {NO_TRAIN.format(namespace=namespace)}',
        f'The PodGroup "x" is invalid: {ALL_WITHOUT_GANG.cause}',
    ] == done.stderr.strip().splitlines()


def test_a_dry_run_is_judged_and_leaves_nothing(plane, api, namespace, webhooks):
    refused = create(plane, unfit_group("x", namespace), "--dry-run=server")
    accepted = create(plane, pod_group("y", namespace), "--dry-run=server")

    assert (1, unfit().refusal) == (refused.returncode, refused.stderr.strip())
    assert (0, "podgroup.scheduling.k8s.io/y created (server dry run)") == (accepted.returncode, accepted.stdout.strip())
    assert [] == [*api.objects("PodGroup", namespace), *api.objects("CompositePodGroup", namespace)]
    assert {True} == {each["dryRun"] for each in webhooks.logged(namespace=namespace, least=2)}


def test_a_group_goes_through_mutating_unless_the_api_server_has_completed_it_and_then_validating(plane, api, namespace, webhooks):
    api.create(composite_group("x", namespace))
    api.create(pod_group("y", namespace))

    # No finalizer protects a CompositePodGroup before 1.38, and nobody resolves the priority of custom resources.
    sent = {"x": plane.programs.minor() < 38, "y": False}
    for name, is_mutated in sent.items():
        paths = ["/mutate", "/validate"] if is_mutated or isinstance(api, CustomApi) else ["/validate"]
        reviews = webhooks.logged(namespace=namespace, name=name, least=len(paths))
        assert [(each, "CREATE") for each in paths] == [(each["path"], each["operation"]) for each in reviews]


def test_every_way_of_writing_is_judged(plane, api, namespace):
    assert create(plane, nested_workload("serve", namespace, "all", "all")).returncode == 0
    path = "/spec/compositePodGroupTemplates/0/schedulingPolicy/gang/minGroupCount"
    patched = plane.kubectl(
        "patch", "workload", "serve", "-n", namespace, "--type=json", "-p", json.dumps([{"op": "replace", "path": path, "value": 3}])
    )
    applied = plane.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(unfit_group("x", namespace)))
    replaced = plane.kubectl("replace", "-f", "-", stdin=json.dumps(nested_workload("serve", namespace, "all", "all", minimum=4)))

    for done, count in ((patched, 3), (replaced, 4)):
        assert 0 == done.returncode, done.stderr
        assert (
            f"Warning: spec{path.removeprefix('/spec').replace('/0/', '[0].').replace('/', '.')}: Invalid value: {count}: must be at most 2"
            in done.stderr
        )
    assert (1, unfit().refusal) == (applied.returncode, applied.stderr.strip())


@pytest.mark.parametrize(
    ("kind", "manifest", "condition"),
    [
        pytest.param("PodGroup", pod_group, "PodGroupInitiallyScheduled", id="PodGroup"),
        pytest.param("CompositePodGroup", composite_group, "CompositePodGroupInitiallyScheduled", id="CompositePodGroup"),
    ],
)
def test_a_status_is_judged_and_never_completed(api, namespace, webhooks, kind, manifest, condition):
    api.create(manifest("y", namespace))
    result = {"type": condition, "status": "False", "reason": "Unschedulable", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    api.set_status(kind, "y", namespace, status={"conditions": [result]})

    assert [result] == api.get(kind, "y", namespace)["status"]["conditions"]
    assert [("/validate", "UPDATE", True)] == [
        (each["path"], each["operation"], each["allowed"]) for each in webhooks.logged(namespace=namespace, subresource="status", least=1)
    ]


def test_deletion_is_nobodys_business(api, namespace, webhooks):
    api.create(composite_group("y", namespace))
    clean(api, ("CompositePodGroup",), namespace)

    assert not api.exists("CompositePodGroup", "y", namespace)
    assert {"CREATE"} == {each["operation"] for each in webhooks.logged(namespace=namespace, least=2)}


@pytest.mark.parametrize(("rule", "requested"), [("v1beta1", "v1alpha3"), ("v1alpha3", "v1beta1")])
def test_a_version_that_the_rule_does_not_name_is_judged_by_match_policy_equivalent(api, namespace, webhooks, rule, requested):
    def set_rule(policy):
        for kind in CONFIGURATIONS:
            patch = [
                {"op": "replace", "path": "/webhooks/0/rules/0/apiVersions", "value": [rule]},
                {"op": "replace", "path": "/webhooks/0/matchPolicy", "value": policy},
            ]
            api.patch(kind, "muster", body=patch, how="json")

    def refused():
        try:
            api.create(unfit_group("x", namespace, requested), dryRun="All")
        except ApiError as error:
            return any(is_refused(message) for _, _, message in error.causes)
        return False

    try:
        set_rule("Exact")
        assert eventually(lambda: not refused())
        set_rule("Equivalent")
        assert eventually(refused)
    finally:
        webhooks.apply_configurations()
        assert eventually(lambda: webhooks.judges("default"))


@pytest.mark.parametrize(
    ("mode", "code", "printed"),
    [("deny", 1, 'The {kind} "x" is invalid: {cause}'), ("warn", 0, "Warning: would be refused: {cause}"), ("audit", 0, "")],
    ids=["deny", "warn", "audit"],
)
def test_the_label_of_a_namespace_selects_how_errors_are_enforced(plane, api, webhooks, mode, code, printed):
    with new_namespace(api, {"muster.dev/enforcement": mode}) as name:
        done = create(plane, unfit_group("x", name))

        assert (code, printed.format(kind=unfit().kind, cause=unfit().cause)) == (done.returncode, done.stderr.strip())
        assert (code == 0) == api.exists(unfit().kind, "x", name)
        (entry,) = webhooks.logged(namespace=name, path=f"/validate/{mode}", least=1)
        assert (code == 0, [] if code else [unfit().rule]) == (entry["allowed"], entry.get("notEnforced", []))


@pytest.mark.parametrize("exempt", [NAMESPACE, "kube-system"])
def test_where_the_cluster_repairs_itself_nothing_is_judged(api, exempt):
    group = unfit_group("x", exempt)
    answer = api.create(group, dryRun="All")

    assert group["spec"].items() <= answer["spec"].items()


def test_pods_are_not_touched(api, namespace, webhooks):
    api.create(pod("p", namespace, group="nowhere"))

    assert [] == webhooks.logged(namespace=namespace)


def all_or_nothing(namespace):
    """Return a CompositePodGroup with the name of its namespace that is placed as a whole and leaves as a whole."""
    return composite_group(namespace, namespace, {"schedulingPolicy": {"gang": {"minGroupCount": 1}}, "disruptionMode": {"all": {}}})


def child(name, namespace, parent):
    spec = {"parentCompositePodGroupName": parent, "workloadRef": {"workloadName": "train", "templateName": "leaf"}}
    return pod_group(name, namespace, spec)


def test_a_group_is_judged_with_the_groups_that_are_in_the_cluster(plane, api, namespace):
    """The parent is known by the watch of the server's ServiceAccount, a moment after it is made."""
    refused = f'The PodGroup "leaf" is invalid: spec.disruptionMode: Invalid value: "single": must be `all`, as the mode of the parent CompositePodGroup {namespace} is'

    def told():
        return create(plane, child("leaf", namespace, namespace), "--dry-run=server").stderr

    assert NO_PARENT.format(namespace=namespace) in told()
    api.create(all_or_nothing(namespace))
    assert eventually(lambda: refused in told())
    clean(api, ("CompositePodGroup",), namespace)
    assert eventually(lambda: NO_PARENT.format(namespace=namespace) in told())


def test_the_shipped_role_is_enough_and_not_more_than_is_needed(plane, webhooks):
    account = plane.service_account(ACCOUNT, NAMESPACE)

    def can(verb, resource):
        return plane.kubectl("auth", "can-i", verb, resource, "-A", kubeconfig=account).stdout.strip()

    looked_up = ("workloads.scheduling.k8s.io", "podgroups.scheduling.k8s.io", "compositepodgroups.scheduling.k8s.io", "nodes")
    assert {"yes"} == {can(verb, resource) for verb in ("list", "watch") for resource in looked_up}
    assert {"no"} == {can("create", "podgroups.scheduling.k8s.io"), can("list", "pods"), can("list", "secrets"), can("patch", "nodes")}
    assert [] == webhooks.logged("watch")


def test_the_server_reports_no_fault(webhooks):
    faults = [line for line in webhooks.probe("/metrics")[1].splitlines() if line.startswith("muster_faults_total")]

    assert {"0.0"} == {line.rpartition(" ")[2] for line in faults}
    assert [] == [line for line in webhooks.server.log.read_text(encoding="utf-8").splitlines() if '"level":"error"' in line]
