"""Jobs with a queue of Kueue: which are admitted, why others are not, and what their pods get."""

from __future__ import annotations

from typing import Any

import pytest

from expansion.expanded import Expanded, expand
from expansion.notes import KueueGroupIncomplete, KueueQuotas, NotExpressed
from expansion.queue_notes import (
    AdmittedByQueue,
    FlavorsAssumed,
    FlavorUnsuitable,
    Mismatch,
    NamespaceLabelsUnknown,
    NamespaceNotSelected,
    QueueInactive,
    QueueMissing,
    QueueQuotaExceeded,
    QueueUnused,
    ResourceNotCovered,
    RunsElsewhere,
    WorkloadsAhead,
)
from kubeapi.names import Name
from kubeapi.problem import ProblemKind

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
CQ = Name("ClusterQueue", "", "cq")


def kueue(kind: str, name: str, spec: Json | None = None, **more: Any) -> Json:
    metadata = {"name": name, **({"namespace": "team"} if kind in {"LocalQueue", "Workload"} else {})}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec or {}, **more}


def quota(flavor: str = "default", amount: int = 8, **limits: Any) -> Json:
    return {"name": flavor, "resources": [{"name": GPU, "nominalQuota": amount, **limits}]}


def queue(*flavors: Json, name: str = "cq", **spec: Any) -> Json:
    groups = [{"coveredResources": [GPU], "flavors": [*(flavors or (quota(),))]}]
    return kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def flavor(name: str = "default", **spec: Any) -> Json:
    return kueue("ResourceFlavor", name, spec)


LOCAL = kueue("LocalQueue", "main", {"clusterQueue": "cq"})


def labelled(content: Json, **metadata: Any) -> Json:
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    return {**content, "metadata": {**content["metadata"], "namespace": "team", "labels": labels, **metadata}}


def pod_spec(gpus: int = 1, **spec: Any) -> Json:
    return {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {"limits": {GPU: str(gpus)}}}], **spec}


def job(pods: int = 2, gpus: int = 4, name: str = "train", spec: Json | None = None, **metadata: Any) -> Json:
    template = {"spec": spec or pod_spec(gpus)}
    body = {"parallelism": pods, "completions": pods, "template": template}
    return labelled({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}, **metadata)


def reserved(name: str, gpus: int, cluster_queue: str = "cq", priority: int = 0, **metadata: Any) -> Json:
    assignment = {"name": "main", "flavors": {GPU: "default"}, "resourceUsage": {GPU: str(gpus)}, "count": 1}
    status = {
        "admission": {"clusterQueue": cluster_queue, "podSetAssignments": [assignment]},
        "conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    body = kueue("Workload", name, {"queueName": "main", "priority": priority, "podSets": [{"name": "main", "count": 1}]}, status=status)
    return {**body, "metadata": {**body["metadata"], **metadata}}


def expanded(mine: Json | list[Json], *cluster: Json) -> Expanded:
    return expand(mine if isinstance(mine, list) else [mine], cluster)


def refusals(mine: Json | list[Json], *cluster: Json) -> list[Any]:
    return [each.fact for each in expanded(mine, *cluster).refused]


def pods(found: Expanded) -> list[Json]:
    return [each for each in found.manifests() if each["kind"] == "Pod"]


SHORT = QueueQuotaExceeded(CQ, "default", GPU, 8, 12, 8, 0, 8)


def test_a_job_within_the_quota_is_admitted():
    found = expanded(job(), queue(), LOCAL, flavor())
    assert ([], [AdmittedByQueue(CQ, ("default",), 2, 2)]) == (found.refused, [each.fact for each in found.notes])


def test_a_job_beyond_the_quota_is_not():
    (problem,) = expanded(job(3), queue(), LOCAL, flavor()).refused
    assert (SHORT, ProblemKind.NOT_ADMITTED) == (problem.fact, problem.kind)
    assert (Name("Job", "team", "train"),) == problem.names


def test_what_others_have_reserved_counts():
    (fact,) = refusals(job(), queue(), LOCAL, flavor(), reserved("other", 4))
    assert QueueQuotaExceeded(CQ, "default", GPU, 4, 8, 8, 4, 8) == fact


def test_the_status_counts_in_place_of_workloads():
    status = {"flavorsReservation": [{"name": "default", "resources": [{"name": GPU, "total": "6"}]}]}
    (fact,) = refusals(job(), {**queue(), "status": status}, LOCAL, flavor(), reserved("other", 4))
    assert (2, 6) == (fact.free, fact.used)


@pytest.mark.parametrize("status", [{}, {"flavorsReservation": [{"name": "default", "resources": [{"name": GPU, "total": "4"}]}]}])
def test_the_reservation_of_the_job_itself_does_not(status):
    own = reserved("job-train", 4, ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}])
    assert [] == refusals(job(), {**queue(), "status": status}, LOCAL, flavor(), own)


