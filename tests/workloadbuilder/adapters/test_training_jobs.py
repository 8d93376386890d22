"""Kubeflow's jobs, Ray clusters and Volcano's jobs: pods by role, gangs and their minimum."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, pods, root, sound

PODS = "template: {spec: {containers: [{name: main, image: i}]}}"
TORCH = PODS.replace("main", "pytorch")
PYTORCH = f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: bert, namespace: ml}}
spec:
  runPolicy: {{cleanPodPolicy: None}}
  pytorchReplicaSpecs:
    Master: {{replicas: 1, restartPolicy: OnFailure, {TORCH}}}
    Worker: {{replicas: 3, restartPolicy: OnFailure, {TORCH}}}
"""
XGBOOST = f"""
apiVersion: kubeflow.org/v1
kind: XGBoostJob
metadata: {{name: iris, namespace: ml}}
spec: {{xgbReplicaSpecs: {{Worker: {{{PODS.replace("main", "xgboost")}}}}}}}
"""
GANG = PYTORCH.replace("cleanPodPolicy: None", "schedulingPolicy: {}")
MPI = f"""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: sim, namespace: ml}}
spec:
  slotsPerWorker: 2
  runPolicy: {{schedulingPolicy: {{minAvailable: 3, queue: q}}}}
  mpiReplicaSpecs:
    Launcher: {{replicas: 1, {PODS}}}
    Worker: {{replicas: 4, {PODS}}}
"""
RAY = f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: tune, namespace: ml, labels: {{}}}}
spec:
  headGroupSpec: {{{PODS}}}
  workerGroupSpecs:
  - {{groupName: small, replicas: 2, minReplicas: 1, maxReplicas: 5, {PODS}}}
  - {{groupName: slice, replicas: 1, minReplicas: 0, maxReplicas: 2, numOfHosts: 4, {PODS}}}
"""
RAY_GANG = RAY.replace("labels: {}", "labels: {ray.io/gang-scheduling-enabled: 'true'}")
RAY_JOB = RAY.replace("RayCluster", "RayJob").replace("spec:\n  headGroupSpec", "spec:\n  rayClusterSpec:\n   headGroupSpec")
RAY_JOB = RAY_JOB.replace("  workerGroupSpecs", "   workerGroupSpecs").replace("  - {groupName", "   - {groupName")
RAY_SERVICE = RAY_JOB.replace("RayJob", "RayService").replace("rayClusterSpec", "rayClusterConfig")
VOLCANO = f"""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: mnist, namespace: ml}}
spec:
  schedulerName: volcano
  queue: research
  tasks:
  - {{name: ps, replicas: 2, {PODS}}}
  - {{name: worker, replicas: 4, minAvailable: 3, {PODS}}}
