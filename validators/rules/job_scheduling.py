"""A Job's ``spec.scheduling`` has one policy, a gang no larger than the Job, mode All only for a gang; only ``minCount`` may change."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.jobs import JobPolicy, JobScheduling
from kubeapi.meta import deep_equal
from validators import field, gates
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.model.views import Job
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, Context, Example, Rule

_PATH = SPEC / "scheduling"
_POLICY = _PATH / "schedulingPolicy"
_COUNT = _POLICY.join(("gang", "minCount"))
_MODE = _PATH / "disruptionMode"
_FIXED = "field is immutable"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at fields of ``spec.scheduling``."""
    if not isinstance(context.new, Job):
        return
    new, old = context.new.spec.scheduling, context.old.spec.scheduling if isinstance(context.old, Job) else None
    if context.creating:
        yield from _created(new)
    elif not deep_equal(new, old):
        yield from _updated(context, new, old)
    if new is not None:
        yield from _always(context.new, new)
    if new is not None and old is not None and new.scheduling_policy is not None and old.scheduling_policy is not None:
        if (new.scheduling_policy.basic is None) is not (old.scheduling_policy.basic is None):
            yield field.invalid_struct(
                _POLICY, "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated"
            )


def _created(new: JobScheduling | None) -> Iterator[FieldError]:
    if new is None:
        return
    yield from _policy(new.scheduling_policy, None)
    yield from checks.topology(_PATH / "schedulingConstraints", new.scheduling_constraints)
    yield from checks.mode_union(_MODE, new.disruption_mode)
    yield from checks.claims(_PATH / "resourceClaims", new.resource_claims)


def _updated(context: Context, new: JobScheduling | None, old: JobScheduling | None) -> Iterator[FieldError]:
    off = not context.settings.gates.enabled(gates.WITH_JOB)
    if off and new is not None:
        yield field.forbidden(_PATH, f"may not change while the feature gate {gates.WITH_JOB} is off")
    if new is None or old is None:
        yield field.invalid_struct(_PATH, "field cannot be cleared once set" if new is None else "field cannot be set once created")
        return
    if off:
        return
    if (new.scheduling_policy is None) is not (old.scheduling_policy is None):
        yield field.invalid_struct(
            _POLICY, "field cannot be cleared once set" if new.scheduling_policy is None else "field cannot be set once created"
        )
    elif not deep_equal(new.scheduling_policy, old.scheduling_policy):
        yield from _policy(new.scheduling_policy, old.scheduling_policy)
    for wire, one, other in (
        ("schedulingConstraints", new.scheduling_constraints, old.scheduling_constraints),
        ("disruptionMode", new.disruption_mode, old.disruption_mode),
        ("resourceClaims", new.resource_claims, old.resource_claims),
    ):
        if not deep_equal(one, other):
            yield field.invalid_struct(_PATH / wire, _FIXED)
    if not deep_equal(new.resource_claims, old.resource_claims):
        yield from checks.too_many_claims(_PATH / "resourceClaims", new.resource_claims)


def _policy(new: JobPolicy | None, old: JobPolicy | None) -> Iterator[FieldError]:
    if new is None:
        return
    if old is None or ((new.basic is None), (new.gang is None)) != ((old.basic is None), (old.gang is None)):
        yield from checks.union(_POLICY, {"basic": new.basic, "gang": new.gang})
    count = new.gang.min_count if new.gang else None
    before = old.gang.min_count if old and old.gang else None
    if old is None or count != before:
        yield from checks.minimum(_COUNT, count)


def _always(job: Job, new: JobScheduling) -> Iterator[FieldError]:
    """Yield the errors that the API server reports on creation and on every update."""
    policy = new.scheduling_policy
    count = policy.gang.min_count if policy and policy.gang else None
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if count is not None:
        yield from checks.beyond_parallelism(_COUNT, count, parallelism)
    # A Job without a policy is Basic.
    yield from checks.all_with_basic(_MODE, new.disruption_mode, gang=policy is not None and policy.basic is None)


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  completions: 4
  scheduling:
    schedulingPolicy: {gang: {minCount: 4}}
    disruptionMode: {all: {}}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
"""

RULE = Rule(
    id="job-scheduling",
    kinds=frozenset({"Job"}),
    on=CREATE_AND_UPDATE,
    why="The Job controller creates a Workload and a PodGroup from this field; if they would be invalid, the Job gets no pods.",
    source="KEP-6089, Job Integration; Kubernetes 1.37.1, validation of Job",
    check=check,
    good=(Example(_JOB), Example(_JOB.replace("minCount: 4", "minCount: 2"), old=_JOB)),
    bad=(
        Example(_JOB.replace("minCount: 4", "minCount: 5"), at=("spec.scheduling.schedulingPolicy.gang.minCount",)),
        Example(_JOB.replace("{gang: {minCount: 4}}", "{basic: {}}"), at=("spec.scheduling.disruptionMode",)),
        Example(_JOB.replace("{all: {}}", "{single: {}}"), old=_JOB, at=("spec.scheduling.disruptionMode",)),
    ),
)