def test_jobs_are_admitted_one_after_the_other():
    names = [each.names[0].name for each in expanded([job(name="a"), job(name="b")], queue(), LOCAL, flavor()).refused]
    assert ["b"] == names


def test_the_parts_of_a_job_count_together():
    replica = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "pytorch", "image": "i", "resources": {"limits": {GPU: "8"}}}]}},
    }
    spec = {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}}
    mine = labelled({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "t"}, "spec": spec})
    (fact,) = refusals(mine, queue(), LOCAL)
    assert (8, 16) == (fact.free, fact.needed)
    two = [flavor("a", nodeLabels={"pool": "a"}), flavor("b", nodeLabels={"pool": "b"})]
    found = expanded(mine, queue(quota("a"), quota("b")), LOCAL, *two)
    assert ([], {"a", "b"}) == (found.refused, {each["spec"]["nodeSelector"]["pool"] for each in pods(found)})


def test_each_pod_of_a_deployment_is_admitted_by_itself():
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {**pod_spec(4), "restartPolicy": "Always"}}
    body = {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    mine = labelled({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": body})
    found = expanded(mine, queue(), LOCAL, flavor())
    (fact,) = (each.fact for each in found.refused)
    assert (0, 4, 8, 8, []) == (fact.free, fact.needed, fact.used, fact.own, found.notes)
    fitting = expanded(mine, queue(quota(amount=12)), LOCAL, flavor())
    assert ([], [AdmittedByQueue(CQ, ("default",), 3, 3)]) == (fitting.refused, [each.fact for each in fitting.notes])


def controlled(kind: str, spec: Json, own: Json, template: Json, api_version: str = "apps/v1") -> Json:
    """Return an object with three pods; *own* are its labels, and *template* further ones of its pods."""
    body = {"metadata": {"labels": {"app": "a", **template}}, "spec": {**pod_spec(4), "restartPolicy": "Always"}}
    metadata = {"name": "d", "namespace": "team", "labels": own}
    replicas = {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": body}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {**replicas, **spec}}


LABEL = {"kueue.x-k8s.io/queue-name": "main"}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_pods_with_a_label_of_their_own_are_admitted_by_themselves(kind):
    mine = controlled(kind, {}, {}, LABEL)
    (fact,) = refusals(mine, queue(), LOCAL, flavor())
    assert (0, 4, 8) == (fact.free, fact.needed, fact.own)
    together = controlled(kind, {}, {}, {**LABEL, "kueue.x-k8s.io/pod-group-name": "g"})
    (fact,) = refusals(together, queue(), LOCAL, flavor())
    assert (8, 12, 0) == (fact.free, fact.needed, fact.own)


def test_pods_of_a_job_with_a_label_of_their_own_are_admitted_by_themselves():
    mine = {**job(3), "metadata": {"name": "train", "namespace": "team"}}
    mine["spec"]["template"]["metadata"] = {"labels": LABEL}
    (fact,) = refusals(mine, queue(), LOCAL, flavor())
    assert (0, 4, 8) == (fact.free, fact.needed, fact.own)


def test_the_label_of_a_kind_that_kueue_does_not_manage_has_no_effect():
    found = expanded(controlled("ReplicaSet", {}, LABEL, {}), queue(), LOCAL, flavor())
    assert ([], [QueueUnused(Name("LocalQueue", "team", "main"))]) == (found.refused, [each.fact for each in found.notes])
    volcano = {"tasks": [{"name": "t", "replicas": 3, "template": {"spec": pod_spec(4)}}]}
    mine = labelled({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "v"}, "spec": volcano})
    found = expanded(mine, queue(), LOCAL, flavor())
    assert ([], [QueueUnused(Name("LocalQueue", "team", "main"))]) == (found.refused, [each.fact for each in found.notes])


def test_the_label_of_a_cron_job_counts_in_its_template():
    def cron_job(template: Json, **metadata: Any) -> Json:
        spec = {"schedule": "@daily", "jobTemplate": {**template, "spec": job(3)["spec"]}}
        return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "team", **metadata}, "spec": spec}

    found = expanded(cron_job({}, labels=LABEL), queue(), LOCAL, flavor())
    unused = QueueUnused(Name("LocalQueue", "team", "main"), of_jobs=True)
    assert ([], [unused]) == (found.refused, [each.fact for each in found.notes if isinstance(each.fact, QueueUnused)])
    assert [SHORT] == refusals(cron_job({"metadata": {"labels": LABEL}}), queue(), LOCAL, flavor())


def test_the_label_of_the_only_object_that_an_app_wrapper_wraps_counts():
    def wrapping(*objects: Json) -> Json:
        metadata = {"name": "aw", "namespace": "team"}
        spec = {"components": [{"template": each} for each in objects]}
        return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": metadata, "spec": spec}

    (fact,) = refusals(wrapping(job(3)), queue(), LOCAL, flavor())
    assert (8, 12) == (fact.free, fact.needed)
    plain = {**job(3), "metadata": {"name": "train", "namespace": "team"}}
    assert [] == refusals(wrapping(plain), queue(), LOCAL, flavor())


def wrapped(*objects: Json, **metadata: Any) -> Json:
    spec = {"components": [{"template": each} for each in objects]}
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "aw", "namespace": "team", **metadata},
        "spec": spec,
    }


