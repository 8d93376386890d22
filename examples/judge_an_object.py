"""Judge an object in a program of your own: every breach at once, with field path, error type and rule.

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

for judged in validate("Workload", WORKLOAD, None, Operation.CREATE, settings=Settings()):
    print(f"{judged.severity} {judged.error.path}: {judged.error} [{judged.error.origin}]")
