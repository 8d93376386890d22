"""The ``spec.scheduling`` of a Job has one policy, a gang no larger than the Job, mode All only for a gang; only ``minCount`` may change."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.jobs import JobPolicy, JobScheduling
from kubeapi.meta import deep_equal
from kubeapi.versions.kubernetes_releases import Since
from validators import field, gates
from validators.field import FieldError
from validators.model.job_parts import JobPart, job_part
from validators.model.views import Job
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, Context, Example, Rule

_ACCEPTED = Since(38, "mode All without a gang is accepted in an update that does not change the spec of the Job")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at fields of ``spec.scheduling``."""
    part, before = job_part(context.new), job_part(context.old)
    if part is None:
        return
    new, old = part.spec.scheduling, before.spec.scheduling if before is not None else None
    path = part.path("scheduling")
    if context.creating:
        yield from _created(path, new)
    elif not deep_equal(new, old):
        yield from _updated(context, path, new, old)
    if new is not None:
        yield from _always(context, part, new)
    if isinstance(context.new, Job) and new is not None and old is not None and new.scheduling_policy and old.scheduling_policy:
        if (new.scheduling_policy.basic is None) is not (old.scheduling_policy.basic is None):
            yield field.invalid_struct(
                path / "schedulingPolicy",
                "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated",
            )


def _created(path: FieldPath, new: JobScheduling | None) -> Iterator[FieldError]:
    if new is None:
        return
    yield from _policy(path / "schedulingPolicy", new.scheduling_policy, None)
    yield from checks.topology(path / "schedulingConstraints", new.scheduling_constraints)
    yield from checks.mode_union(path / "disruptionMode", new.disruption_mode)
    yield from checks.claims(path / "resourceClaims", new.resource_claims)


def _updated(context: Context, path: FieldPath, new: JobScheduling | None, old: JobScheduling | None) -> Iterator[FieldError]:
    off = not context.settings.gates.enabled(gates.WITH_JOB)
    if off and new is not None:
        yield field.forbidden(path, f"may not change while the feature gate {gates.WITH_JOB} is off")
    if new is None or old is None:
        yield field.invalid_struct(path, "field cannot be cleared once set" if new is None else "field cannot be set once created")
        return
    if off:
        return
    policy_path = path / "schedulingPolicy"
    if (new.scheduling_policy is None) is not (old.scheduling_policy is None):
        yield field.invalid_struct(
            policy_path, "field cannot be cleared once set" if new.scheduling_policy is None else "field cannot be set once created"
        )
    elif not deep_equal(new.scheduling_policy, old.scheduling_policy):
        yield from _policy(policy_path, new.scheduling_policy, old.scheduling_policy)
    for wire, one, other in (
        ("schedulingConstraints", new.scheduling_constraints, old.scheduling_constraints),
        ("disruptionMode", new.disruption_mode, old.disruption_mode),
        ("resourceClaims", new.resource_claims, old.resource_claims),
    ):
        if not deep_equal(one, other):
            yield field.invalid_struct(path / wire, checks.FIXED)
    if not deep_equal(new.resource_claims, old.resource_claims):
        yield from checks.too_many_claims(path / "resourceClaims", new.resource_claims)


def _policy(path: FieldPath, new: JobPolicy | None, old: JobPolicy | None) -> Iterator[FieldError]:
    if new is None:
        return
    if old is None or ((new.basic is None), (new.gang is None)) != ((old.basic is None), (old.gang is None)):
        yield from checks.union(path, {"basic": new.basic, "gang": new.gang})
    count = new.gang.min_count if new.gang else None
    before = old.gang.min_count if old and old.gang else None
    if old is None or count != before:
        yield from checks.minimum(path.join(("gang", "minCount")), count)


def _always(context: Context, job: JobPart, new: JobScheduling) -> Iterator[FieldError]:
    """Yield the errors that the API server reports on creation and on every update."""
    policy = new.scheduling_policy
    count = policy.gang.min_count if policy and policy.gang else None
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if count is not None:
        yield from checks.beyond_parallelism(job.path("scheduling", "schedulingPolicy", "gang", "minCount"), count, parallelism)
    # A Job without a policy, or with an empty one, is Basic.
    is_gang = policy is not None and policy.basic is None and policy.gang is not None
    for error in checks.all_with_basic(job.path("scheduling", "disruptionMode"), new.disruption_mode, gang=is_gang):
        if context.settings.minor < _ACCEPTED or not context.unchanged(job.path()):
            yield error


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
    kinds=frozenset({"Job", "CronJob"}),
    changes=(_ACCEPTED,),
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