def job_set(jobs: int, pods: int, *, own: bool = False, **metadata: Any) -> Json:
    """Return a JobSet with *jobs* Jobs, whose template names the queue, of *pods* pods with 4 GPUs each; with *own*, it has the label too."""
    template = {"metadata": {"labels": LABEL}, "spec": job(pods)["spec"]}
    content = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set", "namespace": "team", **metadata}}
    replicated = {"spec": {"replicatedJobs": [{"name": "w", "replicas": jobs, "template": template}]}}
    return labelled(content | replicated) if own else content | replicated


@pytest.mark.parametrize(
    ("mine", "want"),
    [
        pytest.param(job_set(2, 1), [], id="Jobs of a JobSet"),
        pytest.param(job_set(3, 1), [(0, 4)], id="the third Job of a JobSet"),
        pytest.param(job_set(1, 3), [(8, 12)], id="one Job of a JobSet"),
        pytest.param(job_set(3, 1, own=True), [(8, 12)], id="a JobSet with the label, and its Jobs too"),
        pytest.param(wrapped(job(1), job(1, name="b"), job(1, name="c")), [(0, 4)], id="Jobs in an AppWrapper"),
        pytest.param(wrapped(job(1), job(1, name="b"), job(1, name="c"), labels=LABEL), [(8, 12)], id="an AppWrapper with the label, and its Jobs too"),
        pytest.param(wrapped(job_set(3, 1), {**job(1), "metadata": {"name": "b"}}), [(0, 4)], id="Jobs of a JobSet in an AppWrapper"),
        pytest.param(wrapped({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": LABEL}, "spec": pod_spec(12)}), [(8, 12)], id="a pod in an AppWrapper"),
    ],
)  # fmt: skip
def test_the_highest_object_with_the_label_is_the_job(mine, want):
    assert want == [(fact.free, fact.needed) for fact in refusals(mine, queue(), LOCAL, flavor())]


def test_a_job_with_a_template_of_a_parent_keeps_its_own_priority():
    urgent = kueue("WorkloadPriorityClass", "urgent", value=10)
    del urgent["spec"]
    mine = job_set(1, 2)
    mine["spec"]["replicatedJobs"][0]["template"]["metadata"]["labels"] = {**LABEL, "kueue.x-k8s.io/priority-class": "urgent"}
    preempting = queue(preemption={"withinClusterQueue": "LowerPriority"})
    (fact,) = refusals(mine, preempting, LOCAL, flavor(), urgent, reserved("other", 4))
    assert (Name("Workload", "team", "other"),) == fact.preempted


def spark(app: Json, driver: Json, executor: Json) -> Json:
    def role(labels: Json) -> Json:
        return {"cores": 1, "memory": "512m", "labels": labels, "gpu": {"name": GPU, "quantity": 4}}

    metadata = {"name": "pi", "namespace": "team", "labels": app}
    spec = {"type": "Scala", "mode": "cluster", "image": "i", "driver": role(driver), "executor": {**role(executor), "instances": 2}}
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param((LABEL, {}, {}), [(8, 12)], id="the application"),
        pytest.param(({}, LABEL, {}), [], id="the driver"),
        pytest.param(({}, LABEL, LABEL), [], id="the driver, which owns the executors"),
        pytest.param(({}, {}, LABEL), [], id="the executors, each by itself"),
    ],
)
def test_an_application_of_spark_is_a_job_or_its_pods_are(labels, want):
    resources = [{"coveredResources": [GPU, "cpu", "memory"], "flavors": [{"name": "default", "resources": [
        {"name": GPU, "nominalQuota": 8}, {"name": "cpu", "nominalQuota": 99}, {"name": "memory", "nominalQuota": "1Ti"}]}]}]  # fmt: skip
    found = expanded(spark(*labels), {**queue(), "spec": {"namespaceSelector": {}, "resourceGroups": resources}}, LOCAL, flavor())
    assert want == [(each.fact.free, each.fact.needed) for each in found.refused]
    admitted = [each.fact.pods for each in found.notes if isinstance(each.fact, AdmittedByQueue)]
    assert admitted == ([] if want else [2 if labels == ({}, {}, LABEL) else 1])


def test_an_annotation_for_a_queue_is_not_read():
    mine = job(3, labels={}, annotations=LABEL)
    facts = [each.fact for each in expanded(mine, queue(), LOCAL, flavor()).notes]
    assert [NotExpressed, KueueQuotas] == [*map(type, facts)]


@pytest.mark.parametrize(
    ("kind", "api_version", "spec"),
    [
        ("InferenceService", "serving.kserve.io/v1beta1", {"predictor": {"minReplicas": 3, "containers": pod_spec(4)["containers"]}}),
        ("LLMInferenceService", "serving.kserve.io/v1alpha1", {"model": {"uri": "hf://a/b", "name": "b"}, "replicas": 3, "template": pod_spec(4)}),
        ("LLMInferenceService", "serving.kserve.io/v1alpha1", {"model": {"uri": "hf://a/b", "name": "b"}, "replicas": 3, "template": pod_spec(2), "worker": pod_spec(2), "parallelism": {"data": 2, "dataLocal": 1}}),
    ],
)  # fmt: skip
def test_services_are_admitted_by_the_pod_or_group(kind, api_version, spec):
    mine = labelled({"apiVersion": api_version, "kind": kind, "metadata": {"name": "s"}, "spec": spec})
    mine["metadata"]["annotations"] = {"serving.kserve.io/deploymentMode": "RawDeployment"}
    more = [{"name": name, "nominalQuota": "1000Gi"} for name in ("cpu", "memory", "ephemeral-storage")]
    limits = queue()
    (group,) = limits["spec"]["resourceGroups"]
    group["coveredResources"] += [each["name"] for each in more]
    group["flavors"] = [{"name": "default", "resources": [*quota()["resources"], *more]}]
    found = expanded(mine, limits, LOCAL, flavor())
    (fact,) = (each.fact for each in found.refused)
    assert (0, 4, 8) == (fact.free, fact.needed, fact.own)
    assert [] == [each for each in found.notes if isinstance(each.fact, NotExpressed) and "queue-name" in each.fact.field]


def test_the_label_that_a_ray_service_passes_to_its_cluster_is_told_once():
    head = {"rayStartParams": {}, "template": {"spec": pod_spec(1)}}
    spec = {"rayClusterConfig": {"headGroupSpec": head}}
    mine = labelled({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "r"}, "spec": spec})
    assert [AdmittedByQueue(CQ, ("default",), 1, 1)] == [each.fact for each in expanded(mine, queue(), LOCAL, flavor()).notes]


