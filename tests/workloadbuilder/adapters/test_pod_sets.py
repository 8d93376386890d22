"""Objects whose pods have no group: Deployment, ReplicaSet, StatefulSet, DaemonSet, CronJob."""

from __future__ import annotations

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, names, pods, sound

TEMPLATE = "{metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: i}]}}"
DEPLOYMENT = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  template: {TEMPLATE}
"""
STATEFUL = f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db, namespace: shop}}
spec:
  replicas: 2
  ordinals: {{start: 1}}
  template: {TEMPLATE}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], storageClassName: fast, resources: {{requests: {{storage: 1Gi}}}}}}
"""
DAEMON = f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent, namespace: ops}}
spec:
  template: {TEMPLATE}
"""
NODES = """
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {disk: ssd, size: "8"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, labels: {disk: hdd}}, spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: c}, spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: d}, spec: {taints: [{key: soft, effect: PreferNoSchedule}]}}
"""


def loose(text, **more):
    result = sound(text, pods=True, **more)
    return [each for each in result.objects if each["kind"] == "Pod"]


def owners(found):
    return {(each["kind"], each["name"], each["controller"]) for pod in found for each in pod["metadata"]["ownerReferences"]}


def test_pods_of_a_deployment_belong_to_its_replica_set():
    result = sound(DEPLOYMENT, pods=True)
    replica_set, *found = result.objects
    name = replica_set["metadata"]["name"]
    digest = name.removeprefix("web-")

    assert ("ReplicaSet", "shop") == (replica_set["kind"], replica_set["metadata"]["namespace"])
    assert {"matchLabels": {"app": "web", "pod-template-hash": digest}} == replica_set["spec"]["selector"]
    assert [f"{name}-{number}" for number in range(3)] == [each["metadata"]["name"] for each in found]
    assert {"app": "web", "pod-template-hash": digest} == found[0]["metadata"]["labels"]
    assert {("ReplicaSet", name, True)} == owners(found)
    assert all("schedulingGroup" not in each["spec"] for each in found)


@pytest.mark.parametrize(("kind", "version"), [("ReplicaSet", "apps/v1"), ("ReplicationController", "v1")])
def test_pods_of_a_replica_set_belong_to_it(kind, version):
    found = loose(DEPLOYMENT.replace("Deployment", kind).replace("apps/v1", version))

    assert ["web-0", "web-1", "web-2"] == [each["metadata"]["name"] for each in found]
    assert {(kind, "web", True)} == owners(found)


def test_a_replica_set_of_a_deployment_in_the_input_creates_nothing_itself():
    child = DEPLOYMENT.replace("Deployment", "ReplicaSet").replace(
        "namespace: shop", "namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]"
    )
    result = sound(f"{child}---{DEPLOYMENT}", pods=True)

    assert ((), "its pods are created with those of its controller, Deployment web") == (result.objects, result.skipped)


def test_without_pods_the_reason_is_reported():
    result = sound(DEPLOYMENT)
    assert ((), "its pods have no group and are scheduled one by one; --pods creates them") == (result.objects, result.skipped)


def test_no_replicas_are_no_pods():
    assert [] == loose(DEPLOYMENT.replace("replicas: 3", "replicas: 0"))


def test_pods_of_a_stateful_set_are_numbered_and_have_their_own_claims():
    result = sound(STATEFUL, pods=True)
    found = [each for each in result.objects if each["kind"] == "Pod"]

    assert ["data-db-1", "data-db-2"] == names(result, "PersistentVolumeClaim")
    assert ["db-1", "db-2"] == [each["metadata"]["name"] for each in found]
    assert [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}}] == found[1]["spec"]["volumes"]
    assert "db-2" == found[1]["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"]


def test_claims_that_exist_are_not_created_again():
    existing = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-1, namespace: shop}}"
    assert ["data-db-2"] == names(sound(STATEFUL, pods=True, further=existing), "PersistentVolumeClaim")


def test_too_many_pods_are_refused_before_their_claims_are_created(monkeypatch):
    made = []
    monkeypatch.setattr("workloadbuilder.adapters.shared.pod_claims.copied", made.append)
    result = compiled(STATEFUL.replace("replicas: 2", "replicas: 100001"), pods=True)

    assert ["must make at most 100000 pods: it would make 100001"] == [each.detail for each in result.errors]
    assert [] == made


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param("", "acd", id="taints that repel"),
        pytest.param("nodeSelector: {disk: ssd}", "a", id="node selector"),
        pytest.param("tolerations: [{operator: Exists}]", "abcd", id="every taint is tolerated"),
        pytest.param('tolerations: [{key: gpu, value: "no"}]', "acd", id="another value is tolerated"),
        pytest.param('tolerations: [{key: gpu, value: "yes", effect: NoExecute}]', "acd", id="another effect is tolerated"),
        pytest.param("nodeName: d", "d", id="node name"),
        *(
            pytest.param(
                f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}]}}}}}}", want
            )
            for term, want in (
                ("{matchExpressions: [{key: disk, operator: NotIn, values: [ssd]}]}", "cd"),
                ("{matchExpressions: [{key: disk, operator: Exists}]}", "a"),
                ("{matchExpressions: [{key: disk, operator: DoesNotExist}]}", "cd"),
                ("{matchExpressions: [{key: size, operator: Gt, values: ['7']}]}", "a"),
                ("{matchExpressions: [{key: size, operator: Lt, values: ['8']}]}", ""),
                ("{matchExpressions: [{key: size, operator: Lt, values: [x]}]}", ""),
                ("{matchExpressions: [{key: size, operator: Near, values: ['8']}]}", ""),
                ("{matchFields: [{key: metadata.name, operator: In, values: [c]}]}", "c"),
                ("{}", ""),
            )
        ),
    ],
)
def test_a_daemon_set_has_a_pod_for_each_node_that_it_selects(spec, want):
    text = DAEMON.replace("spec: {containers", f"spec: {{{spec}, containers" if spec else "spec: {containers")
    result = sound(text, pods=True, further=NODES)
    terms = [
        each["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        for each in result.objects
    ]

    assert list(want) == [term["matchFields"][0]["values"][0] for (term,) in terms]
    assert bool(want) != ("selects none of the nodes" in result.skipped)


@pytest.mark.parametrize("affinity", ["[]", "3", "{nodeAffinity: []}", "{nodeAffinity: near}"])
def test_an_affinity_of_a_wrong_type_is_left_to_the_reader_of_the_pod(affinity):
    text = DAEMON.replace("spec: {containers", f"spec: {{affinity: {affinity}, containers")
    assert [yaml.safe_load(affinity)] * 3 == [each["spec"]["affinity"] for each in loose(text, further=NODES)]


def test_the_next_job_of_a_cron_job():
    text = f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: backup, namespace: shop}}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {{spec: {{parallelism: 2, completions: 2, template: {TEMPLATE}}}}}
"""
    result = sound(text, groups=True, pods=True)

    assert [("backup-next-0", False), ("backup-next-1", False)] == [
        (each["metadata"]["name"], "schedulingGroup" in each["spec"]) for each in result.objects
    ]
    asking = text.replace("{parallelism: 2", "{scheduling: {schedulingPolicy: {gang: {}}}, parallelism: 2")
    members = {"backup-next-0": "backup-next-job-root", "backup-next-1": "backup-next-job-root"}
    assert members == pods(sound(asking, groups=True, pods=True, kubernetes=38))
    assert any("is used in its place" in each for each in error_lines(result.warnings))
    bad = compiled(text.replace("parallelism: 2", "parallelism: two"))
    assert ["spec.jobTemplate.spec.parallelism"] == [each.partition(": ")[0] for each in error_lines(bad.errors)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(DEPLOYMENT.replace("3", "-1"), "spec.replicas", id="negative"),
        pytest.param(DEPLOYMENT.replace("3", "x"), "spec.replicas", id="no number"),
        pytest.param(DEPLOYMENT.replace(TEMPLATE, "[]"), "spec.template", id="no mapping"),
        pytest.param(DEPLOYMENT.replace("replicas: 3", "replicas: 100001"), "", id="too many"),
        pytest.param(STATEFUL.replace("start: 1", "start: a"), "spec.ordinals.start", id="ordinal"),
        pytest.param(STATEFUL.replace("metadata: {name: data}", "metadata: 3"), "spec.volumeClaimTemplates[0].metadata", id="claims"),
        pytest.param(DAEMON.replace(TEMPLATE, "3"), "spec.template", id="daemon"),
    ],
)
def test_bad_input_is_an_error(text, want):
    result = compiled(text, pods=True)
    assert () == result.objects
    assert [want] == [str(each.path) for each in result.errors]
