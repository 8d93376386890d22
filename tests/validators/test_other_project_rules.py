"""What the webhooks and operators of other projects refuse in their kinds; valid objects have no errors."""

from __future__ import annotations

import pytest

from validators.built_in import whole_objects

ONCE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
PODS = {"spec": {"containers": [{"name": "main", "image": "i"}]}}


def made(kind, version, name="x", **spec):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def job_set(name="x", job="w", replicas=1, **spec):
    jobs = [{"name": job, "replicas": replicas, "template": {"spec": {"parallelism": 1, "completions": 1, "template": ONCE}}}]
    return made("JobSet", "jobset.x-k8s.io/v1alpha2", name, replicatedJobs=jobs, **spec)


def leader_worker_set(name="x", **spec):
    return made("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", name, leaderWorkerTemplate={"size": 2, "workerTemplate": PODS}, **spec)


def rolling(unavailable, surge):
    return {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": unavailable, "maxSurge": surge}}


def torch(name="x", **master):
    return made("PyTorchJob", "kubeflow.org/v1", name, pytorchReplicaSpecs={"Master": {"replicas": 1, "template": PODS, **master}})


def mpi(name="x", worker=None, **spec):
    roles = {"Launcher": {"replicas": 1, "template": PODS}, "Worker": {"replicas": 2, "template": PODS, **(worker or {})}}
    return made("MPIJob", "kubeflow.org/v2beta1", name, mpiReplicaSpecs=roles, **spec)


CLUSTER = {"headGroupSpec": {"rayStartParams": {}, "template": PODS}}


def ray_job(name="x", **spec):
    return made("RayJob", "ray.io/v1", name, entrypoint="a", rayClusterSpec=CLUSTER, **spec)


def volcano(*tasks, **spec):
    named = [{"name": name, "replicas": 1, "template": ONCE, **more} for name, more in tasks or (("a", {}),)]
    return made("Job", "batch.volcano.sh/v1alpha1", tasks=named, **spec)


def train(name="x"):
    return made("TrainJob", "trainer.kubeflow.org/v1alpha1", name, runtimeRef={"name": "torch"})


def cliques(*specs, **template):
    named = [{"name": f"c{number}", "spec": {"replicas": 1, "podSpec": PODS["spec"], **spec}} for number, spec in enumerate(specs)]
    return made("PodCliqueSet", "grove.io/v1alpha1", replicas=1, template={"cliques": named, **template})


EXPLICIT = {"cliqueStartupType": "CliqueStartupTypeExplicit"}
OTHER_SCHEDULER = {"podSpec": {**PODS["spec"], "schedulerName": "kai"}}
VALID = {
    "PodCliqueSet": cliques({"roleName": "a"}, {"startsAfter": ["c0"]}, **EXPLICIT),
    "JobSet": job_set(
        network={"subdomain": "a-b"},
        successPolicy={"operator": "All", "targetReplicatedJobs": ["w"]},
        failurePolicy={"rules": [{"name": "r", "action": "FailJobSet", "targetReplicatedJobs": ["w"]}]},
        coordinator={"replicatedJob": "w"},
    ),
    "LeaderWorkerSet": leader_worker_set(rolloutStrategy=rolling(0, "25%")),
    "PyTorchJob": torch(restartPolicy="ExitCode"),
    "MPIJob": mpi(slotsPerWorker=0, runPolicy={"cleanPodPolicy": "Running"}),
    "RayCluster": made("RayCluster", "ray.io/v1", "x" * 53, **CLUSTER),
    "RayJob": ray_job("x" * 47, suspend=True, shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=3),
    "Volcano Job": volcano(("a", {}), ("b", {"dependsOn": {"name": ["a"]}}), volumes=[{"mountPath": "/d", "volumeClaimName": "c"}]),
    "TrainJob": train(),
    "a generated name": {**train(), "metadata": {"generateName": "a-"}},
}


@pytest.mark.parametrize("manifest", VALID.values(), ids=VALID)
def test_valid_objects_have_no_errors(manifest):
    assert [] == whole_objects.errors(manifest)


WRONG = {
    "a name of a JobSet": (job_set("1x"), "spec.replicatedJobs[0].name"),
    "a long name of a Job": (job_set("x" * 50, "y" * 12), "spec.replicatedJobs[0].name"),
    "a dot in the name of a JobSet": (job_set("a.b"), "spec.replicatedJobs[0].name"),
    "an invalid subdomain": (job_set(network={"subdomain": "a.b"}), "spec.network.subdomain"),
    "a success of an unknown Job": (
        job_set(successPolicy={"operator": "All", "targetReplicatedJobs": ["z"]}),
        "spec.successPolicy.targetReplicatedJobs",
    ),
    "a failure of an unknown Job": (
        job_set(failurePolicy={"rules": [{"name": "r", "action": "FailJobSet", "targetReplicatedJobs": ["z"]}]}),
        "spec.failurePolicy.rules[0].targetReplicatedJobs",
    ),
    "a rule twice": (
        job_set(failurePolicy={"rules": [{"name": "r", "action": "FailJobSet"}, {"name": "r", "action": "RestartJobSet"}]}),
        "spec.failurePolicy.rules[1].name",
    ),
    "an unknown coordinator": (job_set(coordinator={"replicatedJob": "z"}), "spec.coordinator.replicatedJob"),
    "a name of a LeaderWorkerSet": (leader_worker_set("1x"), "metadata.name"),
    "an update that cannot roll": (
        leader_worker_set(rolloutStrategy=rolling(0, 0)),
        "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable",
    ),
    "a name of a PyTorchJob": (torch("1x"), "metadata.name"),
    "a misspelt policy of a role": (torch(restartPolicy="never"), "spec.pytorchReplicaSpecs.Master.restartPolicy"),
    "a name of an MPIJob": (mpi("x" * 60), "metadata.name"),
    "no workers": (mpi(worker={"replicas": 0}), "spec.mpiReplicaSpecs.Worker.replicas"),
    "workers that restart": (mpi(worker={"restartPolicy": "Always"}), "spec.mpiReplicaSpecs.Worker.restartPolicy"),
    "negative slots": (mpi(slotsPerWorker=-1), "spec.slotsPerWorker"),
    "a misspelt clean policy": (mpi(runPolicy={"cleanPodPolicy": "all"}), "spec.runPolicy.cleanPodPolicy"),
    "a name of a RayCluster": (made("RayCluster", "ray.io/v1", "a.b", **CLUSTER), "metadata.name"),
    "a long name of a RayCluster": (made("RayCluster", "ray.io/v1", "x" * 54, **CLUSTER), "metadata.name"),
    "a long name of a RayJob": (ray_job("x" * 48), "metadata.name"),
    "a suspended RayJob that stays": (ray_job(suspend=True), "spec.suspend"),
    "a lifetime without an end": (ray_job(ttlSecondsAfterFinished=3), "spec.ttlSecondsAfterFinished"),
    "no time to run": (ray_job(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds"),
    "negative retries": (ray_job(backoffLimit=-1), "spec.backoffLimit"),
    "a volume without a path": (volcano(volumes=[{"mountPath": "", "volumeClaimName": "c"}]), "spec.volumes[0].mountPath"),
    "a volume without a claim": (volcano(volumes=[{"mountPath": "/d"}]), "spec.volumes[0].volumeClaimName"),
    "an event twice": (
        volcano(policies=[{"event": "PodFailed", "action": "RestartJob"}, {"event": "PodFailed", "action": "AbortJob"}]),
        "spec.policies[1].event",
    ),
    "an unknown task": (volcano(("a", {"dependsOn": {"name": ["z"]}})), "spec.tasks[0].dependsOn.name[0]"),
    "a name of a TrainJob": (train("a.b"), "metadata.name"),
    "a role twice": (cliques({"roleName": "a"}, {"roleName": "a"}), "spec.template.cliques[1].spec.roleName"),
    "an unknown clique": (cliques({"startsAfter": ["z"]}, **EXPLICIT), "spec.template.cliques[0].spec.startsAfter[0]"),
    "two schedulers": (cliques({}, OTHER_SCHEDULER), "spec.template.cliques[1].spec.podSpec.schedulerName"),
}


@pytest.mark.parametrize(("manifest", "want"), WRONG.values(), ids=WRONG)
def test_mistakes_have_one_error_at_their_field(manifest, want):
    assert [want] == [str(each.path) for each in whole_objects.errors(manifest)]
