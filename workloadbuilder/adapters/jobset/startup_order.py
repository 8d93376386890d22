"""Startup order of a JobSet: whether it is valid, and whether a gang can be complete despite it.

With ``startupPolicy`` InOrder, or ``dependsOn``, a replicated job's Jobs are created when those before it are ready.  A gang
of all Jobs would wait for groups that wait for the gang.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.jobset import jobset_labels
from workloadbuilder.adapters.jobset.replicated_jobs import ReplicatedJob
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.workload_item import Block, PolicyKind, UserIntent


def check(spec: Fields) -> Iterator[FieldError]:
    """Yield an error at an order that does not exist."""
    order = _order(spec)
    if order not in {"AnyOrder", "InOrder"}:
        yield field.not_supported(spec.path.join(("startupPolicy", "startupPolicyOrder")), order, ["AnyOrder", "InOrder"])


def warn(spec: Fields, parts: Sequence[ReplicatedJob], intent: UserIntent) -> Iterator[FieldError]:
    """Yield a warning at the user's policy for a gang of more groups than are created at first."""
    order = _order(spec)
    later = _later(spec, parts)
    policy = intent.config.policy
    if policy is None or policy.kind is not PolicyKind.GANG or not later:
        return
    first = first_groups(spec, parts)
    minimum = sum(part.replicas for part in parts) if policy.minimum is None else policy.minimum
    if minimum > first:
        cause = f"{spec.path}.startupPolicy is InOrder" if order == "InOrder" else f"{later[0].path}.dependsOn"
        detail = (
            f"must not be a gang of {minimum} groups: the Jobs of replicated job {later[0].name!r} are created only when other Jobs are "
            f"ready ({cause}), and those would wait for the gang; set minGroupCount to at most {first}, or use a gang in each replicated job"
        )
        yield field.forbidden(_gang_path(intent), detail)


def first_groups(spec: Fields, parts: Sequence[ReplicatedJob]) -> int:
    """Return the number of Jobs that are created before others are ready."""
    return sum(part.replicas for part in parts) - sum(part.replicas for part in _later(spec, parts))


def _later(spec: Fields, parts: Sequence[ReplicatedJob]) -> list[ReplicatedJob]:
    with_jobs = [part for part in parts if part.replicas]
    return with_jobs[1:] if _order(spec) == "InOrder" else [part for part in with_jobs if part.depends_on]


def leader_first(part: ReplicatedJob) -> bool:
    """Return whether the first pod of a Job must have a node before the others are created.

    JobSet's webhook refuses the other pods of a Job with a domain of its own until the first one has a node, whose domain they are sent to.
    """
    return bool(part.exclusive) and jobset_labels.NODE_SELECTOR not in part.annotations


def warn_of_exclusive(part: ReplicatedJob, intent: UserIntent) -> Iterator[FieldError]:
    """Yield a warning at the user's policy for a gang of a Job whose first pod must have a node before the others are created."""
    policy = intent.config.policy
    if not leader_first(part) or policy is None or policy.kind is not PolicyKind.GANG:
        return
    minimum = part.shape.parallelism if policy.minimum is None else policy.minimum
    if minimum > 1:
        detail = (
            f"must not be a gang of {minimum} pods: the other pods of a Job are created only when the first one is placed (annotation "
            f"{jobset_labels.EXCLUSIVE}), and that one would wait for the gang; set minCount to 1, or omit the policy"
        )
        yield field.forbidden(_gang_path(intent), detail)


def _order(spec: Fields) -> str:
    return spec.mapping("startupPolicy").text("startupPolicyOrder", "AnyOrder")


def _gang_path(intent: UserIntent) -> FieldPath:
    return next(path for block, path in intent.paths if block is Block.POLICY) / "gang"
