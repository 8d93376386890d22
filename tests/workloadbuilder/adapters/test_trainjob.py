"""Compiling TrainJobs: the JobSet that a runtime makes of them."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, pods, root, sound, sources

TRAINJOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, namespace: ml}
spec:
  runtimeRef: {name: torch}
  trainer: {numNodes: 3, resourcesPerNode: {requests: {nvidia.com/gpu: 4}}}
"""
RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {numProcPerNode: auto}}
  template:
    metadata: {annotations: {}}
    spec:
      scheduling: {schedulingPolicy: {gang: {}}}
      replicatedJobs:
      - name: dataset
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {template: {spec: {containers: [{name: dataset-initializer, image: init}]}}}
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            scheduling: {schedulingPolicy: {gang: {}}}
            template: {spec: {containers: [{name: node, image: torch}]}}
"""
MPI = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: true}}
  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 60}}
  template:
    spec:
      replicatedJobs:
      - {name: node, template: {spec: {template: {spec: {containers: [{name: node, image: mpi}]}}}}}
      - name: launcher
        dependsOn: [{name: node, status: Ready}]
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: mpi}]}}}
"""
BLOCK = "spec: {scheduling: {schedulingPolicy: {gang: {}}}, template: {spec: {containers: [{name: node, image: mpi}]}}}"


def test_the_runtimes_jobset_has_the_trainjobs_numbers():
    result = sound(TRAINJOB, further=RUNTIME, groups=True, pods=True)

    assert "trainjob-root" == root(result)["name"]
    assert {"dataset": "basic (default)", "node": "gang, minCount 3 (callback)", "trainjob-root": "gang, minGroupCount 2 (callback)"} == {
        name: blocks["schedulingPolicy"] for name, blocks in sources(result).items()
    }
    assert ["tune-dataset-0-0", "tune-node-0-0", "tune-node-0-1", "tune-node-0-2"] == [*pods(result)]
    assert {"requests": {"nvidia.com/gpu": 4}} == result.objects[-1]["spec"]["containers"][0]["resources"]
    assert {"apiGroup": "trainer.kubeflow.org", "kind": "TrainJob", "name": "tune"} == result.objects[0]["spec"]["controllerRef"]


def test_without_a_number_of_its_own_it_is_the_runtimes():
    result = sound(TRAINJOB.replace("numNodes: 3, ", ""), further=RUNTIME.replace("numNodes: 1", "numNodes: 2"), pods=True)

    assert ["tune-node-0-0", "tune-node-0-1"] == [name for name in pods(result) if "node" in name]


@pytest.mark.parametrize(
    ("expected", "as_node", "want"),
    [(3, "true", 2), (1, "true", 1), (3, "false", 3)],
    ids=["the launcher is one", "never none", "besides it"],
)
def test_with_mpi_the_nodes_are_a_job_of_their_own(expected, as_node, want):
    result = sound(
        TRAINJOB.replace("numNodes: 3", f"numNodes: {expected}"),
        further=MPI.replace("runLauncherAsNode: true", f"runLauncherAsNode: {as_node}"),
        pods=True,
    )

    assert want == len([name for name in pods(result) if name.startswith("tune-node-")])
    assert ["tune-launcher-0-0"] == [name for name in pods(result) if "launcher" in name]


@pytest.mark.parametrize(
    ("runtime", "minimum", "want"),
    [
        pytest.param(MPI, 3, ["tune-node-0-0", "tune-node-0-1", "tune-launcher-0-0"], id="coscheduling"),
        pytest.param(
            MPI.replace("coscheduling: {scheduleTimeoutSeconds: 60}", "volcano: {}").replace("runLauncherAsNode: true", ""),
            4,
            ["tune-node-0-0", "tune-node-0-1", "tune-node-0-2", "tune-launcher-0-0"],
            id="Volcano, launcher beside the nodes",
        ),
        pytest.param(
            MPI.replace("- {name: node,", "- {name: setup, replicas: 2, template: {spec: {template: {spec: {}}}}}\n      - {name: node,"),
            4,
            ["tune-setup-0-0", "tune-setup-1-0", "tune-node-0-0", "tune-node-0-1", "tune-launcher-0-0"],
            id="two Jobs of one kind, of which Trainer counts one",
        ),
    ],
)
def test_a_runtime_for_another_gang_scheduler_makes_one_gang_of_all_pods(runtime, minimum, want):
    result = sound(TRAINJOB, further=runtime, pods=True)

    assert {"trainjob-root": f"gang, minCount {minimum} (default)"} == {
        name: blocks["schedulingPolicy"] for name, blocks in sources(result).items()
    }
    assert dict.fromkeys(want, "tune-trainjob-root") == pods(result)


def test_a_tier_of_a_runtime_is_a_level():
    tier = MPI.replace("coscheduling: {scheduleTimeoutSeconds: 60}", "volcano: {networkTopology: {highestTierAllowed: 2}}")

    assert ["example.com/rack"] == [
        each["key"] for each in root(sound(TRAINJOB, further=tier, levels={"2": "example.com/rack"}))["schedulingConstraints"]["topology"]
    ]
    assert [True] == [each.required for each in sound(TRAINJOB, further=tier).losses]


