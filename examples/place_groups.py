"""Place a gang in your own program: the node of each pod or, if the gang does not fit, the changes that would help.

Needs the extra ``simulate``.  Run it: ``python examples/place_groups.py``
"""

import scheduler_core

CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"}
RACKS = {"a1": "rack-a", "a2": "rack-a", "b1": "rack-b"}

nodes = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"example.com/rack": rack}},
        "status": {"allocatable": CAPACITY},
    }
    for name, rack in RACKS.items()
]
group = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
    },
}


def pods(gpus: str) -> list[dict]:
    """Return the three pods of the group, each with a number of GPUs."""
    container = {"name": "main", "image": "train", "resources": {"requests": {"nvidia.com/gpu": gpus}}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"train-{number}", "namespace": "default"},
            "spec": {"schedulingGroup": {"podGroupName": "train"}, "containers": [container]},
        }
        for number in range(3)
    ]


for gpus in ("2", "4"):
    (decision,) = scheduler_core.simulate([*nodes, group, *pods(gpus)]).decisions
    print(f"{gpus} GPUs per pod: {decision.status}")
    for pod_name, node in decision.assignments.items():
        print(f"  {pod_name} on {node}")
    for remedy in decision.remedies:
        print(f"  would help: {remedy.change}")
