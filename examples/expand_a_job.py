"""Ask in your own program what arises from a Job in a namespace with a LimitRange and a quota, and where its pods would run.

Needs the extra ``simulate``, for the placement only.  Run it: ``python examples/expand_a_job.py``
"""

import expansion
import scheduler_core

TEAM = {"namespace": "team-a"}
CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110"}

node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": CAPACITY}}
limits = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "defaults", **TEAM},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]},
}
quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "cpu", **TEAM}, "spec": {"hard": {"requests.cpu": "6"}}}


def job(pods: int) -> dict:
    """Return a Job with a number of pods, which request nothing themselves."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", **TEAM},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }


for pods in (2, 4):
    expanded = expansion.expand([job(pods)], [node, limits, quota])
    created = sorted(f"{each.kind} {each.name}" for each in expanded.origins)
    print(f"{pods} pods: {', '.join(created)}")
    for problem in expanded.refused:
        print(f"  refused: {problem.fact}")
    if not expanded.refused:
        for decision in scheduler_core.simulate([*expanded.manifests(), node]).decisions:
            for pod_name, node_name in decision.assignments.items():
                print(f"  {pod_name} on {node_name}")
