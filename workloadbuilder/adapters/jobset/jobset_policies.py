"""The user's scheduling blocks for each replicated job of a JobSet, in both forms of KEP-6089.

Option A has them in the Job's own template, option B at the root, in ``replicatedJobPolicies`` that name their replicated
job.  If both set the blocks of one replicated job, the object is refused (KEP-6089, "Split-Brain Configurations").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.jobset.replicated_jobs import ReplicatedJob
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import suggest
from workloadbuilder.blocks import IntentReading, read_intent
from workloadbuilder.workload_item import UserIntent

POLICIES = "replicatedJobPolicies"
_TARGET = "targetReplicatedJob"


def intents(
    scheduling: Json, path: FieldPath, parts: Sequence[ReplicatedJob], errors: list[FieldError], warnings: list[FieldError]
) -> dict[str, UserIntent]:
    """Return the user's intent for each replicated job, by name; *scheduling* is the JobSet's own, at *path*."""
    targeted = _targeted(scheduling, path, [part.name for part in parts], errors)
    intents: dict[str, UserIntent] = {}
    for part in parts:
        reading = part.nested
        if part.name in targeted:
            reading, policy_path = targeted[part.name]
            if _has_nested(part):
                detail = f"must be absent: {policy_path} also sets the scheduling of replicated job {part.name!r}; remove one of the two"
                errors.append(field.invalid_struct(part.nested_path, detail))
                # Further errors of a refused block would not help.
                continue
        errors += reading.errors
        warnings += reading.warnings
        intents[part.name] = reading.intent
    nested = [part for part in parts if _has_nested(part) and part.name not in targeted]
    if targeted and nested:
        detail = f"the JobSet has scheduling blocks both here and at the root in {path / POLICIES}: use only one of the two"
        warnings += [field.invalid_struct(part.nested_path, detail) for part in nested]
    return intents


def _has_nested(part: ReplicatedJob) -> bool:
    return bool(part.nested.intent.paths or part.nested.errors)


def _targeted(
    scheduling: Json, path: FieldPath, names: Sequence[str], errors: list[FieldError]
) -> dict[str, tuple[IntentReading, FieldPath]]:
    """Return the policies at the root with their paths, by the replicated job that they name."""
    policies: dict[str, tuple[IntentReading, FieldPath]] = {}
    if not isinstance(scheduling, Mapping):
        return policies
    for entry in Fields(scheduling, path, errors).each_item(POLICIES):
        target, target_path = entry.text(_TARGET), entry.path / _TARGET
        reading = read_intent(entry.given, path=entry.path, composite=False, also=(_TARGET,))
        if not target:
            if not isinstance(entry.raw(_TARGET), str) and _TARGET in entry:
                continue  # the wrong type is reported already
            errors.append(field.required(target_path, "must be the name of a replicated job"))
        elif target not in names:
            errors.append(field.invalid(target_path, target, f"must be the name of a replicated job{suggest(target, names)}"))
            errors += reading.errors
        elif target in policies:
            errors.append(
                field.duplicate(target_path, target, f"a replicated job has only one policy, which is set in {policies[target][1]}")
            )
        else:
            policies[target] = reading, entry.path
    return policies
