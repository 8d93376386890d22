"""Argo's Workflow: the pods that can run at a time, as far as they are known before."""

from __future__ import annotations

import random

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, sound
from workloadbuilder.adapters.argo import peaks
from workloadbuilder.adapters.argo.peaks import Slot

WHALESAY = "{name: whalesay, container: {image: w, command: [cowsay], resources: {limits: {memory: 32Mi, cpu: 100m}}}}"
LARGE = "{name: large, container: {image: l, resources: {requests: {cpu: '4'}}}}"


def workflow(templates: str, more: str = "", entrypoint: str = "main") -> str:
    return f"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: wf, namespace: ml}}
spec: {{entrypoint: {entrypoint}, templates: [{templates}], {more}}}
"""


def pods(found):
    return [each for each in found.objects if each["kind"] == "Pod"]


def counts(text: str, **more) -> dict[str, int]:
    """Return the number of pods by the template of the first of each shape."""
    found: dict[str, int] = {}
    for name in names(sound(text, pods=True, **more), "Pod"):
        template = name.removeprefix("wf-").rpartition("-")[0]
        found[template] = found.get(template, 0) + 1
    return found


def test_a_container_is_a_pod_of_the_workflow():
    found = sound(workflow(WHALESAY, "nodeSelector: {a: b}, podPriorityClassName: low", "whalesay"), pods=True)
    (pod,) = pods(found)
    assert ("wf-whalesay-0", {"workflows.argoproj.io/workflow": "wf"}) == (pod["metadata"]["name"], pod["metadata"]["labels"])
    (container,) = pod["spec"]["containers"]
    assert ("main", {"limits": {"memory": "32Mi", "cpu": "100m"}}) == (container["name"], container["resources"])
    assert ({"a": "b"}, "low", "Never") == tuple(pod["spec"][key] for key in ("nodeSelector", "priorityClassName", "restartPolicy"))
    assert [] == names(found, "PodGroup")


@pytest.mark.parametrize(
    ("main", "want"),
    {
        "one after the other": ("steps: [[{name: a, template: whalesay}], [{name: b, template: whalesay}]]", {"whalesay": 1}),
        "at the same time": (
            "steps: [[{name: a, template: whalesay}, {name: b, template: whalesay}], [{name: c, template: whalesay}]]",
            {"whalesay": 2},
        ),
        "steps without a list": ("steps: [{name: a, template: whalesay}, {name: b, template: whalesay}]", {"whalesay": 1}),
        "of two shapes": ("steps: [[{name: a, template: whalesay}], [{name: b, template: large}]]", {"whalesay": 1, "large": 1}),
        "a diamond": (
            """dag: {tasks: [{name: A, template: whalesay}, {name: B, dependencies: [A], template: whalesay},
              {name: C, dependencies: [A], template: whalesay}, {name: D, dependencies: [B, C], template: whalesay}]}""",
            {"whalesay": 2},
        ),
        "conditions of tasks": (
            "dag: {tasks: [{name: A, template: whalesay}, {name: B, depends: 'A.Succeeded || A.Failed', template: whalesay}, {name: C, template: whalesay}]}",
            {"whalesay": 2},
        ),
        "two chains": (
            """dag: {tasks: [{name: A, template: large}, {name: B, dependencies: [A], template: whalesay},
              {name: C, template: large}, {name: D, dependencies: [C], template: large}, {name: E, dependencies: [D], template: whalesay}]}""",
            {"large": 2, "whalesay": 2},
        ),
        "items": ("steps: [[{name: a, template: whalesay, withItems: [x, y, {k: v}]}]]", {"whalesay": 3}),
        "a sequence": ("steps: [[{name: a, template: whalesay, withSequence: {start: '1', end: '4'}}]]", {"whalesay": 4}),
        "a number of them": ("steps: [[{name: a, template: whalesay, withSequence: {count: 5}}]]", {"whalesay": 5}),
        "no more than the parallelism": (
            "parallelism: 2, steps: [[{name: a, template: whalesay, withSequence: {count: '5'}}]]",
            {"whalesay": 2},
        ),
        "a list in a text": ("steps: [[{name: a, template: whalesay, withParam: '[1, 2]'}]]", {"whalesay": 2}),
        "a condition that is known": (
            "steps: [[{name: a, template: whalesay, when: 'x == x'}, {name: b, template: large, when: \"'a' != a\"}]]",
            {"whalesay": 1},
        ),
        "a template in the step": ("steps: [[{name: a, inline: {container: {image: i}}}]]", {"inline": 1}),
        "no pods": ("suspend: {}", {}),
    }.values(),
)
def test_pods_that_can_run_at_a_time(main, want):
    text = workflow(f"{{name: main, {main}}}, {WHALESAY}, {LARGE}")
    assert want == counts(text)
    assert (len(want) > 1) == bool(lost_fields(sound(text)))


def test_the_exit_handler_runs_after_the_others():
    assert {"whalesay": 1} == counts(workflow(WHALESAY, "onExit: whalesay", "whalesay"))


def test_values_of_parameters_and_items_are_filled_in():
    template = """{name: sized, inputs: {parameters: [{name: cpu}, {name: pool, value: small}]}, nodeSelector: {pool: '{{inputs.parameters.pool}}'},
      container: {image: i, args: ['{{item}}'], resources: {requests: {cpu: '{{ inputs.parameters.cpu }}', memory: '{{workflow.parameters.memory}}'}}}}"""
    step = "arguments: {parameters: [{name: cpu, value: '{{item.cpu}}'}]}, withItems: [{cpu: 2}, {cpu: '3'}]"
    main = f"{{name: main, steps: [[{{name: a, template: sized, {step}}}]]}}"
    found = pods(sound(workflow(f"{main}, {template}", "arguments: {parameters: [{name: memory, value: 1Gi}]}"), pods=True))
    assert [{"cpu": "2", "memory": "1Gi"}, {"cpu": "3", "memory": "1Gi"}] == [
        each["spec"]["containers"][0]["resources"]["requests"] for each in found
    ]
    assert [{"pool": "small"}] * 2 == [each["spec"]["nodeSelector"] for each in found]


def test_constraints_are_those_of_the_nearest_template():
    main = "{name: main, nodeSelector: {from: main}, tolerations: [{operator: Exists}], steps: [[{name: a, template: whalesay}, {name: b, template: own}]]}"
    own = (
        "{name: own, nodeSelector: {from: own}, metadata: {labels: {l: m}}, script: {image: i, source: x}, sidecars: [{name: s, image: i}]}"
    )
    first, second = pods(sound(workflow(f"{main}, {WHALESAY}, {own}", "nodeSelector: {from: workflow}"), pods=True))
    assert ({"from": "main"}, {"from": "own"}) == (first["spec"]["nodeSelector"], second["spec"]["nodeSelector"])
    assert [{"operator": "Exists"}] == second["spec"]["tolerations"]
    assert (["main", "s"], "m") == ([each["name"] for each in second["spec"]["containers"]], second["metadata"]["labels"]["l"])


def test_containers_have_no_fields_that_only_argo_has():
    containers = "containers: [{name: a, image: i}, {name: main, image: i, dependencies: [a], volumeMounts: [{name: own, mountPath: /o}]}]"
    main = f"{{name: main, containerSet: {{volumeMounts: [{{name: work, mountPath: /w}}], {containers}}}, sidecars: [{{name: s, image: i, mirrorVolumeMounts: true}}]}}"
    (pod,) = pods(sound(workflow(main, "volumes: [{name: work, emptyDir: {}}, {name: own, emptyDir: {}}]"), pods=True))
    a, own, sidecar = pod["spec"]["containers"]
    assert [["work"], ["own", "work"]] == [[mount["name"] for mount in each["volumeMounts"]] for each in (a, own)]
    assert [{"name", "image", "volumeMounts"}] * 2 + [{"name", "image"}] == [{*each} for each in (a, own, sidecar)]
    assert {"work", "own"} == {each["name"] for each in pod["spec"]["volumes"]}


def test_resource_claims_are_those_of_the_template_or_else_of_the_workflow():
    steps = "{name: main, steps: [[{name: a, template: plain}, {name: b, template: other}]]}"
    container = "container: {image: i, resources: {claims: [{name: gpu}]}}"
    templates = (
        f"{steps}, {{name: plain, {container}}}, {{name: other, {container}, resourceClaims: [{{name: gpu, resourceClaimName: own}}]}}"
    )
    found = pods(sound(workflow(templates, "resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]"), pods=True))
    assert [[{"name": "gpu", "resourceClaimTemplateName": "t"}], [{"name": "gpu", "resourceClaimName": "own"}]] == [
        each["spec"]["resourceClaims"] for each in found
    ]


def test_claims_of_a_workflow_are_created_with_it():
    template = "{name: main, container: {image: i, volumeMounts: [{name: work, mountPath: /w}]}}"
    claims = "volumeClaimTemplates: [{metadata: {name: work}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], volumes: [{name: x, emptyDir: {}}]"
    found = sound(workflow(template, claims), pods=True)
    assert ["wf-work"] == names(found, "PersistentVolumeClaim")
    assert [{"name": "work", "persistentVolumeClaim": {"claimName": "wf-work"}}] == pods(found)[0]["spec"]["volumes"]


def test_templates_and_defaults_of_workflow_templates():
    other = """
