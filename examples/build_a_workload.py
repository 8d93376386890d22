"""Build the Workload and the groups of a controller's object: a driver, and workers that the user wants as a gang.

Run it: ``python examples/build_a_workload.py``
"""

import dataclasses
import json

from kubeapi.field_path import FieldPath
from workloadbuilder import (
    Builder,
    BuildOptions,
    DisruptionMode,
    Owner,
    PolicyKind,
    SchedulingConfig,
    SchedulingPolicy,
    WorkloadItem,
    read_intent,
)

RUN = {
    "apiVersion": "example.com/v1",
    "kind": "TrainingRun",
    "metadata": {"name": "llm", "namespace": "research", "uid": "6a0f3d7e-2b0f-4f57-9d58-0d1f6d8f6a11"},
    "spec": {
        "workers": 8,
        "scheduling": {
            "schedulingPolicy": {"gang": {}},
            "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]},
        },
    },
}
SPEC = RUN["spec"]


def all_workers(_item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
    """Set the minimum of a gang to all workers if the user has set none."""
    if config.policy == SchedulingPolicy(PolicyKind.GANG):
        return dataclasses.replace(config, policy=SchedulingPolicy(PolicyKind.GANG, SPEC["workers"]))
    return config


basic = SchedulingConfig(SchedulingPolicy(PolicyKind.BASIC))
reading = read_intent(SPEC["scheduling"], path=FieldPath("spec", "scheduling"), composite=False)
tree = WorkloadItem(
    "run",
    default=basic,
    children=(
        WorkloadItem("driver", default=basic),
        WorkloadItem("workers", default=basic, intent=reading.intent, callbacks=(all_workers,)),
    ),
)
options = BuildOptions(
    name="",
    namespace="research",
    owner=Owner("example.com/v1", "TrainingRun", "llm", uid=RUN["metadata"]["uid"]),
    allowed_policies=frozenset(PolicyKind),
    allowed_disruption_modes=frozenset({DisruptionMode.SINGLE}),
)
builder = Builder(tree, options)

for error in (*reading.errors, *builder.validate()):
    print(f"{error.path}: {error}")
print(json.dumps([builder.build_workload(), *builder.groups()], indent=2))
