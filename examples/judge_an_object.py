"""Validate an object in your own program: all errors at once, with field path, error type and rule.

Run it: ``python examples/judge_an_object.py``
"""

from validators.pipeline import validate
from validators.rules.base import Operation, Settings

WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "compositePodGroupTemplates": [
            {
                "name": "replica",
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "disruptionMode": {"all": {}},
                "podGroupTemplates": [
                    {"name": "driver", "schedulingPolicy": {"basic": {}}},
                    {"name": "replica", "schedulingPolicy": {"gang": {"minCount": 0}}, "disruptionMode": {"all": {}}},
                ],
            }
        ]
    },
}

for violation in validate("Workload", WORKLOAD, None, Operation.CREATE, settings=Settings()):
    print(f"{violation.severity} {violation.error.path}: {violation.error} [{violation.error.origin}]")