def test_what_the_replaced_pods_of_a_deployment_have_reserved_does_not_count():
    mine = controlled("Deployment", {"replicas": 2}, LABEL, {})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d-1", "uid": "1", "controller": True}
    running = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "team", "labels": {"app": "a", "pod-template-hash": "1"}, "ownerReferences": [owner]},
            "spec": {"nodeName": "n", **pod_spec(4)},
        }
        for name in ("d-1-a", "d-1-b")
    ]
    held = [
        reserved(f"pod-{each}", 4, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": f"d-1-{each}", "controller": True}])
        for each in "ab"
    ]
    assert [] == refusals(mine, queue(), LOCAL, flavor(), *running, *held)
    assert 1 == len(refusals(mine, queue(), LOCAL, flavor(), *held))
    mine["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][GPU] = "3"
    (fact,) = refusals(mine, queue(), LOCAL, flavor(), *running, *held)
    assert (True, 2, 3, 6) == (fact.surge, fact.free, fact.needed, fact.own)
    assert [] == refusals(mine, queue(quota(amount=9)), LOCAL, flavor(), *running, *held)
    mine["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    assert [] == refusals(mine, queue(), LOCAL, flavor(), *running, *held)


def test_pods_of_a_group_of_kueue_are_admitted_together():
    group = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/pod-group-name": "g"}
    given = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team", "labels": group}, "spec": pod_spec(5)}
        for name in ("a", "b")
    ]
    (fact,) = refusals(given, queue(), LOCAL, flavor())
    assert (8, 10) == (fact.free, fact.needed)
    waiting = [{**each, "metadata": {**each["metadata"], "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"}}} for each in given]
    found = expanded(waiting, queue(quota(amount=100)), LOCAL, flavor())
    assert [KueueGroupIncomplete("g", 2, 3)] == [each.fact for each in found.refused]
    assert not any(isinstance(each.fact, AdmittedByQueue | KueueQuotas) for each in found.notes)
    alone = [{**each, "metadata": {**each["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "main"}}} for each in given]
    (fact,) = refusals(alone, queue(), LOCAL, flavor())
    assert (3, 5) == (fact.free, fact.needed)


def test_given_pods_get_what_their_flavor_has():
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "team", "labels": labels}, "spec": pod_spec()}
    (pod,) = pods(expanded(given, queue(), LOCAL, flavor(nodeLabels={"gpu": "h100"})))
    assert ({"gpu": "h100"}, "0") == (pod["spec"]["nodeSelector"], pod["metadata"]["labels"]["kueue.x-k8s.io/podset"])


def test_pods_get_the_labels_and_tolerations_of_the_flavor():
    taints = {"nodeTaints": [{"key": "spot", "effect": "NoSchedule"}], "tolerations": [{"key": "spot", "operator": "Exists"}]}
    mine = job(spec=pod_spec(4, nodeSelector={"disk": "ssd"}))
    found = expanded(mine, queue(), LOCAL, flavor(nodeLabels={"gpu": "h100"}, **taints))
    specs = [each["spec"] for each in pods(found)]
    assert [{"disk": "ssd", "gpu": "h100"}] * 2 == [each["nodeSelector"] for each in specs]
    assert [[{"key": "spot", "operator": "Exists"}]] * 2 == [each["tolerations"] for each in specs]


def test_pods_without_quota_are_judged_on_the_nodes_of_the_flavor_that_lacks_it():
    spot = {"nodeTaints": [{"key": "spot", "effect": "NoSchedule"}], "tolerations": [{"key": "spot", "operator": "Exists"}]}
    both = [flavor("first", nodeTaints=[{"key": "z", "effect": "NoSchedule"}]), flavor(nodeLabels={"gpu": "h100"}, **spot)]
    found = expanded(job(3), queue(quota("first"), quota()), LOCAL, *both)
    assert [QueueQuotaExceeded, FlavorUnsuitable] == [type(each.fact) for each in found.refused]
    assert [({"gpu": "h100"}, spot["tolerations"])] * 3 == [
        (each["spec"]["nodeSelector"], each["spec"]["tolerations"]) for each in pods(found)
    ]
    spec = pod_spec()
    spec["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    found = expanded(job(spec=spec), queue(), LOCAL, both[1])
    assert ([ResourceNotCovered(CQ, "cpu")], [{"gpu": "h100"}] * 2) == (
        [each.fact for each in found.refused],
        [each["spec"]["nodeSelector"] for each in pods(found)],
    )
    found = expanded(job(), queue(quota("first")), LOCAL, both[0])
    assert [False] * 2 == ["tolerations" in each["spec"] for each in pods(found)]


@pytest.mark.parametrize(
    ("spec", "pod", "mismatch"),
    [
        ({"nodeLabels": {"gpu": "a100"}}, {"nodeSelector": {"gpu": "h100"}}, Mismatch.LABELS),
        ({"nodeTaints": [{"key": "spot", "effect": "NoExecute"}]}, {}, Mismatch.TAINT),
        ({"topologyName": "racks"}, {}, Mismatch.TOPOLOGY_REQUIRED),
    ],
)
def test_a_flavor_that_does_not_suit_is_named_and_the_next_one_is_tried(spec, pod, mismatch):
    mine, unsuitable = job(spec=pod_spec(4, **pod)), flavor("first", **spec)
    suitable = flavor(nodeLabels={"gpu": "h100"})
    topology = kueue("Topology", "racks", {"levels": [{"nodeLabel": "rack"}]})
    assert [] == refusals(mine, queue(quota("first"), quota()), LOCAL, unsuitable, suitable, topology)
    short, reason = refusals(mine, queue(quota("first"), quota(amount=7)), LOCAL, unsuitable, suitable, topology)
    assert ("default", FlavorUnsuitable(CQ, "first", "", mismatch)) == (short.flavor, reason)


def test_an_affinity_for_other_labels_does_not_count():
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    assert [] == refusals(job(spec=pod_spec(4, affinity=affinity)), queue(), LOCAL, flavor(nodeLabels={"gpu": "h100"}))


def test_a_resource_without_a_quota_is_named():
    spec = pod_spec()
    spec["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    assert [ResourceNotCovered(CQ, "cpu")] == refusals(job(spec=spec), queue(), LOCAL, flavor())


def test_a_cohort_lends():
    other = queue(quota(amount=8, lendingLimit=4), name="other", cohortName="ml")
    lending = [queue(cohortName="ml"), other, LOCAL, flavor()]
    found = expanded(job(3), *lending)
    assert [AdmittedByQueue(CQ, ("default",), 3, 3, borrows=True)] == [each.fact for each in found.notes]
    (fact,) = refusals(job(4), *lending)
    assert (12, 4, "ml", 12) == (fact.free, fact.lent, fact.cohort, fact.largest)
    (fact,) = refusals(job(3), *lending, reserved("busy", 8, "other"))
    assert (8, 0, 0) == (fact.free, fact.lent, fact.used)
    old = {**queue(cohort="ml"), "apiVersion": "kueue.x-k8s.io/v1beta1"}
    assert [] == refusals(job(3), old, *lending[1:])


def test_preempted_workloads_are_named():
    preempting = queue(preemption={"withinClusterQueue": "LowerPriority"})
    classes = kueue("WorkloadPriorityClass", "high")
    classes = {**{key: each for key, each in classes.items() if key != "spec"}, "value": 10}
    mine = job(labels={"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": "high"})
    (fact,) = refusals(mine, preempting, LOCAL, flavor(), classes, reserved("low", 4))
    assert (Name("Workload", "team", "low"),) == fact.preempted
    (fact,) = refusals(mine, preempting, LOCAL, flavor(), classes, reserved("high", 4, priority=10))
    assert () == fact.preempted


def test_a_job_can_be_admitted_with_fewer_pods():
    mine = job(6, 2, annotations={"kueue.x-k8s.io/job-min-parallelism": "3"})
    found = expanded(mine, queue(), LOCAL, flavor())
    assert (4, [AdmittedByQueue(CQ, ("default",), 4, 6)]) == (len(pods(found)), [each.fact for each in found.notes])
    for odd in ("0", "7", "x", "9" * 5000, "٣"):
        assert 1 == len(refusals(job(6, 2, annotations={"kueue.x-k8s.io/job-min-parallelism": odd}), queue(), LOCAL, flavor()))


@pytest.mark.parametrize(
    ("objects", "fact"),
    [
        ([queue()], QueueMissing(Name("LocalQueue", "team", "main"))),
        ([queue(), {**LOCAL, "metadata": {"name": "mian", "namespace": "team"}}], QueueMissing(Name("LocalQueue", "team", "main"), "mian")),
        ([queue(name="cqq"), LOCAL], QueueMissing(CQ, "cqq")),
        ([queue(stopPolicy="Hold"), LOCAL], QueueInactive(CQ, stopped=True)),
        ([queue(), kueue("LocalQueue", "main", {"clusterQueue": "cq", "stopPolicy": "HoldAndDrain"})], None),
        ([queue(), LOCAL, flavor("h100")], QueueInactive(CQ, missing_objects=(Name("ResourceFlavor", "", "default"),))),
        ([queue(namespaceSelector=None), LOCAL], NamespaceNotSelected(CQ)),
        ([queue(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "else"}}), LOCAL], NamespaceNotSelected(CQ)),
    ],
)
def test_queues_that_admit_nothing(objects, fact):
    held = QueueInactive(Name("LocalQueue", "team", "main"), stopped=True)
    assert [fact or held] == refusals(job(), *objects)


def test_checks_of_a_queue():
    def check(name: str, controller: str, status: str = "True") -> Json:
        return kueue("AdmissionCheck", name, {"controllerName": controller}, status={"conditions": [{"type": "Active", "status": status}]})

    strict = queue(admissionChecksStrategy={"admissionChecks": [{"name": "prov"}, {"name": "other", "onFlavors": ["h100"]}]})
    both = [check("prov", "kueue.x-k8s.io/provisioning-request"), check("other", "example.com/x")]
    assert [AdmittedByQueue(CQ, ("default",), 2, 2, checks=("prov",))] == [
        each.fact for each in expanded(job(), strict, LOCAL, flavor(), *both).notes
    ]
    assert [QueueInactive(CQ, missing_objects=(Name("AdmissionCheck", "", "other"),))] == refusals(job(), strict, LOCAL, both[0])
    inactive = check("other", "example.com/x", "False")
    assert [QueueInactive(CQ, inactive_checks=(Name("AdmissionCheck", "", "other"),))] == refusals(job(), strict, LOCAL, both[0], inactive)
    elsewhere = expanded(job(), queue(admissionChecks=["mk"]), LOCAL, check("mk", "kueue.x-k8s.io/multikueue"))
    assert ([RunsElsewhere("mk")], []) == ([each.fact for each in elsewhere.skipped], pods(elsewhere))


def test_labels_of_a_namespace():
    selecting = queue(namespaceSelector={"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]})
    found = expanded(job(), selecting, LOCAL, flavor())
    assert NamespaceLabelsUnknown(CQ) in [each.fact for each in found.notes]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"team": "a"}}}
    assert ([], [NamespaceNotSelected(CQ)]) == (
        refusals(job(), selecting, LOCAL, flavor(), namespace),
        refusals(job(), selecting, LOCAL, flavor(), {**namespace, "metadata": {"name": "team"}}),
    )


def test_cohorts_in_a_cycle_admit_nothing():
    cohorts = [kueue("Cohort", "a", {"parentName": "b"}), kueue("Cohort", "b", {"parentName": "a"})]
    assert [QueueInactive(CQ, in_cycle=True)] == refusals(job(), queue(cohortName="a"), LOCAL, flavor(), *cohorts)


def test_without_queues_the_note_of_the_adapter_stays():
    facts = [each.fact for each in expanded(job()).notes]
    assert [True] == [isinstance(each, NotExpressed) for each in facts]


def test_without_a_job_the_queues_are_counted():
    mine = {**job(), "metadata": {"name": "train", "namespace": "team"}}
    assert [KueueQuotas(1)] == [each.fact for each in expanded(mine, queue(), LOCAL).notes]


def test_flavors_that_are_not_given_are_told():
    assert FlavorsAssumed(("default",)) in [each.fact for each in expanded(job(), queue(), LOCAL).notes]


@pytest.mark.parametrize("amount", ["x", "1e99999999999999999999", True, None, [], {}, "9" * 5000])
def test_odd_quotas_are_reported_or_read(amount):
    found = expanded(job(), queue({"name": "default", "resources": [{"name": GPU, "nominalQuota": amount}]}), LOCAL, flavor())
    assert found.unread or found.refused or found.notes


@pytest.mark.parametrize("spec", [None, [], "x", {"resourceGroups": 3}, {"resourceGroups": [None]}, {"namespaceSelector": 1}])
def test_odd_queues_are_reported(spec):
    found = expanded(job(), {**queue(), "spec": spec}, LOCAL, flavor())
    assert found.unread or found.refused


def waiting(name: str, priority: int = 0, day: int = 1, local: str = "main", job_name: str = "", **status: Any) -> Json:
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": job_name or name, "controller": True}]
    body = kueue("Workload", name, {"queueName": local, "priority": priority, "podSets": [{"name": "main", "count": 1}]}, **status)
    return {**body, "metadata": {**body["metadata"], "creationTimestamp": f"2026-01-{day:02}T00:00:00Z", "ownerReferences": owners}}


DONE = {"conditions": [{"type": "Finished", "status": "True"}]}
STOPPED = waiting("stopped")
STOPPED["spec"]["active"] = False


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([waiting("a")], ["a"], id="an older one"),
        pytest.param([waiting("b", day=2), waiting("a"), waiting("c", 5, day=3)], ["c", "a", "b"], id="in the order of the queue"),
        pytest.param([waiting("low", -1)], [], id="one of a lower priority"),
        pytest.param([waiting("own", day=2, job_name="train"), waiting("a"), waiting("b", day=3)], ["a"], id="one that came later than its own"),
        pytest.param([waiting("done", status=DONE), STOPPED, reserved("r", 4)], [], id="those that do not wait"),
        pytest.param([waiting("other", local="missing")], [], id="one of no queue"),
        pytest.param([waiting("other", local="second"), kueue("LocalQueue", "second", {"clusterQueue": "cq"})], ["other"], id="of another LocalQueue"),
        pytest.param([waiting("other", local="second"), kueue("LocalQueue", "second", {"clusterQueue": "x"}), queue(name="x")], [], id="of another queue"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_workloads_that_wait_before_a_job_are_named(others, want, strategy):
    found = expanded(job(1), queue(queueingStrategy=strategy), LOCAL, flavor(), *others)
    assert [] == found.refused
    names = tuple(Name("Workload", "team", each) for each in want)
    expected = [WorkloadsAhead(CQ, names, strategy == "StrictFIFO")] if want else []
    assert expected == [each.fact for each in found.notes if isinstance(each.fact, WorkloadsAhead)]


def test_a_pod_that_is_replaced_does_not_wait_before_the_new_one():
    mine = controlled("Deployment", {}, LABEL, {})
    running = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "old",
            "namespace": "team",
            "labels": {**LABEL, "app": "a"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{mine['metadata']['name']}-1", "controller": True}
            ],
        },
        "spec": {**pod_spec(4), "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
    }
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{mine['metadata']['name']}-1",
            "namespace": "team",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": mine["metadata"]["name"], "controller": True}],
        },
        "spec": {"replicas": 1},
    }
    own = waiting("pod-old", job_name="old")
    own["metadata"]["ownerReferences"][0] |= {"apiVersion": "v1", "kind": "Pod"}
    found = expanded(mine, queue(), LOCAL, flavor(), own, running, replica_set)
    assert [] == [each.fact for each in found.notes if isinstance(each.fact, WorkloadsAhead)]


def test_workloads_before_a_job_that_is_not_admitted_are_named_too():
    found = expanded(job(3), queue(), LOCAL, flavor(), waiting("a"))
    assert [SHORT] == [each.fact for each in found.refused]
    assert [WorkloadsAhead(CQ, (Name("Workload", "team", "a"),))] == [each.fact for each in found.notes]