"""


def single(text):
    result = sound(text, pods=True)
    assert all("schedulingGroup" not in each["spec"] for each in result.objects)
    return names(result, "Pod")


def gang(text):
    result = sound(text, groups=True, pods=True)
    (group,) = names(result, "PodGroup")
    assert {group} == {*pods(result).values()}
    return root(result)["schedulingPolicy"], [*pods(result)]


def test_a_job_without_a_scheduling_policy_has_no_gang():
    assert ["bert-master-0", "bert-worker-0", "bert-worker-1", "bert-worker-2"] == single(PYTORCH)


def test_labels_are_those_of_the_operator():
    pod = sound(PYTORCH, pods=True).objects[-1]
    prefix = "training.kubeflow.org"
    assert {f"{prefix}/job-name": "bert", f"{prefix}/replica-type": "worker", f"{prefix}/replica-index": "2"} == pod["metadata"]["labels"]


@pytest.mark.parametrize(("as_worker", "indexes"), [("", [None, "0", "3"]), ("runLauncherAsWorker: true\n  ", ["0", "1", "4"])])
def test_labels_of_an_mpi_job_are_those_of_its_own_operator(as_worker, indexes):
    result = sound(MPI.replace("slotsPerWorker", f"{as_worker}slotsPerWorker"), pods=True)
    made = {each["metadata"]["name"]: each["metadata"] for each in result.objects if each["kind"] == "Pod"}
    launcher, *workers = (made[f"sim-{name}"] for name in ("launcher-0", "worker-0", "worker-3"))

    prefix = "training.kubeflow.org"
    own = {f"{prefix}/job-name": "sim", f"{prefix}/operator-name": "mpi-operator", f"{prefix}/job-role": "launcher"}
    assert own.items() <= launcher["labels"].items()
    assert [("Job", "sim-launcher")] == [(each["kind"], each["name"]) for each in launcher["ownerReferences"]]
    assert ["sim-launcher", None, None] == [each["labels"].get("batch.kubernetes.io/job-name") for each in (launcher, *workers)]
    assert indexes == [each["labels"].get(f"{prefix}/replica-index") for each in (launcher, *workers)]


def test_with_a_scheduling_policy_all_pods_are_a_gang():
    assert ({"gang": {"minCount": 4}}, ["bert-master-0", "bert-worker-0", "bert-worker-1", "bert-worker-2"]) == gang(GANG)


def test_the_minimum_of_an_mpi_job_is_kept_and_its_queue_is_lost():
    assert ({"gang": {"minCount": 3}}, ["sim-launcher-0", *(f"sim-worker-{number}" for number in range(4))]) == gang(MPI)
    assert ["spec.runPolicy.schedulingPolicy.queue"] == lost_fields(sound(MPI))


def test_a_minimum_of_more_pods_than_there_are_is_kept_with_a_warning():
    """No operator of Kubeflow refuses it: the pods wait."""
    result = compiled(MPI.replace("minAvailable: 3", "minAvailable: 6"), pods=True)

    assert [] == error_lines(result.errors)
    assert "spec.runPolicy.schedulingPolicy.minAvailable" in [str(each.path) for each in result.warnings]
    assert {"gang": {"minCount": 6}} == result.objects[0]["spec"]["podGroupTemplates"][0]["schedulingPolicy"]


@pytest.mark.parametrize(
    ("kind", "field", "container", "roles"),
    [
        pytest.param("TFJob", "tfReplicaSpecs", "tensorflow", ["Chief", "PS", "Worker"], id="TFJob"),
        pytest.param("XGBoostJob", "xgbReplicaSpecs", "xgboost", ["Master", "Worker"], id="XGBoostJob"),
        pytest.param("PaddleJob", "paddleReplicaSpecs", "paddle", ["Worker"], id="PaddleJob"),
        pytest.param("JAXJob", "jaxReplicaSpecs", "jax", ["Worker"], id="JAXJob"),
    ],
)
def test_roles_by_kind(kind, field, container, roles):
    replicas = ", ".join(f"{role}: {{{PODS.replace('main', container)}}}" for role in roles)
    text = f"{{apiVersion: kubeflow.org/v1, kind: {kind}, metadata: {{name: j}}, spec: {{{field}: {{{replicas}}}}}}}"
    assert [f"j-{role.lower()}-0" for role in roles] == single(text)


def test_a_ray_cluster_has_a_head_and_workers_of_several_hosts():
    want = ["tune-head", "tune-small-worker-0", "tune-small-worker-1", *(f"tune-slice-worker-{number}" for number in range(4))]
    assert want == single(RAY)
    assert ({"gang": {"minCount": 7}}, want) == gang(RAY_GANG)


def test_with_autoscaling_the_gang_is_that_of_the_lower_limits():
    scaled = RAY_GANG.replace("spec:\n  head", "spec:\n  enableInTreeAutoscaling: true\n  head")
    policy, found = gang(scaled)
    assert ({"gang": {"minCount": 2}}, 7) == (policy, len(found))
    assert ["spec.enableInTreeAutoscaling"] == lost_fields(sound(scaled))


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param("", {"cpu": "500m", "memory": "512Mi"}, id="by default"),
        pytest.param("autoscalerOptions: {resources: {requests: {cpu: 2}}}", {"cpu": 2}, id="of the cluster"),
    ],
)
def test_the_head_has_the_container_of_the_autoscaler(options, want):
    result = sound(RAY.replace("spec:\n  head", f"spec:\n  enableInTreeAutoscaling: true\n  {options}\n  head"), pods=True)
    containers = {pod["metadata"]["name"]: pod["spec"]["containers"] for pod in result.objects}
    assert ("autoscaler", want) == (containers["tune-head"][-1]["name"], containers["tune-head"][-1]["resources"]["requests"])
    assert [1] == [*{len(each) for name, each in containers.items() if name != "tune-head"}]


@pytest.mark.parametrize(
    ("group", "want"),
    [
        pytest.param("replicas: 9, minReplicas: 1, maxReplicas: 5", 5, id="above the limit"),
        pytest.param("replicas: 0, minReplicas: 1, maxReplicas: 5", 1, id="below the limit"),
        pytest.param("minReplicas: 2, maxReplicas: 5", 2, id="absent"),
        pytest.param("suspend: true, replicas: 2, minReplicas: 1, maxReplicas: 5", 0, id="suspended"),
    ],
)
def test_number_of_workers_is_within_its_limits(group, want):
    found = single(RAY.replace("replicas: 2, minReplicas: 1, maxReplicas: 5", group))
    assert want == sum("small" in each for each in found)


def test_workers_need_what_the_container_needs_that_waits_for_the_head():
    result = sound(RAY, pods=True)
    waiting = {each["metadata"]["name"]: each["spec"].get("initContainers", []) for each in result.objects}
    assert [] == waiting["tune-head"]
    assert [{"cpu": "200m", "memory": "256Mi"}] == [each["resources"]["requests"] for each in waiting["tune-small-worker-0"]]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param(RAY_JOB, "{rayClusterName: tune-x7b2c}", id="RayJob"),
        pytest.param(RAY_SERVICE, "{activeServiceStatus: {}, pendingServiceStatus: {rayClusterName: tune-x7b2c}}", id="RayService"),
        pytest.param(
            RAY_SERVICE,
            "{activeServiceStatus: {rayClusterName: tune-x7b2c}, pendingServiceStatus: {rayClusterName: tune-9lk4v}}",
            id="RayService with two clusters",
        ),
    ],
)
def test_the_status_names_the_cluster(text, status):
    """KubeRay gives the cluster of another object a random name."""
    for given, want in (("", "tune"), (f"status: {status}\n", "tune-x7b2c")):
        clusters = {each["metadata"]["labels"].get("ray.io/cluster") for each in sound(text + given, pods=True).objects}
        assert {want} == clusters - {None}


@pytest.mark.parametrize(("mode", "submits"), [("", True), ("submissionMode: HTTPMode\n  ", False)])
def test_a_ray_job_has_the_pods_of_its_cluster_and_a_submitter(mode, submits):
    found = single(RAY_JOB.replace("rayClusterSpec", f"{mode}rayClusterSpec"))
    assert (8 if submits else 7, submits) == (len(found), "tune-0" in found)


def test_a_ray_job_on_another_cluster_has_only_a_submitter():
    text = "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: j}, spec: {clusterSelector: {ray.io/cluster: c}}}"
    (pod,) = sound(text, pods=True).objects
    assert {"cpu": "500m", "memory": "200Mi"} == pod["spec"]["containers"][0]["resources"]["requests"]


@pytest.mark.parametrize(
    ("minimum", "of_worker", "want"),
    [
        pytest.param("", "minAvailable: 3", {"ps": 2, "worker": 3}, id="the sum of the tasks"),
        pytest.param("minAvailable: 6", "minAvailable: 3", {"": 6}, id="all pods"),
        pytest.param("minAvailable: 4", "minAvailable: 3", {"": 4}, id="fewer than the tasks need: only their number counts"),
        pytest.param("minAvailable: 5", "minAvailable: 2", {"ps": 2, "worker": 3}, id="more than the tasks need"),
        pytest.param("minAvailable: 3", "minAvailable: 0", {"ps": 2, "other-pods": 1}, id="a task without a minimum"),
        pytest.param("minAvailable: 2", "minAvailable: 0, dependsOn: {name: [ps]}", {"": 2}, id="a task that comes later"),
    ],
)
def test_the_minimums_of_a_volcano_job(minimum, of_worker, want):
    text = VOLCANO.replace("queue: research", minimum or "queue: q").replace("minAvailable: 3", of_worker)
    result = sound(text, groups=True, pods=True)
    tree = root(result)
    leaves = {each["name"]: each["schedulingPolicy"]["gang"]["minCount"] for each in tree.get("podGroupTemplates", ())}
    assert want == (leaves or {"": tree["schedulingPolicy"]["gang"]["minCount"]})
    assert len(leaves) == tree["schedulingPolicy"]["gang"].get("minGroupCount", 0)
    assert 6 == len(pods(result))
    assert {*pods(result).values()} == {*names(result, "PodGroup")}


@pytest.mark.parametrize(
    ("partitions", "levels", "minimum", "want"),
    [
        pytest.param("totalPartitions: 2, partitionSize: 2", {}, "", 2, id="all partitions"),
        pytest.param("totalPartitions: 4, partitionSize: 1, minPartitions: 3", {}, "", 3, id="some"),
        pytest.param(
            "totalPartitions: 2, partitionSize: 2, minPartitions: 1", {}, "minAvailable: 5", 2, id="all for the minimum of the Job"
        ),
        pytest.param(
            "totalPartitions: 2, partitionSize: 2, networkTopology: {highestTierAllowed: 1}", {"1": "rack"}, "", 2, id="each in a rack"
        ),
    ],
)
def test_partitions_of_a_volcano_job_are_groups(partitions, levels, minimum, want):
    text = VOLCANO.replace("minAvailable: 3", f"partitionPolicy: {{{partitions}}}").replace("queue: research", minimum or "queue: q")
    result = sound(text, groups=True, pods=True, levels=levels)
    (task,) = root(result)["compositePodGroupTemplates"]
    (leaf,) = task["podGroupTemplates"]
    assert ("worker", want, "worker-partition") == (task["name"], task["schedulingPolicy"]["gang"]["minGroupCount"], leaf["name"])
    assert [*levels.values()] == [each["key"] for each in leaf.get("schedulingConstraints", {}).get("topology", ())]
    workers = [each for each in result.objects if each["kind"] == "Pod" and "worker" in each["metadata"]["name"]]
    numbers = {each["spec"]["schedulingGroup"]["podGroupName"].rpartition("-")[2]: each for each in workers}
    assert all(number == each["metadata"]["labels"]["volcano.sh/partition-id"] for number, each in numbers.items())
    assert 6 == len(pods(result))


def test_partitions_that_are_not_modelled_are_lost():
    text = VOLCANO.replace("minAvailable: 3", "partitionPolicy: {totalPartitions: 2, partitionSize: 2}")
    assert [True] == [each.required for each in sound(text.replace("queue: research", "minAvailable: 2")).losses]
    unknown = text.replace("partitionSize: 2", "partitionSize: 2, networkTopology: {highestTierAllowed: 1}")
    assert any(each.required for each in sound(unknown).losses)
    (line,) = error_lines(compiled(text.replace("partitionSize: 2", "partitionSize: 3")).errors)
    assert line.startswith("spec.tasks[1].replicas: ")


def test_claims_of_a_volcano_job_are_volumes_of_all_its_pods():
    text = VOLCANO.replace("queue: research", "volumes: [{mountPath: /data, volumeClaimName: data}]")
    result = sound(text, pods=True)
    (volumes,) = {str(each["spec"]["volumes"]) for each in result.objects if each["kind"] == "Pod"}
    assert "{'claimName': 'data'}" in volumes


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(PYTORCH.replace("Worker", "Wroker"), "spec.pytorchReplicaSpecs", id="unknown role"),
        pytest.param(PYTORCH.replace("pytorchReplicaSpecs", "tfReplicaSpecs"), "spec.pytorchReplicaSpecs", id="no replicas"),
        pytest.param(PYTORCH.replace("replicas: 3", "replicas: many"), "spec.pytorchReplicaSpecs.Worker.replicas", id="no number"),
        pytest.param(PYTORCH.replace("replicas: 1", "replicas: 2"), "spec.pytorchReplicaSpecs.Master.replicas", id="two masters"),
        pytest.param(
            PYTORCH.replace("replicas: 3, restartPolicy: OnFailure, " + TORCH, "replicas: 3, " + PODS),
            "spec.pytorchReplicaSpecs.Worker.template.spec.containers",
            id="no container of the framework",
        ),
        pytest.param(XGBOOST, "spec.xgbReplicaSpecs.Master", id="no master"),
        pytest.param(
            MPI.replace("Launcher: {replicas: 1", "Launcher: {replicas: 2"), "spec.mpiReplicaSpecs.Launcher.replicas", id="two launchers"
        ),
        pytest.param(MPI.replace(f"    Launcher: {{replicas: 1, {PODS}}}\n", ""), "spec.mpiReplicaSpecs.Launcher", id="no launcher"),
        pytest.param(RAY.replace("headGroupSpec", "head"), "spec.headGroupSpec", id="no head"),
        pytest.param(RAY.replace("maxReplicas: 5", "maxReplicas: 0"), "spec.workerGroupSpecs[0].minReplicas", id="limits in reverse"),
        pytest.param(RAY.replace("groupName: small, ", ""), "spec.workerGroupSpecs[0].groupName", id="no group name"),
        pytest.param(RAY.replace("numOfHosts: 4", "numOfHosts: 0"), "spec.workerGroupSpecs[1].numOfHosts", id="no host"),
        pytest.param(RAY_JOB.replace("spec:\n", "spec:\n  submissionMode: Mail\n", 1), "spec.submissionMode", id="unknown mode"),
        pytest.param(VOLCANO.replace("queue: research", "minAvailable: 7"), "spec.minAvailable", id="more than its pods"),
        pytest.param(VOLCANO.replace("tasks:", "jobs:"), "spec.tasks", id="no tasks"),
        pytest.param(VOLCANO.replace("name: worker", "name: ps"), "spec.tasks[1].name", id="two tasks of one name"),
        pytest.param(
            VOLCANO.replace("queue: research", "minAvailable: 1").replace("minAvailable: 3", "minAvailable: 5"),
            "spec.tasks[1].minAvailable",
            id="more than its task",
        ),
    ],
)
def test_bad_input_is_an_error_at_its_field(text, want):
    result = compiled(text, pods=True)
    assert () == result.objects
    assert [want] == [each.partition(": ")[0] for each in error_lines(result.errors)]