kind: WorkflowTemplate
apiVersion: argoproj.io/v1alpha1
metadata: {name: shared, namespace: ml}
spec: {entrypoint: work, templateDefaults: {nodeSelector: {a: b}}, templates: [{name: work, container: {image: i}}]}
"""
    text = "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: wf, namespace: ml}, spec: {workflowTemplateRef: {name: shared}}}"
    (pod,) = pods(sound(text, further=other, pods=True))
    assert {"a": "b"} == pod["spec"]["nodeSelector"]
    main = "{name: main, steps: [[{name: a, templateRef: {name: shared, template: work}}]]}"
    assert {"work": 1} == counts(workflow(main), further=other)
    assert "spec.workflowTemplateRef names a WorkflowTemplate that is not in the input: shared" == sound(text).skipped


def test_a_cron_workflow_has_the_pods_of_the_next_one():
    content = yaml.safe_load(workflow(WHALESAY, entrypoint="whalesay"))
    text = yaml.safe_dump({**content, "kind": "CronWorkflow", "spec": {"schedule": "* * * * *", "workflowSpec": content["spec"]}})
    assert ["wf-next-whalesay-0"] == names(sound(text, pods=True), "Pod")


DYNAMIC = {
    "a condition on a result": (
        "steps: [[{name: a, template: whalesay}], [{name: b, template: whalesay, when: '{{steps.a.outputs.result}} == heads'}]]",
        "depends on {{steps.a.outputs.result}}, which is known only when it runs",
    ),
    "an expression": ("steps: [[{name: a, template: whalesay, when: 'a == a && b == b'}]]", "is evaluated only when it runs"),
    "items of a result": (
        "steps: [[{name: a, template: whalesay, withParam: '{{steps.g.outputs.result}}'}]]",
        "are known only when it runs",
    ),
    "a number of a result": ("steps: [[{name: a, template: whalesay, withSequence: {count: '{{x}}'}}]]", "are known only when it runs"),
    "requests of a result": (
        "container: {image: i, resources: {requests: {cpu: '{{inputs.parameters.c}}'}}}",
        "depend on {{inputs.parameters.c}}",
    ),
    "a daemon": ("daemon: true, container: {image: i}", "is a daemon"),
    "hooks of a step": ("steps: [[{name: a, template: whalesay, hooks: {exit: {template: whalesay}}}]]", "has hooks"),
    "a request over HTTP": ("http: {url: x}", "is of the kind http"),
    "a created object": ("resource: {action: create, manifest: x}", "is written in a text"),
    "a patch": ("podSpecPatch: '{}', container: {image: i}", "podSpecPatch changes the pods"),
    "itself": ("steps: [[{name: a, template: main}]]", "is nested more than 40 levels deep, or calls itself"),
    "itself twice": (
        "steps: [[{name: a, template: main}, {name: b, template: main}]]",
        "is nested more than 40 levels deep, or calls itself",
    ),
    "a template that is missing": ("steps: [[{name: a, template: other}]]", "there is no template 'other'"),
    "tasks in a circle": ("dag: {tasks: [{name: a, template: whalesay, dependencies: [a]}]}", "wait for each other"),
    "too many items": ("steps: [[{name: a, template: whalesay, withSequence: {count: '99999999'}}]]", "has more than 100000 items"),
    "too many steps": ("steps: [[{name: a, template: whalesay, withSequence: {count: '30000'}}]]", "it has more than 20000 steps"),
    "no kind": ("inputs: {}", "has no kind that is known"),
    "a target": ("dag: {target: a, tasks: []}", "selects tasks"),
}


@pytest.mark.parametrize(("main", "reason"), DYNAMIC.values(), ids=DYNAMIC)
def test_a_workflow_whose_pods_are_known_only_when_it_runs_is_not_judged(main, reason):
    found = sound(workflow(f"{{name: main, {main}}}, {WHALESAY}"), pods=True)
    assert reason in found.skipped
    assert () == found.objects


@pytest.mark.parametrize("more", ["hooks: {exit: {template: whalesay}}", "podSpecPatch: '{}'"])
def test_what_changes_all_pods_is_not_judged(more):
    assert () == sound(workflow(WHALESAY, more, "whalesay"), pods=True).objects


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (workflow("5", entrypoint="x"), "spec.templates[0]: Invalid value: 5: must be a mapping"),
        (workflow("{name: main, steps: [[1]]}"), "spec.templates[0].steps[0][0]: Invalid value: 1: must be a mapping"),
        (workflow("{name: main, container: x}"), 'spec.templates[0].container: Invalid value: "x": must be a mapping'),
        (workflow("{name: main, parallelism: x, steps: []}"), 'spec.templates[0].parallelism: Invalid value: "x": must be an integer'),
    ],
)
def test_a_wrong_type_is_an_error(text, reason):
    assert reason in error_lines(compiled(text, pods=True).errors)


def heaviest(weights: list[int], after: list[frozenset[int]]) -> int:
    """Return the weight of the heaviest set of tasks that do not come before each other, by trying all sets."""
    best = 0
    for chosen in range(1 << len(weights)):
        tasks = [each for each in range(len(weights)) if chosen >> each & 1]
        if not any(one in after[other] for one in tasks for other in tasks):
            best = max(best, sum(weights[each] for each in tasks))
    return best


@pytest.mark.parametrize("seed", range(60))
def test_the_peak_of_tasks_is_that_of_all_sets(seed):
    draw = random.Random(seed)
    size = draw.randrange(1, 9)
    weights = [draw.randrange(1, 5) for _ in range(size)]
    after: list[frozenset[int]] = []
    for task in range(size):
        direct = [each for each in range(task) if draw.random() < draw.choice((0.2, 0.5))]
        after.append(frozenset(direct).union(*(after[each] for each in direct)))
    peak = peaks.of_tasks([{"s": Slot(weight, "t", {})} for weight in weights], after)
    assert heaviest(weights, after) == peak["s"].count
