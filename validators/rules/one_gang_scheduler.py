"""A training runtime names one gang scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model.controllers import Controller
from validators.model.own_gangs import ONE_SCHEDULER
from validators.rules.base import Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at a ``podGroupPolicy`` that names several schedulers."""
    item = context.new
    if isinstance(item, Controller) and item.gang is not None and len(item.gang.schedulers) > 1:
        yield field.invalid_struct(FieldPath("spec", "podGroupPolicy"), ONE_SCHEDULER)


_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch}
spec:
  podGroupPolicy: {volcano: {}}
  template:
    spec:
      replicatedJobs:
      - {name: node, template: {spec: {template: {spec: {}}}}}
"""

RULE = Rule(
    id="one-gang-scheduler",
    kinds=frozenset({"ClusterTrainingRuntime", "TrainingRuntime"}),
    profile=Profile.KEP,
    severity=Severity.ERROR,
    at_admission=Severity.OFF,
    why="Trainer creates a group for each scheduler, and each scheduler waits for pods that the other one owns.",
    source="Trainer 2.3, PodGroupPolicySource",
    check=check,
    good=(Example(_RUNTIME), Example(_RUNTIME.replace("volcano: {}", "coscheduling: {}"))),
    bad=(Example(_RUNTIME.replace("volcano: {}", "volcano: {}, coscheduling: {}"), at=("spec.podGroupPolicy",)),),
)
