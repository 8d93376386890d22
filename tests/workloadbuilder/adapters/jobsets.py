"""JobSets with scheduling at each level."""

from __future__ import annotations

JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: research}
spec:
  scheduling: {}
  replicatedJobs:
  - name: driver
    template: {spec: {template: {spec: {containers: [{name: main, image: driver}]}}}}
  - name: workers
    replicas: 3
    template: {spec: {parallelism: 4, scheduling: {}, template: {spec: {containers: [{name: main, image: worker}]}}}}
"""
NESTED = "spec.replicatedJobs[1].template.spec.scheduling"


def jobset(at_root: str = "", nested: str = "", targeted: str = "", target: str = "workers") -> str:
    """Return the JobSet with scheduling at the root, in the workers' Job template, and at the root for *target*."""
    inside = ", ".join(
        [at_root] * bool(at_root) + [f"replicatedJobPolicies: [{{targetReplicatedJob: {target}, {targeted}}}]"] * bool(targeted)
    )
    text = JOBSET.replace("  scheduling: {}\n", f"  scheduling: {{{inside}}}\n" if inside else "")
    return text.replace("scheduling: {}, template", f"scheduling: {{{nested}}}, template" if nested else "template")


IN_ORDER = "  startupPolicy: {startupPolicyOrder: InOrder}\n"
DEPENDS = "    replicas: 3\n    dependsOn: [{name: driver, status: Ready}]\n"


EXCLUSIVE = jobset().replace("name: train,", "name: train, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack},")
