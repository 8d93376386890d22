"""The webhooks and operators of other projects accept the values of their kinds, and the API server the pods in them."""

from __future__ import annotations

from validators.model.own_gangs import KUBEFLOW_REPLICAS
from validators.rules.base import About, Example, Profile, Rule, Severity, no_check

RULE = Rule(
    id="project-values",
    kinds=frozenset(
        {
            "JobSet",
            "LeaderWorkerSet",
            "TrainJob",
            "TrainingRuntime",
            "ClusterTrainingRuntime",
            "RayCluster",
            "RayJob",
            "VolcanoJob",
            "PodCliqueSet",
        }
    )
    | KUBEFLOW_REPLICAS.keys(),
    about=About.SHAPE,
    at_admission=Severity.OFF,
    profile=Profile.KEP,
    why="The webhook of the project refuses the object, or its operator cannot create the pods.  `muster fit` refuses it with the same words.",
    source="JobSet 0.12, LeaderWorkerSet 0.10, Trainer 2.3, Training Operator 1.9, MPI Operator 0.8, KubeRay 1.7, Volcano 1.15, Grove 0.1; "
    "pod templates: Kubernetes 1.37.1",
    check=no_check,  # ``validators.whole_documents`` creates the errors.
    good=(
        Example("""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: main, image: registry.example/train:1}]
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  successPolicy: {operator: All, targetReplicatedJobs: [leader]}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        template:
          spec:
            restartPolicy: Always
            containers: [{name: main, image: registry.example/train:1}]
""",
            at=("spec.replicatedJobs[0].template.spec.template.spec.restartPolicy", "spec.successPolicy.targetReplicatedJobs"),
        ),
        Example(
            """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: tune}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: registry.example/ray:2}]}}
  workerGroupSpecs:
  - groupName: workers
    replicas: 1
    minReplicas: 1
    maxReplicas: 4
    rayStartParams: {}
    template: {spec: {containers: [{name: worker}]}}
""",
            at=("spec.workerGroupSpecs[0].template.spec.containers[0].image",),
        ),
    ),
)
