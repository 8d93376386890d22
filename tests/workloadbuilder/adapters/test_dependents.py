"""Objects whose controllers create objects of other controllers: RayService, AppWrapper."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, sound

CONTAINERS = "containers: [{name: main, image: i}]"
RAY_SERVICE = f"""
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: llm, namespace: serve, labels: {{team: a}}, annotations: {{note: b}}}}
spec:
  serveConfigV2: "applications: []"
  rayClusterConfig:
    headGroupSpec: {{template: {{spec: {{{CONTAINERS}}}}}}}
    workerGroupSpecs:
    - {{groupName: gpu, replicas: 2, minReplicas: 1, maxReplicas: 4, numOfHosts: 2, template: {{spec: {{{CONTAINERS}}}}}}}
"""
JOB = f"""{{apiVersion: batch/v1, kind: Job, metadata: {{name: inner}},
  spec: {{parallelism: 2, completions: 2, template: {{metadata: {{labels: {{app: x}}}}, spec: {{restartPolicy: Never, {CONTAINERS}}}}}}}}}"""
LABEL = "workload.codeflare.dev/appwrapper"


def wrapper(*components: str) -> str:
    listed = "\n".join(f"  - {each}" for each in components)
    return f"""
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {{name: aw, namespace: ml}}
spec:
  components:
{listed}
"""


def made(found, kind="Pod"):
    return [each for each in found.objects if each["kind"] == kind]


def labels(found):
    return {each["metadata"]["name"]: each["metadata"].get("labels", {}) for each in made(found)}


def test_a_ray_service_has_the_pods_of_its_cluster():
    found = sound(RAY_SERVICE, pods=True, groups=True)
    assert ["llm-head", *(f"llm-gpu-worker-{number}" for number in range(4))] == names(found, "Pod")
    assert {"serve"} == {each["metadata"]["namespace"] for each in found.objects}
    assert {"ray.io/cluster": "llm", "ray.io/node-type": "worker", "ray.io/group": "gpu"} == labels(found)["llm-gpu-worker-3"]


def test_a_ray_service_is_a_gang_if_its_label_says_so():
    found = sound(RAY_SERVICE.replace("team: a", "ray.io/gang-scheduling-enabled: 'true'"), pods=True, groups=True)
    (group,) = made(found, "PodGroup")
    assert 5 == group["spec"]["schedulingPolicy"]["gang"]["minCount"]
    assert "RayCluster" == made(found, "Workload")[0]["spec"]["controllerRef"]["kind"]


def test_errors_of_a_dependent_are_at_its_place_in_the_object():
    text = RAY_SERVICE.replace("replicas: 2", "replicas: two")
    assert ['spec.rayClusterConfig.workerGroupSpecs[0].replicas: Invalid value: "two": must be an integer'] == error_lines(
        compiled(text, pods=True).errors
    )
    assert ["spec.rayClusterConfig: Required value: a RayService must have a RayCluster"] == error_lines(
        compiled("{apiVersion: ray.io/v1, kind: RayService, metadata: {name: x}, spec: {}}").errors
    )
    text = wrapper(f"template: {JOB.replace('parallelism: 2', 'parallelism: []')}")
    assert ['spec.components[0].template.spec.parallelism: Invalid value: "[…]": must be an integer'] == error_lines(compiled(text).errors)


def test_an_app_wrapper_has_the_pods_of_what_it_wraps_with_its_label():
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{CONTAINERS}}}}}"
    found = sound(wrapper(f"template: {JOB}", f"template: {pod}"), pods=True)
    assert {"inner-0", "inner-1", "p"} == set(labels(found))
    assert {"aw"} == {each[LABEL] for each in labels(found).values()}
    assert "x" == labels(found)["inner-0"]["app"]
    assert "AppWrapper" == made(found)[2]["metadata"]["ownerReferences"][0]["kind"]


def test_a_wrapped_object_without_pods_is_created_as_it_is():
    found = sound(wrapper(f"template: {JOB}", "template: {apiVersion: v1, kind: Service, metadata: {name: s}}"), pods=True)
    assert ["s"] == names(found, "Service")
    assert () == sound(wrapper(f"template: {JOB}", "template: {apiVersion: v1, kind: Service, metadata: {name: s}}")).objects


def test_wrapped_objects_have_their_own_groups():
    job_set = """{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: js%d}, spec: {startupPolicy: {startupPolicyOrder: InOrder},
        replicatedJobs: [{name: a, template: {spec: {template: {spec: {%s}}}}}, {name: b, template: {spec: {template: {spec: {%s}}}}}]}}"""
    text = wrapper(*(f"template: {job_set % (number, CONTAINERS, CONTAINERS)}" for number in (1, 2)))
    found = sound(text, pods=True, groups=True)
    assert ["js1", "js2"] == [each["spec"]["controllerRef"]["name"] for each in made(found, "Workload")]
    assert ["js1-a-0-0", "js1-b-0-0", "js2-a-0-0", "js2-b-0-0"] == names(found, "Pod")
    assert ("js1/a", "js1/b", "js2/a", "js2/b") == found.parts
    assert {"js1/b": ("js1/a",), "js2/b": ("js2/a",)} == {part: wait.parts for part, wait in found.waits.items()}


def test_pod_sets_of_a_kind_without_an_adapter():
    widget = f"{{apiVersion: e.com/v1, kind: W, metadata: {{name: w}}, spec: {{g: [{{t: {{spec: {{{CONTAINERS}}}}}}}]}}}}"
    found = sound(wrapper(f"{{podSets: [{{path: 'template.spec.g[0].t', replicas: 3}}], template: {widget}}}"), pods=True)
    assert {f"w-0-{number}": {LABEL: "aw"} for number in range(3)} == labels(found)
    found = sound(wrapper(f"template: {widget}"), pods=True)
    assert ("W (e.com) is not supported", ()) == (found.skipped, found.objects)
    bad = compiled(wrapper(f"{{podSets: [{{path: 'template.spec.h'}}], template: {widget}}}"))
    assert ["must be the path of a pod template in the wrapped object"] == [each.detail for each in bad.errors]


def test_what_kueue_determined_is_added_to_the_pods():
    info = "{nodeSelector: {zone: a}, labels: {l: m}, annotations: {n: o}, tolerations: [{key: k, operator: Exists}]}"
    (pod, _) = made(sound(wrapper(f"{{podSetInfos: [{info}], template: {JOB}}}"), pods=True))
    assert ({"zone": "a"}, [{"key": "k", "operator": "Exists"}]) == (pod["spec"]["nodeSelector"], pod["spec"]["tolerations"])
    assert ("m", {"n": "o"}) == (pod["metadata"]["labels"]["l"], pod["metadata"]["annotations"])


def test_a_wrapped_group_of_another_scheduler_is_not_judged():
    group = "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, spec: {minMember: 2}}"
    found = sound(wrapper(f"template: {JOB}", f"template: {group}"), pods=True)
    assert ("it wraps a PodGroup of scheduling.x-k8s.io, whose members are not known", ()) == (found.skipped, found.objects)


def test_the_queue_of_an_app_wrapper_is_lost():
    text = wrapper(f"template: {JOB}").replace("namespace: ml", "labels: {kueue.x-k8s.io/queue-name: q}")
    assert ["metadata.labels[kueue.x-k8s.io/queue-name]"] == lost_fields(sound(text))


@pytest.mark.parametrize(
    ("component", "reason"),
    {
        "template: {apiVersion: v1, kind: Pod}": "spec.components[0].template.metadata.name: Required value",
        "template: {metadata: {name: a}}": "spec.components[0].template.kind: Required value",
        "template: []": 'spec.components[0].template: Invalid value: "[…]": must be a mapping',
        "template: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}": "must be the namespace of the AppWrapper, ml",
        "{podSets: [{path: 'template..a'}], template: {apiVersion: v1, kind: Pod, metadata: {name: a}}}": "is no path of names",
    }.items(),
)
def test_what_the_webhook_refuses_is_an_error(component, reason):
    assert reason in "; ".join(error_lines(compiled(wrapper(component), pods=True).errors))


def test_more_pods_than_one_object_can_have_are_an_error():
    job = JOB.replace("parallelism: 2, completions: 2", "parallelism: 60000, completions: 60000")
    found = compiled(wrapper(f"template: {job}", f"template: {job.replace('inner', 'outer')}"), pods=True)
    assert ["must make at most 100000 pods"] == [each.detail for each in found.errors]