@pytest.mark.parametrize(
    ("runtime", "want"),
    [
        pytest.param(MPI.replace("60}}", "60}, volcano: {}}"), "spec.podGroupPolicy", id="two schedulers"),
        pytest.param(
            RUNTIME.replace("  template:", "  podGroupPolicy: {volcano: {}}\n  template:", 1),
            "spec.template.spec.scheduling.schedulingPolicy",
            id="groups of the JobSet",
        ),
        pytest.param(
            MPI.replace("spec: {template: {spec: {containers: [{name: node, image: mpi}]}}}", BLOCK, 1),
            "spec.template.spec.replicatedJobs[0].template.spec.scheduling.schedulingPolicy",
            id="a group of a Job",
        ),
    ],
)
def test_two_writers_of_groups_are_refused(runtime, want):
    errors = error_lines(compiled(TRAINJOB, further=runtime).errors)

    assert any(line.startswith("spec.runtimeRef: ") and f"has at {want}: " in line for line in errors)


def test_a_constraint_of_one_job_is_lost_in_the_gang_of_all_pods():
    alone = "metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}"
    result = sound(TRAINJOB, further=MPI.replace("{name: node, template: {", "{name: node, template: {" + alone + ", "))

    assert any(each.required for each in result.losses)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(
            ("{name: torch}", "{name: torhc}"),
            "spec.runtimeRef.name: Not found: \"torhc\": there must be a ClusterTrainingRuntime of this name in the input; did you mean 'torch'?",
            id="misspelt",
        ),
        pytest.param(
            ("{name: torch}", "{name: torch, kind: TrainingRuntime}"),
            'spec.runtimeRef.name: Not found: "torch": there must be a TrainingRuntime of this name in the input',
            id="of another kind",
        ),
        pytest.param(
            ("{name: torch}", "{name: torch, kind: Runtime}"),
            'spec.runtimeRef.kind: Unsupported value: "Runtime": supported values: "ClusterTrainingRuntime", "TrainingRuntime"',
            id="of no kind",
        ),
        pytest.param(("{name: torch}", "{}"), "spec.runtimeRef.name: Required value: a TrainJob must name its runtime", id="none"),
        pytest.param(("numNodes: 3", "numNodes: x"), 'spec.trainer.numNodes: Invalid value: "x": must be an integer', id="a number"),
    ],
)  # fmt: skip
def test_refuses_at_the_users_field(changed, want):
    assert want in error_lines(compiled(TRAINJOB.replace(*changed), further=RUNTIME).errors)


def test_a_namespaced_runtime_is_searched_for_in_the_namespace():
    reference = TRAINJOB.replace("{name: torch}", "{name: torch, kind: TrainingRuntime}")
    runtime = RUNTIME.replace("ClusterTrainingRuntime", "TrainingRuntime").replace("{name: torch}", "{name: torch, namespace: ml}")

    assert ["tune"] == names(sound(reference, further=runtime), "Workload")
    assert [] != compiled(reference, further=runtime.replace("namespace: ml", "namespace: other")).errors


def test_what_is_wrong_with_the_runtime_is_reported_at_the_reference():
    runtime = RUNTIME.replace(
        "            scheduling: {schedulingPolicy: {gang: {}}}", "            scheduling: {schedulingPolicy: {gang: {minCount: 9}}}"
    )

    assert [
        (
            'spec.runtimeRef: Invalid value: "torch": ClusterTrainingRuntime torch has at '
            "spec.template.spec.replicatedJobs[1].template.spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 9: must not be greater than parallelism (3)"
        )
    ] == error_lines(compiled(TRAINJOB, further=runtime).errors)


def test_what_the_builder_refuses_is_reported_at_the_reference():
    (line,) = error_lines(compiled(TRAINJOB, further=RUNTIME.replace("name: dataset", "name: Data")).errors)

    assert line.startswith(
        'spec.runtimeRef: Invalid value: "torch": ClusterTrainingRuntime torch has at spec.template.spec.replicatedJobs[0].name: '
    )


def test_a_suspended_trainjob_is_reported_where_it_says_so():
    assert ["spec.suspend"] == [
        line.partition(":")[0] for line in error_lines(sound(TRAINJOB + "  suspend: true\n", further=RUNTIME).warnings)
    ]


POD_PATCH = """\
nodeSelector: {rack: a}
tolerations: [{key: gpu, operator: Exists}]
schedulingGates: [{name: quota}]
volumes: [{name: data, persistentVolumeClaim: {claimName: set}}]
containers: [{name: node, volumeMounts: [{name: data, mountPath: /data}]}]
"""
IN_RUNTIME = (
    "spec: {nodeSelector: {disk: ssd}, tolerations: [{key: old}], schedulingGates: [{name: own}], containers: [{name: node, image: torch}]}"
)


