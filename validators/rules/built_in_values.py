"""The API server accepts the values of a Pod, and of a built-in kind that creates pods."""

from __future__ import annotations

from validators.rules.base import About, Example, Rule, Severity, no_check

RULE = Rule(
    id="built-in-values",
    kinds=frozenset({"Pod", "Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"}),
    about=About.SHAPE,
    at_admission=Severity.OFF,
    why="The API server refuses the object, or the controller cannot create its pods.  `muster fit` refuses it with the same words.",
    source="Kubernetes 1.37.1, pkg/apis/core/validation, apps/validation, batch/validation",
    check=no_check,  # ``validators.whole_documents`` creates the errors.
    good=(
        Example("""\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: registry.example/train:1}]
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Always
      containers: [{name: Main, image: registry.example/train:1}]
""",
            at=("spec.template.spec.containers[0].name", "spec.template.spec.restartPolicy"),
        ),
        Example(
            """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: main, image: registry.example/web:1}]}
""",
            at=("spec.template.metadata.labels",),
        ),
        Example(
            """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: main
    image: registry.example/web:1
    resources: {limits: {cpu: 1}, requests: {cpu: 2}}
    volumeMounts: [{name: data, mountPath: /data}]
""",
            at=("spec.containers[0].resources.requests", "spec.containers[0].volumeMounts[0].name"),
        ),
    ),
)
