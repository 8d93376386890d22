"""SparkApplication: driver and executors with the requests that Spark computes."""

from __future__ import annotations

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, sound

PI = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: spark-pi, namespace: spark, labels: {kueue.x-k8s.io/queue-name: q, other: o}}
spec:
  type: Scala
  mode: cluster
  image: docker.io/apache/spark:4.0.4
  driver: {labels: {version: 4.0.0}, cores: 1, memory: 512m, serviceAccount: spark}
  executor: {labels: {version: 4.0.0}, instances: 2, cores: 1, memory: 512m}
"""


def application(spec="", driver="", executor="", conf=""):
    """Return the application with further fields, which are flow mappings without braces."""
    content = yaml.safe_load(PI)
    content["spec"].update(yaml.safe_load(f"{{{spec}}}"))
    content["spec"]["driver"].update(yaml.safe_load(f"{{{driver}}}"))
    content["spec"]["executor"].update(yaml.safe_load(f"{{{executor}}}"))
    content["spec"]["sparkConf"] = yaml.safe_load(f"{{{conf}}}")
    return yaml.safe_dump(content)


def pods(found):
    return [each for each in found.objects if each["kind"] == "Pod"]


def requests(found):
    """Return cpu and memory that the driver and the first executor request."""
    amounts = [each["spec"]["containers"][0]["resources"]["requests"] for each in pods(found)[:2]]
    return [(each["cpu"], each["memory"]) for each in amounts]


def test_the_driver_and_its_executors():
    found = sound(PI, pods=True)
    assert ["spark-pi-driver", "spark-pi-exec-1", "spark-pi-exec-2"] == names(found, "Pod")
    assert [("1", "896Mi")] * 2 == requests(found)
    driver, executor, _ = pods(found)
    own = {"sparkoperator.k8s.io/app-name": "spark-pi", "sparkoperator.k8s.io/launched-by-spark-operator": "true", "version": "4.0.0"}
    assert {**own, "spark-role": "driver", "kueue.x-k8s.io/queue-name": "q"} == driver["metadata"]["labels"]
    assert "1" == executor["metadata"]["labels"]["spark-exec-id"]
    assert ("spark-kubernetes-executor", "docker.io/apache/spark:4.0.4") == (
        executor["spec"]["containers"][0]["name"],
        executor["spec"]["containers"][0]["image"],
    )
    assert [] == names(sound(PI, groups=True), "PodGroup")


@pytest.mark.parametrize(
    ("changes", "want"),
    {
        "the share of large memory": ({"driver": "memory: 8g", "executor": "memory: 10240m"}, [("1", "9011Mi"), ("1", "11264Mi")]),
        "of Python": ({"spec": "type: Python", "driver": "memory: 2g", "executor": "memory: 1g"}, [("1", "2867Mi"), ("1", "1433Mi")]),
        "of the application": ({"spec": "memoryOverheadFactor: '0.5'", "driver": "memory: 2g"}, [("1", "3072Mi"), ("1", "896Mi")]),
        "of the driver": ({"conf": "spark.driver.memoryOverheadFactor: '1.0'", "driver": "memory: 2g"}, [("1", "4096Mi"), ("1", "896Mi")]),
        "an overhead": ({"driver": "memoryOverhead: 100m", "executor": "memoryOverhead: 1G"}, [("1", "612Mi"), ("1", "1536Mi")]),
        "a lower least overhead": ({"conf": "spark.driver.minMemoryOverhead: 128m"}, [("1", "640Mi"), ("1", "896Mi")]),
        "memory of Python": ({"spec": "type: Python", "conf": "spark.executor.pyspark.memory: '1024'"}, [("1", "896Mi"), ("1", "1920Mi")]),
        "memory of Python in Scala": ({"conf": "spark.executor.pyspark.memory: 1g"}, [("1", "896Mi"), ("1", "896Mi")]),
        "off-heap memory": (
            {"conf": "spark.memory.offHeap.enabled: 'true', spark.memory.offHeap.size: '1073741824'"},
            [("1", "896Mi"), ("1", "1920Mi")],
        ),
        "cores as quantities": (
            {"driver": "coreRequest: 200m", "executor": "cores: 4, coreRequest: 3500m"},
            [("200m", "896Mi"), ("3500m", "896Mi")],
        ),
        "fields before the configuration": (
            {"conf": "spark.driver.cores: '7', spark.executor.memory: 9g, spark.kubernetes.executor.request.cores: '3'"},
            [("1", "896Mi"), ("3", "896Mi")],
        ),
        "no fields": (
            {
                "driver": "cores: null, memory: null",
                "executor": "cores: null, memory: null",
                "conf": "spark.executor.cores: '2', spark.driver.memory: 2g",
            },
            [("1", "2432Mi"), ("2", "1408Mi")],
        ),
    }.values(),
)
def test_requests_are_those_that_spark_computes(changes, want):
    assert want == requests(sound(application(**changes), pods=True))


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"executor": "instances: null"}, 1),
        ({"executor": "instances: null", "conf": "spark.executor.instances: '3'"}, 3),
        ({"executor": "instances: null", "spec": "dynamicAllocation: {enabled: true, minExecutors: 3, maxExecutors: 9}"}, 3),
        ({"spec": "dynamicAllocation: {enabled: true, initialExecutors: 4, minExecutors: 1}"}, 4),
        ({"executor": "instances: 5", "spec": "dynamicAllocation: {enabled: true, initialExecutors: 4}"}, 5),
        ({"executor": "instances: 1", "conf": "spark.dynamicAllocation.enabled: 'true', spark.dynamicAllocation.minExecutors: '2'"}, 2),
        ({"executor": "instances: 5", "spec": "dynamicAllocation: {enabled: false, initialExecutors: 9}"}, 5),
    ],
)
def test_the_number_of_executors(changes, count):
    found = sound(application(**changes), pods=True)
    assert 1 + count == len(pods(found))
    assert any("dynamicAllocation" in each for each in lost_fields(found)) == (
        "nabled: 'true'" in str(changes) or "enabled: true" in str(changes)
    )


def test_what_the_webhook_adds_to_the_pods():
    found = sound(
        application(
            spec="nodeSelector: {a: b}, volumes: [{name: data, persistentVolumeClaim: {claimName: c}}, {name: other, emptyDir: {}}]",
            executor="""gpu: {name: nvidia.com/gpu, quantity: 2}, coreLimit: 1200m, memoryLimit: 2g, nodeSelector: {c: d}, tolerations: [{operator: Exists}],
              sidecars: [{name: s, image: i}], volumeMounts: [{name: data, mountPath: /d}], priorityClassName: high, template: {metadata: {labels: {t: u}},
              spec: {nodeSelector: {e: f}, containers: [{name: spark-kubernetes-executor, resources: {limits: {x/y: '1'}}}]}}""",
        ),
        pods=True,
    )
    pod = pods(found)[1]
    own, sidecar = pod["spec"]["containers"]
    assert {"x/y": "1", "cpu": "1200m", "memory": "2Gi", "nvidia.com/gpu": "2"} == own["resources"]["limits"]
    assert ("s", {"a": "b", "c": "d", "e": "f"}, [{"operator": "Exists"}]) == (
        sidecar["name"],
        pod["spec"]["nodeSelector"],
        pod["spec"]["tolerations"],
    )
    assert ["data"] == [each["name"] for each in pod["spec"]["volumes"]]
    assert ("high", "u") == (pod["spec"]["priorityClassName"], pod["metadata"]["labels"]["t"])
    assert "volumes" not in pods(found)[0]["spec"]


@pytest.mark.parametrize("scheduler", ["volcano", "kube-scheduler"])
def test_a_group_of_a_batch_scheduler_needs_one_pod(scheduler):
    options = "batchSchedulerOptions: {queue: q, priorityClassName: high, resources: {cpu: 1}}"
    found = sound(application(spec=f"batchScheduler: {scheduler}, {options}"), pods=True, groups=True)
    (group,) = [each for each in found.objects if each["kind"] == "PodGroup"]
    assert (1, "high") == (group["spec"]["schedulingPolicy"]["gang"]["minCount"], group["spec"]["priorityClassName"])
    assert {scheduler} == {each["spec"]["schedulerName"] for each in pods(found)}
    options = [each for each in lost_fields(found) if each.startswith("spec.")]
    assert ["spec.batchSchedulerOptions.queue", "spec.batchSchedulerOptions.resources"] == options


def test_task_groups_of_yunikorn_are_on_the_pods():
    found = pods(sound(application(spec="batchScheduler: yunikorn"), pods=True, groups=True))
    assert all("yunikorn.apache.org/task-groups" in each["metadata"]["annotations"] for each in found)
    assert all("schedulingGroup" not in each["spec"] for each in found)


def test_in_client_mode_there_is_no_pod_of_the_driver():
    assert ["spark-pi-exec-1", "spark-pi-exec-2"] == names(sound(application(spec="mode: client"), pods=True), "Pod")


def test_a_scheduled_application_has_the_pods_of_the_next_one():
    content = yaml.safe_load(PI)
    text = yaml.safe_dump({**content, "kind": "ScheduledSparkApplication", "spec": {"schedule": "@daily", "template": content["spec"]}})
    assert ["spark-pi-next-driver", "spark-pi-next-exec-1", "spark-pi-next-exec-2"] == names(sound(text, pods=True), "Pod")
    bad = compiled(text.replace("instances: 2", "instances: many"))
    assert ['spec.template.executor.instances: Invalid value: "many": must be an integer'] == error_lines(bad.errors)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"driver": "memory: 512Mi"}, 'spec.driver.memory: Invalid value: "512Mi": must be an amount of memory as Spark writes it'),
        ({"conf": "spark.executor.memoryOverhead: lots"}, "spec.sparkConf[spark.executor.memoryOverhead]: Invalid value"),
        ({"spec": "memoryOverheadFactor: half"}, 'spec.memoryOverheadFactor: Invalid value: "half": must be a number'),
        ({"conf": "spark.dynamicAllocation.enabled: 'true', spark.dynamicAllocation.minExecutors: x"}, "must be a number"),
        ({"spec": "mode: in-cluster-client"}, "spec.mode: Unsupported value"),
        ({"spec": "batchScheduler: other"}, "spec.batchScheduler: Unsupported value"),
        ({"driver": "memory: 1"}, "spec.driver.memory: Invalid value: 1: must be a string"),
    ],
)
def test_what_spark_cannot_read_is_an_error(changes, reason):
    assert reason in "; ".join(error_lines(compiled(application(**changes)).errors))


def test_kueue_admits_the_application_with_a_feature_gate():
    assert ["kind", "metadata.labels[kueue.x-k8s.io/queue-name]"] == sorted(lost_fields(sound(PI, pods=True)))
    assert [] == lost_fields(sound(PI.replace("kueue.x-k8s.io/queue-name", "x"), pods=True))
    changed = sound(application(spec="mode: client, dynamicAllocation: {enabled: true}"), pods=True)
    assert {"spec.mode", "spec.dynamicAllocation.enabled"} <= {*lost_fields(changed)}


@pytest.mark.parametrize("where", ["annotations", "template"])
def test_a_domain_that_kueue_requires_for_the_executors(where):
    annotations = "annotations: {kueue.x-k8s.io/podset-required-topology: rack}"
    executor = annotations if where == "annotations" else f"template: {{metadata: {{{annotations}}}}}"
    found = sound(application(executor=executor), groups=True)
    groups = {each["metadata"]["name"]: each["spec"].get("schedulingConstraints") for each in found.objects if each["kind"] == "PodGroup"}
    assert {"spark-pi-driver": None, "spark-pi-executor": {"topology": [{"key": "rack"}]}} == groups


def test_what_no_pod_has_is_dropped_from_a_template():
    template = "template: {spec: {securityContext: {runAsUser: 1, allowPrivilegeEscalation: false}, nodeSelectors: {a: b}}}"
    found = sound(application(driver=template), pods=True)
    driver = pods(found)[0]["spec"]
    assert ({"runAsUser": 1}, False) == (driver["securityContext"], "nodeSelectors" in driver)
    at = "spec.driver.template.spec"
    assert [f"{at}.nodeSelectors", f"{at}.securityContext.allowPrivilegeEscalation"] == [each for each in lost_fields(found) if at in each]