def indented(text, spaces):
    return "".join(f"{' ' * spaces}{line}\n" for line in text.splitlines())


PATCHES = {
    "of Trainer 2.2": f"""\
  runtimePatches:
  - manager: example.com/me
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  metadata: {{labels: {{team: x}}}}
                  spec:
{indented(POD_PATCH, 20)}""",
    "of Trainer 2.1": f"""\
  podTemplateOverrides:
  - targetJobs: [{{name: node}}]
    metadata: {{labels: {{team: x}}}}
    spec:
{indented(POD_PATCH, 6)}""",
    "of Trainer 2.0": f"""\
  podSpecOverrides:
  - targetJobs: [{{name: node}}]
{indented(POD_PATCH, 4)}""",
}


@pytest.mark.parametrize("patches", PATCHES.values(), ids=PATCHES)
def test_patches_of_the_runtime_are_merged_into_its_pods(patches):
    runtime = RUNTIME.replace("spec: {containers: [{name: node, image: torch}]}", IN_RUNTIME)
    result = sound(TRAINJOB + patches, further=runtime, pods=True)
    spec = result.objects[-1]["spec"]

    assert [] == lost_fields(result)
    assert {"rack": "a", "disk": "ssd"} == spec["nodeSelector"]
    assert [{"key": "gpu", "operator": "Exists"}] == spec["tolerations"]
    assert [{"name": "own"}, {"name": "quota"}] == spec["schedulingGates"]
    assert [{"name": "data", "persistentVolumeClaim": {"claimName": "set"}}] == spec["volumes"]
    (container,) = spec["containers"]
    assert ("torch", [{"name": "data", "mountPath": "/data"}]) == (container["image"], container["volumeMounts"])
    assert {"requests": {"nvidia.com/gpu": 4}} == container["resources"]
    assert "nodeSelector" not in result.objects[1]["spec"]
    if "metadata" in patches:
        assert "x" == result.objects[-1]["metadata"]["labels"]["team"]


def test_null_in_a_patch_removes_a_field():
    runtime = RUNTIME.replace("spec: {containers: [{name: node, image: torch}]}", IN_RUNTIME)
    patch = "  podSpecOverrides: [{targetJobs: [{name: node}], tolerations: null, nodeSelector: {rack: a}}]\n"
    spec = sound(TRAINJOB + patch, further=runtime, pods=True).objects[-1]["spec"]

    assert ("tolerations" in spec, spec["nodeSelector"]) == (False, {"rack": "a", "disk": "ssd"})


def test_later_patches_override_earlier_ones_and_affinity_is_merged():
    term = "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [RACK]}]}}"
    patch = f"  - {{targetJobs: [{{name: node}}], nodeSelector: {{rack: RACK}}, affinity: {{{term}}}}}\n"
    patches = "  podSpecOverrides:\n" + "".join(patch.replace("RACK", rack) for rack in "ab")
    spec = sound(TRAINJOB + patches, further=RUNTIME, pods=True).objects[-1]["spec"]

    assert {"rack": "b"} == spec["nodeSelector"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [{"matchExpressions": ["b"]}] == terms


def test_annotations_of_a_patch_are_those_of_the_jobset():
    patch = "{manager: a, trainingRuntimeSpec: {template: {metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}}}}"
    result = sound(TRAINJOB + f"  runtimePatches: [{patch}]\n", further=RUNTIME, pods=True)

    assert "rack" in str(result.objects[0]["spec"])


WRONG = {
    "an unknown job": (
        "{targetJobs: [{name: nodes}]}",
        "spec.podSpecOverrides[0].targetJobs[0].name: Not found: \"nodes\": must be the name of a replicated job of the runtime; did you mean 'node'?",
    ),
    "an unknown container": (
        "{targetJobs: [{name: node}], containers: [{name: trainer}]}",
        'spec.podSpecOverrides[0].containers[0].name: Not found: "trainer": must be the name of a container of the runtime\'s job node',
    ),
    "no list": ("{targetJobs: 3}", "spec.podSpecOverrides[0].targetJobs: Invalid value: 3: must be a list"),
}


@pytest.mark.parametrize(("patch", "want"), WRONG.values(), ids=WRONG)
def test_patches_that_trainer_refuses(patch, want):
    assert [want] == error_lines(compiled(TRAINJOB + f"  podSpecOverrides: [{patch}]\n", further=RUNTIME).errors)


def test_an_elastic_policy_is_reported():
    assert ["spec.runtimeRef"] == lost_fields(
        sound(TRAINJOB, further=RUNTIME.replace("numProcPerNode: auto", "elasticPolicy: {minNodes: 1}"))
    )


@pytest.mark.parametrize(
    "content", ["7", "[]", "{template: 3}", "{template: {spec: {replicatedJobs: [3, {template: 1}, {template: {spec: 2}}]}}}"]
)
def test_never_raises_whatever_the_runtime_is(content):
    runtime = RUNTIME.partition("spec:")[0] + f"spec: {content}\n"

    assert compiled(TRAINJOB, further=runtime).errors != ()
