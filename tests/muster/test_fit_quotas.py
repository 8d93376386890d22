"""Quotas of storage and of object counts, LimitRanges of claims, and claims of ephemeral volumes, in the verdict of ``muster fit``."""

from __future__ import annotations

import copy

import pytest

from tests.muster.simulated import node
from tests.muster.test_pod_admission import fit
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, deployment, job, manifest, owned

pytestmark = pytest.mark.usefixtures("folder")

CLAIM = "PersistentVolumeClaim"


def named(kind, name, version="v1", **fields):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def quota(used=None, **hard):
    counted = {**dict.fromkeys(hard, "0"), **(used or {})}
    return named("ResourceQuota", "team-a", spec={"hard": hard}, status={"hard": hard, "used": counted})


def claim_spec(size="10Gi"):
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": "gold"}


def stateful_set(replicas=2):
    claims = [{"metadata": {"name": "data"}, "spec": claim_spec()}]
    labelled = {"metadata": {"labels": {"app": "x"}}, "spec": TEMPLATE["spec"]}
    return manifest(
        "StatefulSet",
        "apps/v1",
        replicas=replicas,
        serviceName="web",
        selector={"matchLabels": {"app": "x"}},
        template=labelled,
        volumeClaimTemplates=claims,
    )


def with_scratch(made):
    """A Job whose pods have an ephemeral volume."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec()}}}
    return {**made, "spec": {**made["spec"], "template": {"spec": {**RUN_ONCE["spec"], "volumes": [volume]}}}}


def storage_class(mode="WaitForFirstConsumer", **fields):
    return named("StorageClass", "gold", "storage.k8s.io/v1", provisioner="csi.example.com", volumeBindingMode=mode, **fields)


CLUSTER = [node("n1", cpu="8"), node("n2", cpu="8"), storage_class()]
CRON = manifest("CronJob", "batch/v1", schedule="0 3 * * *", jobTemplate={"spec": job(1)["spec"]})
CRON["metadata"]["name"] = "nightly"
JOB_SET = manifest(
    "JobSet",
    "jobset.x-k8s.io/v1alpha2",
    replicatedJobs=[{"name": "w", "replicas": 3, "template": {"spec": {"parallelism": 1, "completions": 1, "template": RUN_ONCE}}}],
)
WRAPPER = manifest("AppWrapper", "workload.codeflare.dev/v1beta2", components=[{"template": job(1)}, {"template": JOB_SET}])
OWN = {"containers": [{"name": "kserve-container", "image": "i"}]}
SERVICE = manifest("InferenceService", "serving.kserve.io/v1beta1", predictor=OWN, transformer=OWN)
LLM = manifest(
    "LLMInferenceService", "serving.kserve.io/v1alpha2", model={"uri": "hf://a/b"}, worker=TEMPLATE["spec"], template=TEMPLATE["spec"]
)
RAY_SERVICE = manifest("RayService", "ray.io/v1", rayClusterConfig={"headGroupSpec": {"template": TEMPLATE}})
OF_CLASS = "gold.storageclass.storage.k8s.io/"
SHORT = {
    "storage of a StatefulSet": (
        [stateful_set()],
        {"requests.storage": "15Gi"},
        {},
        "StatefulSet default/web",
        "15Gi storage, 20Gi needed",
    ),
    "storage that is used": (
        [stateful_set()],
        {"requests.storage": "30Gi"},
        {"requests.storage": "15Gi"},
        "StatefulSet default/web",
        "15Gi storage, 20Gi needed",
    ),
    "claims of a StatefulSet": (
        [stateful_set()],
        {"persistentvolumeclaims": "1"},
        {},
        "StatefulSet default/web",
        "1 persistentvolumeclaims, 2 needed",
    ),
    "storage of a class": (
        [stateful_set()],
        {f"{OF_CLASS}requests.storage": "5Gi"},
        {},
        "StatefulSet default/web",
        "5Gi storage of class gold, 20Gi needed",
    ),
    "claims of ephemeral volumes": (
        [with_scratch(job(2))],
        {f"{OF_CLASS}persistentvolumeclaims": "1"},
        {},
        "Job default/train",
        "1 persistentvolumeclaims of class gold, 2 needed",
    ),
    "a claim at PATH": (
        [job(1), named(CLAIM, "data", spec=claim_spec())],
        {"requests.storage": "5Gi"},
        {},
        f"{CLAIM} default/data",
        "5Gi storage, 10Gi needed",
    ),
    "the Job of a CronJob": ([CRON], {"count/jobs.batch": "0"}, {}, "CronJob default/nightly", "0 jobs.batch, 1 needed"),
    "the Jobs of a JobSet": ([JOB_SET], {"count/jobs.batch": "2"}, {}, "JobSet default/web", "2 jobs.batch, 3 needed"),
    "the Jobs in an AppWrapper": ([WRAPPER], {"count/jobs.batch": "3"}, {}, "AppWrapper default/web", "3 jobs.batch, 4 needed"),
    "the JobSet in an AppWrapper": (
        [WRAPPER],
        {"count/jobsets.jobset.x-k8s.io": "0"},
        {},
        "AppWrapper default/web",
        "0 jobsets.jobset.x-k8s.io, 1 needed",
    ),
    "the Deployments of an InferenceService": (
        [SERVICE],
        {"count/deployments.apps": "1"},
        {},
        "InferenceService default/web",
        "1 deployments.apps, 2 needed",
    ),
    "the LeaderWorkerSet of an LLMInferenceService": (
        [LLM],
        {"count/leaderworkersets.leaderworkerset.x-k8s.io": "0"},
        {},
        "LLMInferenceService default/web",
        "0 leaderworkersets.leaderworkerset.x-k8s.io, 1 needed",
    ),
    "the RayCluster of a RayService": (
        [RAY_SERVICE],
        {"count/rayclusters.ray.io": "0"},
        {},
        "RayService default/web",
        "0 rayclusters.ray.io, 1 needed",
    ),
    "the Service of a JobSet": ([JOB_SET], {"services": "0"}, {}, "JobSet default/web", "0 services, 1 needed"),
    "a Job": ([job(1)], {"count/jobs.batch": "1"}, {"count/jobs.batch": "1"}, "Job default/train", "0 jobs.batch, 1 needed"),
    "the ReplicaSet of a Deployment": (
        [deployment(1)],
        {"count/replicasets.apps": "0"},
        {},
        "Deployment default/web",
        "0 replicasets.apps, 1 needed",
    ),
    "a ConfigMap": ([job(1), named("ConfigMap", "c")], {"configmaps": "0"}, {}, "ConfigMap default/c", "0 configmaps, 1 needed"),
    "node ports": (
        [deployment(1), named("Service", "s", spec={"type": "NodePort", "ports": [{"port": 80}]})],
        {"services.nodeports": "0"},
        {},
        "Service default/s",
        "0 services.nodeports, 1 needed",
    ),
}


@pytest.mark.parametrize(("mine", "hard", "used", "subject", "want"), SHORT.values(), ids=SHORT)
def test_a_quota_that_leaves_too_little_is_the_verdict(mine, hard, used, subject, want):
    status, answer = fit(mine, [*CLUSTER, quota(used, **hard)])
    reason = f"quota default/team-a leaves {want}"
    assert (1, [(subject, reason)]) == (status, [(each["object"], each["reason"]) for each in answer["refused"]])
    free, needed = (each.partition(" ")[0] for each in want.split(", "))
    causes = [(each["quotaResource"], each["free"], each["needed"]) for each in answer["refused"][0]["causes"]]
    assert [(*hard, free, needed)] == causes
    assert answer["message"].startswith(f"does not fit: {subject}: {reason}")
    assert 0 == fit(mine, [*CLUSTER, quota(**dict.fromkeys(hard, "100Gi"))])[0]


def test_without_a_status_the_objects_of_the_namespace_count():
    bare = named("ResourceQuota", "team-a", spec={"hard": {"requests.storage": "25Gi", "configmaps": "1"}})
    existing = named(CLAIM, "old", spec=claim_spec())
    elsewhere = named(CLAIM, "else", spec=claim_spec("50Gi"))
    elsewhere["metadata"]["namespace"] = "other"
    assert 0 == fit([stateful_set()], [*CLUSTER, bare, elsewhere])[0]
    _, answer = fit([stateful_set()], [*CLUSTER, bare, existing])
    assert ["quota default/team-a leaves 15Gi storage, 20Gi needed"] == [each["reason"] for each in answer["refused"]]
    assert 1 == fit([job(1), named("ConfigMap", "c")], [*CLUSTER, bare, named("ConfigMap", "d")])[0]


def test_what_the_cluster_has_already_is_not_counted_again():
    mine = [stateful_set(), named("ConfigMap", "c")]
    claims = [named(CLAIM, f"data-web-{number}", spec=claim_spec()) for number in range(2)]
    full = quota({"requests.storage": "20Gi", "configmaps": "1"}, **{"requests.storage": "20Gi", "configmaps": "1"})
    assert 0 == fit(mine, [*CLUSTER, *claims, named("ConfigMap", "c"), full])[0]
    running = [owned("train-0", "Job", "train")]
    assert 0 == fit([job(1)], [*CLUSTER, *running, quota({"count/jobs.batch": "1"}, **{"count/jobs.batch": "1"})])[0]


def test_claims_of_replaced_pods_leave_their_share():
    mine = with_scratch(deployment(2))
    mine["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
    mine["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    running = [owned(f"web-{number}", "Deployment", "web") for number in range(2)]
    for each in running:
        each["spec"]["volumes"] = mine["spec"]["template"]["spec"]["volumes"]
    full = quota({"requests.storage": "20Gi"}, **{"requests.storage": "20Gi"})
    assert 0 == fit([mine], [*CLUSTER, *running, full])[0]
    assert 1 == fit([mine], [*CLUSTER, full])[0]


def test_objects_that_may_exist_already_are_a_note():
    """A snapshot has no ConfigMaps, but the quota counts some."""
    status, answer = fit([job(1), named("ConfigMap", "c")], [*CLUSTER, quota({"configmaps": "2"}, configmaps="2")])
    want = "quota default/team-a leaves 0 configmaps, 1 needed, unless some of them exist already: they are not in the input"
    cause = {"reason": "QuotaExceeded", "quota": "ResourceQuota default/team-a", "quotaResource": "configmaps", "free": "0", "needed": "1"}
    note = {"object": "ConfigMap default/c", "message": want, "reason": "QuotaUnknown", "causes": [{**cause, "mayExist": True}]}
    assert (0, [note]) == (status, answer["notes"])


SURE = {
    "one that the controller creates cannot exist": ([JOB_SET, named("Service", "s")], {"services": "5"}, {"services": "5"}),
    "all together are too many": ([job(1), named("Service", "s"), named("Service", "t")], {"services": "1"}, {"services": "1"}),
}


@pytest.mark.parametrize(("mine", "hard", "used"), SURE.values(), ids=SURE)
def test_objects_that_may_exist_are_refused_if_the_quota_is_too_small_in_any_case(mine, hard, used):
    status, answer = fit(mine, [*CLUSTER, quota(used, **hard)])
    assert (1, 1) == (status, len({each["reason"] for each in answer["refused"]}))


def test_a_status_that_is_behind_leaves_no_more_than_the_limit():
    running = [owned(f"train-{number}", "Job", "train") for number in range(2)]
    _, answer = fit([job(3)], [*CLUSTER, *running, quota(pods="2")])
    assert ["quota default/team-a leaves 2 pods, 3 needed"] == [each["reason"] for each in answer["refused"]]


def test_a_quota_with_scopes_counts_no_objects_that_have_none():
    scoped = quota(configmaps="0")
    scoped["spec"]["scopes"] = ["NotTerminating"]
    assert 0 == fit([job(1), named("ConfigMap", "c")], [*CLUSTER, scoped])[0]


def test_objects_in_an_unknown_number_are_a_note():
    spec = {
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": {"spec": {"containers": [{**TEMPLATE["spec"]["containers"][0], "name": "pytorch"}]}}}
        }
    }
    mine = manifest("PyTorchJob", "kubeflow.org/v1", **spec)
    _, answer = fit([mine], [*CLUSTER, quota(services="5")])
    want = "quota default/team-a limits services; how many its controller creates is not considered"
    causes = [{"reason": "ObjectsUncounted", "quota": "ResourceQuota default/team-a", "quotaResource": "services"}]
    assert {"object": "PyTorchJob default/web", "message": want, "reason": "QuotaUnknown", "causes": causes} in answer["notes"]


def device_objects(count):
    device = {"exactly": {"deviceClassName": "gpu", "count": count}, "name": "r"}
    template = named("ResourceClaimTemplate", "gpus", "resource.k8s.io/v1", spec={"spec": {"devices": {"requests": [device]}}})
    devices = [{"name": f"d{number}"} for number in range(8)]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    offered = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": devices}
    return [
        template,
        named("DeviceClass", "gpu", "resource.k8s.io/v1", spec={}),
        named("ResourceSlice", "s", "resource.k8s.io/v1", spec=offered),
    ]


def test_devices_of_claims_that_are_created_for_pods_count():
    mine = job(2)
    mine["spec"]["template"] = {"spec": {**RUN_ONCE["spec"], "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpus"}]}}
    limit = "gpu.deviceclass.resource.k8s.io/devices"
    _, answer = fit([mine], [*CLUSTER, *device_objects(3), quota(**{limit: "5"})])
    assert ["quota default/team-a leaves 5 devices of class gpu, 6 needed"] == [each["reason"] for each in answer["refused"]]
    assert 0 == fit([mine], [*CLUSTER, *device_objects(3), quota(**{limit: "6"})])[0]


def test_a_request_for_all_devices_counts_for_32():
    mine = job(1)
    mine["spec"]["template"] = {"spec": {**RUN_ONCE["spec"], "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpus"}]}}
    (template, *others), limit = device_objects(1), "gpu.deviceclass.resource.k8s.io/devices"
    exactly = template["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    del exactly["count"]
    exactly["allocationMode"] = "All"
    answers = [fit([mine], [*CLUSTER, template, *others, quota(**{limit: number})]) for number in ("31", "32")]
    assert [1, 0] == [status for status, _ in answers]
    assert ["quota default/team-a leaves 31 devices of class gpu, 32 needed"] == [each["reason"] for each in answers[0][1]["refused"]]


@pytest.mark.parametrize(("mode", "refused"), [({}, 1), ({"submissionMode": "K8sJobMode"}, 1), ({"submissionMode": "HTTPMode"}, 0)])
def test_a_ray_job_has_a_job_if_one_submits_it(mode, refused):
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": TEMPLATE}}
    mine = manifest("RayJob", "ray.io/v1", entrypoint="python train.py", rayClusterSpec=spec, **mode)
    _, answer = fit([mine], [*CLUSTER, quota(**{"count/jobs.batch": "0"})])
    assert ["quota default/team-a leaves 0 jobs.batch, 1 needed"] * refused == [each["reason"] for each in answer.get("refused") or ()]


LIMITS = named("LimitRange", "sizes", spec={"limits": [{"type": CLAIM, "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}]})
CLAIMS = {
    "of a StatefulSet": ([stateful_set()], "StatefulSet default/web"),
    "of an ephemeral volume": ([with_scratch(job(1))], "Job default/train"),
    "at PATH": ([job(1), named(CLAIM, "data", spec=claim_spec())], f"{CLAIM} default/data"),
}


@pytest.mark.parametrize(("mine", "subject"), CLAIMS.values(), ids=CLAIMS)
def test_a_claim_that_a_limit_range_refuses_is_the_verdict(mine, subject):
    status, answer = fit(mine, [*CLUSTER, LIMITS])
    want = f"maximum storage usage per {CLAIM} is 5Gi, but request is 10Gi (LimitRange default/sizes, spec.limits[0].max)"
    assert (1, {(subject, want)}) == (status, {(each["object"], each["reason"]) for each in answer["refused"]})


def test_an_ephemeral_volume_of_a_class_that_binds_at_once():
    """Its claim gets a volume before the pod is scheduled, as other claims of the class."""
    topologies = [{"matchLabelExpressions": [{"key": "rack", "values": ["b"]}]}]
    racks = [node("a1", cpu="8", rack="a"), node("b1", cpu="8", rack="b")]
    mine = with_scratch(job(2))
    for mode in ("Immediate", None):
        status, answer = fit([mine], [*racks, storage_class(mode=mode, allowedTopologies=topologies)])
        assert (0, {"b1"}) == (status, {place for each in answer["decisions"] for place in each["assignments"].values()})
        assert [each["object"] for each in answer["notes"]] == ["Job default/train"]
    topologies[0]["matchLabelExpressions"][0]["values"] = ["c"]
    assert 1 == fit([mine], [*racks, storage_class(mode="Immediate", allowedTopologies=topologies)])[0]


UNREADABLE = {
    "no quantity": ({"spec": {"hard": {"pods": "lots"}}}, 'spec.hard[pods] "lots" is not a quantity'),
    "a list": ({"spec": {"hard": {"pods": ["1"]}}}, "spec.hard[pods] must be a quantity"),
    "negative": ({"spec": {"hard": {"pods": "-1"}}}, "spec.hard[pods] must not be negative"),
    "usage": ({"spec": {}, "status": {"hard": {"pods": "0"}, "used": {"pods": "x"}}}, 'status.used[pods] "x" is not a quantity'),
    "no limits": ({"spec": {"hard": 5}}, "spec.hard must be an object"),
    "no status": ({"spec": {"hard": {"pods": "0"}}, "status": "full"}, "status must be an object"),
}


@pytest.mark.parametrize(("content", "error"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_limit_that_cannot_be_read_is_no_success_and_no_refusal(content, error):
    status, answer = fit([job(1)], [*CLUSTER, {**quota(), **content}])

    (problem,) = answer["problems"]
    assert ("ResourceQuota default/team-a", "InvalidField") == (problem["object"], problem["reason"])
    assert problem["message"].startswith(error)
    assert problem["message"].endswith("; what these fields decide is not judged")
    assert (2, []) == (status, answer["refused"])
    assert answer["message"].endswith("; 1 input of the cluster could not be read")


def ranges(*limits):
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [*limits]}}


def runtime(**parts):
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "r"}, "handler": "r", **parts}


NOT_APPLIED = {
    "a largest amount": (ranges({"type": "Container", "max": {"cpu": "much"}}), 'spec.limits[0].max[cpu] "much" is not a quantity'),
    "a default": (ranges({"type": "Container", "default": {"cpu": ["1"]}}), "spec.limits[0].default[cpu] must be a quantity"),
    "a ratio": (ranges({"type": "Pod", "maxLimitRequestRatio": 2}), "spec.limits[0].maxLimitRequestRatio must be an object"),
    "an item": (ranges("cpu"), "spec.limits[0] must be an object"),
    "limits": ({**ranges(), "spec": {"limits": {"cpu": "1"}}}, "spec.limits must be a list"),
    "a specification": ({**ranges(), "spec": "cpu"}, "spec must be an object"),
    "an overhead": (runtime(overhead={"podFixed": {"cpu": "x"}}), 'overhead.podFixed[cpu] "x" is not a quantity'),
    "a label": (runtime(scheduling={"nodeSelector": {"a": 1}}), "scheduling.nodeSelector[a] must be a string"),
    "labels": (runtime(scheduling={"nodeSelector": "a"}), "scheduling.nodeSelector must be an object"),
    "tolerations": (runtime(scheduling={"tolerations": {"key": "a"}}), "scheduling.tolerations must be a list"),
}


@pytest.mark.parametrize(("content", "error"), NOT_APPLIED.values(), ids=NOT_APPLIED)
def test_what_admission_cannot_read_is_no_success_and_has_no_effect(content, error):
    mine = copy.deepcopy(job(1))
    if content["kind"] == "RuntimeClass":
        mine["spec"]["template"]["spec"]["runtimeClassName"] = "r"
    status, answer = fit([mine], [*CLUSTER, content])

    (problem,) = answer["problems"]
    assert (problem["object"].split("/")[0].split()[0], problem["reason"]) == (content["kind"], "InvalidField")
    assert problem["message"].startswith(error)
    assert [error.split(" ")[0]] == [*problem["causes"][0]["errors"]]
    assert (2, []) == (status, answer["refused"])
    assert [1] == [len(each["assignments"]) for each in answer["decisions"]]


def test_other_limits_of_a_quota_with_one_that_cannot_be_read_are_judged():
    status, answer = fit([job(1)], [*CLUSTER, quota(**{"requests.storage": "lots", "pods": "0"})])

    assert (2, ["quota default/team-a leaves 0 pods, 1 needed"]) == (status, [each["reason"] for each in answer["refused"]])
