"""Objects at PATH that the API server refuses, or that cannot be read: what the verdict names, and its exit status, for all kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node
from tests.muster.test_fit_quotas import named
from tests.muster.test_pod_admission import fit
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, deployment, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]
SCHEDULING = "scheduling.k8s.io/v1"


def refused(mine, cluster=NODES):
    status, answer = fit(mine, cluster)
    return status, {each["object"]: each["reason"] for each in answer["refused"]}


def priority_class(name, value, *, default=False):
    made = {"apiVersion": SCHEDULING, "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    return {**made, "globalDefault": True} if default else made


HIGH = "value: Forbidden: maximum allowed value of a user defined priority is 1000000000; this is 2000000000 (mine.json:2)"
SYSTEM = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
    "error: system-mine is not a known system priority class (mine.json:2)"
)
SECOND = "globalDefault: Forbidden: PriorityClass a is already marked as default. Only one default can exist"
CLASSES = {
    "a high value": ([priority_class("high", 2_000_000_000)], [], {"PriorityClass high": HIGH}),
    "a reserved name": ([priority_class("system-mine", 5)], [], {"PriorityClass system-mine": SYSTEM}),
    "two defaults": (
        [priority_class("a", 5, default=True), priority_class("b", 3, default=True)],
        [],
        {"PriorityClass b": f"{SECOND} (mine.json:3)"},
    ),
    "a default of the cluster": (
        [priority_class("b", 3, default=True)],
        [priority_class("a", 5, default=True)],
        {"PriorityClass b": f"{SECOND} (mine.json:2)"},
    ),
    "valid ones": ([priority_class("a", 5, default=True), priority_class("b", 3)], [priority_class("c", 9)], {}),
    "one of the cluster": ([priority_class("a", 5, default=True)], [priority_class("a", 5, default=True)], {}),
}


@pytest.mark.parametrize(("classes", "existing", "want"), CLASSES.values(), ids=CLASSES)
def test_priority_classes_that_are_refused(classes, existing, want):
    assert (int(bool(want)), want) == refused([job(1), *classes], [*NODES, *existing])


def test_claims_and_templates_of_claims_at_path_are_validated():
    claim = named("PersistentVolumeClaim", "data", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1GB"}}})
    reason = 'spec.resources.requests.storage: Invalid value: "1GB": must be a quantity, such as 2, 500m or 1Gi (mine.json:2)'
    assert refused([job(1), claim])[1] == {"PersistentVolumeClaim default/data": reason}
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": -1}}
    template = named("ResourceClaimTemplate", "gpus", "resource.k8s.io/v1", spec={"spec": {"devices": {"requests": [request]}}})
    assert {"ResourceClaimTemplate default/gpus"} == refused([job(1), template])[1].keys()


def changed(value, change):
    """Return a copy in which *change* replaces all keys and values."""
    if isinstance(value, dict):
        return {change(key): changed(each, change) for key, each in value.items()}
    return [changed(each, change) for each in value] if isinstance(value, list) else change(value)


def of_task(template, kind):
    return (
        {"Launcher": {"replicas": 1, "template": template}, "Worker": {"replicas": 1, "template": template}} if kind == "MPI" else template
    )


LABELLED = {"metadata": {"labels": {"app": "x"}}, "spec": TEMPLATE["spec"]}
OF_APP = {"selector": {"matchLabels": {"app": "x"}}, "template": LABELLED}
TORCH = {**RUN_ONCE, "spec": {"containers": [{**TEMPLATE["spec"]["containers"][0], "name": "pytorch"}]}}
KINDS = {
    "Pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": RUN_ONCE["spec"]},
    "Job": job(2),
    "CronJob": manifest("CronJob", "batch/v1", schedule="0 3 * * *", jobTemplate={"spec": job(1)["spec"]}),
    "Deployment": deployment(1),
    "StatefulSet": manifest("StatefulSet", "apps/v1", serviceName="x", **OF_APP),
    "DaemonSet": manifest("DaemonSet", "apps/v1", **OF_APP),
    "ReplicaSet": manifest("ReplicaSet", "apps/v1", **OF_APP),
    "JobSet": manifest(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        replicatedJobs=[{"name": "w", "template": {"spec": {"parallelism": 1, "completions": 1, "template": RUN_ONCE}}}],
    ),
    "LeaderWorkerSet": manifest(
        "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", leaderWorkerTemplate={"size": 2, "workerTemplate": LABELLED}
    ),
    "RayCluster": manifest("RayCluster", "ray.io/v1", headGroupSpec={"rayStartParams": {}, "template": LABELLED}),
    "PyTorchJob": manifest("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs={"Master": {"replicas": 1, "template": TORCH}}),
    "MPIJob": manifest("MPIJob", "kubeflow.org/v2beta1", mpiReplicaSpecs=of_task(RUN_ONCE, "MPI")),
    "Volcano Job": manifest("Job", "batch.volcano.sh/v1alpha1", tasks=[{"name": "a", "replicas": 1, "template": RUN_ONCE}]),
    "PodCliqueSet": manifest(
        "PodCliqueSet",
        "grove.io/v1alpha1",
        replicas=1,
        template={"cliques": [{"name": "a", "spec": {"roleName": "a", "replicas": 1, "podSpec": TEMPLATE["spec"]}}]},
    ),
}


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_a_malformed_quantity_has_one_exit_status_for_all_kinds(made):
    """The pods cannot be read, so that status is 2; the verdict is that of the API server, with the field of the object."""
    assert 0 == fit([made], NODES)[0]
    status, answer = fit([changed(made, lambda each: "200GB" if each == "2" else each)], NODES)
    assert (2, "does-not-fit") == (status, answer["verdict"])
    assert f"{made['kind']} default/{made['metadata']['name']}: spec." in answer["message"]
    assert 'resources.requests.cpu: Invalid value: "200GB": must be a quantity, such as 2, 500m or 1Gi (mine.json:1)' in answer["message"]
    status, answer = fit([changed(made, lambda each: "mem" if each == "cpu" else each)], NODES)
    assert (1, True) == (status, 'resources.requests[mem]: Invalid value: "mem"' in answer["message"])


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_a_misspelt_field_is_named_in_the_verdict(made):
    status, answer = fit([changed(made, lambda each: "container" if each == "containers" else each)], NODES)
    assert (True, True) == (status > 0, 'container"; did you mean "containers"? (mine.json:1)' in answer["message"])


MISSPELT = {
    "a template": (KINDS["StatefulSet"], "template", "templat"),
    "a template of a Job": (KINDS["CronJob"], "jobTemplate", "jobTemplates"),
    "jobs of a JobSet": (KINDS["JobSet"], "replicatedJobs", "replicatedJob"),
    "roles": (KINDS["PyTorchJob"], "pytorchReplicaSpecs", "pytorchReplicaSpec"),
    "a specification": (KINDS["Pod"], "spec", "specs"),
    "metadata": (KINDS["Pod"], "metadata", "metdata"),
    "a namespace": (KINDS["Pod"], "namespace", "namespce"),
}


@pytest.mark.parametrize(("made", "right", "wrong"), MISSPELT.values(), ids=MISSPELT)
def test_misspelt_required_fields_are_never_a_success(made, right, wrong):
    status, answer = fit([changed(made, lambda each: wrong if each == right else each), job(1, name="good")], NODES)
    assert (True, True) == (status > 0, f'{wrong}"; did you mean "{right}"?' in json.dumps(answer).replace('\\"', '"'))


def test_a_pod_without_metadata_is_no_failure_of_the_command():
    Path("mine.json").write_text(
        '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "i"}]}}', encoding="utf-8"
    )
    Path("cluster.json").write_text("\n".join(map(json.dumps, NODES)), encoding="utf-8")
    for options in ([], ["--gang"]):
        answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", *options])
        assert isinstance(answer.exception, SystemExit)
        assert 2 == answer.exit_code


def test_a_missing_template_of_claims_is_named_in_the_verdict():
    mine = job(2)
    mine["spec"]["template"] = {"spec": {**RUN_ONCE["spec"], "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpu"}]}}
    template = named("ResourceClaimTemplate", "gpus", "resource.k8s.io/v1", spec={"spec": {"devices": {"requests": []}}})
    assert fit([mine], NODES)[1]["message"].endswith("; there is no ResourceClaimTemplate default/gpu")
    assert fit([mine], [*NODES, template])[1]["message"].endswith("; there is no ResourceClaimTemplate default/gpu; did you mean 'gpus'?")


def test_worker_groups_of_one_name():
    workers = [{"groupName": name, "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "template": LABELLED} for name in ("a", "b", "a")]
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": LABELLED}, "workerGroupSpecs": workers}
    reason = 'workerGroupSpecs[2].groupName: Duplicate value: "a" (mine.json:1)'
    assert (1, {"RayCluster default/web": f"spec.{reason}"}) == refused([manifest("RayCluster", "ray.io/v1", **spec)])
    mine = manifest("RayJob", "ray.io/v1", entrypoint="x", rayClusterSpec=spec)
    assert (1, {"RayJob default/web": f"spec.rayClusterSpec.{reason}"}) == refused([mine])


def account(name, namespace="default", **metadata):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace, **metadata}}


def as_account(made, name):
    template = made["spec"]["template"]
    return {**made, "spec": {**made["spec"], "template": {**template, "spec": {**template["spec"], "serviceAccountName": name}}}}


CREATED = account("default", uid="1")
"""The account that a controller creates: with it, all accounts of its namespace are known."""
NO_ACCOUNT = {"Job default/train": 'error looking up service account default/own: serviceaccount "own" not found'}
MPI_JOB = manifest(
    "MPIJob",
    "kubeflow.org/v2beta1",
    "pi",
    mpiReplicaSpecs={
        "Launcher": {"replicas": 1, "template": {"spec": {**RUN_ONCE["spec"], "serviceAccountName": "pi-launcher"}}},
        "Worker": {"replicas": 1, "template": TEMPLATE},
    },
)
ACCOUNTS = {
    "one that does not exist": ([as_account(job(1), "own")], [CREATED, account("other")], NO_ACCOUNT),
    "one of another namespace": ([as_account(job(1), "own")], [CREATED, account("own", "ml")], NO_ACCOUNT),
    "one of the cluster": ([as_account(job(1), "own")], [CREATED, account("own")], {}),
    "one at PATH": ([as_account(job(1), "own"), account("own")], [CREATED], {}),
    "none": ([job(1)], [CREATED], {}),
    "accounts that are not known": ([as_account(job(1), "own")], [], {}),
    "manifests of some accounts": ([as_account(job(1), "own")], [account("other"), account("default")], {}),
    "accounts of another namespace": ([as_account(job(1), "own")], [account("default", "ml", uid="1")], {}),
    "one that an operator can create": ([MPI_JOB], [CREATED], {}),
}


@pytest.mark.parametrize(("mine", "cluster", "want"), ACCOUNTS.values(), ids=ACCOUNTS)
def test_pods_that_are_refused_for_their_service_account(mine, cluster, want):
    assert (int(bool(want)), want) == refused(mine, [*NODES, *cluster])


def test_a_pod_names_its_account_by_the_former_field_too():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**RUN_ONCE["spec"], "serviceAccount": "own"}}
    reason = 'error looking up service account default/own: serviceaccount "own" not found (mine.json:1)'
    assert (1, {"Pod default/p": reason}) == refused([pod], [*NODES, CREATED])


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
@pytest.mark.parametrize(
    ("labels", "known", "admin", "good"),
    [
        ({}, True, True, False),
        ({"resource.kubernetes.io/admin-access": "false"}, True, True, False),
        ({"resource.kubernetes.io/admin-access": "true"}, True, True, True),
        ({}, False, True, True),
        ({}, True, False, True),
    ],
    ids=["no label", "false", "label", "not known", "no admin access"],
)
def test_admin_access_needs_a_label_of_the_namespace(kind, labels, known, admin, good):
    spec = {"devices": {"requests": [{"name": "all", "exactly": {"deviceClassName": "gpu", "adminAccess": admin}}]}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "c"},
        "spec": spec if kind == "ResourceClaim" else {"spec": spec},
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}
    _, found = refused([claim, job(1)], [*NODES, *([namespace] if known else [])])

    reason = (
        "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the"
        " `resource.kubernetes.io/admin-access: true` label on the containing namespace"
    )
    assert found == ({} if good else {f"{kind} default/c": reason})
