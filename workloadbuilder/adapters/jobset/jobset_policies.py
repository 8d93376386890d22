"""What the user of a JobSet wants of each replicated job, from both shapes of KEP-6089.

Option A has it in the Job's own template, option B at the root, in ``replicatedJobPolicies`` that name their replicated
job.  Where both say something of one replicated job, neither wins: the object is refused (KEP-6089, "Split-Brain
Configurations").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.jobset.replicated_jobs import ReplicatedJob
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import near
from workloadbuilder.blocks import IntentReading, read_intent
from workloadbuilder.item import UserIntent

POLICIES = "replicatedJobPolicies"
_TARGET = "targetReplicatedJob"


def intents(
    scheduling: Json, path: FieldPath, parts: Sequence[ReplicatedJob], errors: list[FieldError], warnings: list[FieldError]
) -> dict[str, UserIntent]:
    """The user's intent for each replicated job, by name; *scheduling* is the JobSet's own, at *path*."""
    targeted = _targeted(scheduling, path, [part.name for part in parts], errors)
    found: dict[str, UserIntent] = {}
    for part in parts:
        reading = part.nested
        if part.name in targeted:
            reading, where = targeted[part.name]
            if _says(part):
                detail = f"must be absent: {where} sets the scheduling of replicated job {part.name!r} too; keep one of the two"
                errors.append(field.invalid_struct(part.nested_path, detail))
                # Of what is refused anyway nothing more is said.
                continue
        errors += reading.errors
        warnings += reading.warnings
        found[part.name] = reading.intent
    nested = [part for part in parts if _says(part) and part.name not in targeted]
    if targeted and nested:
        detail = f"the JobSet has its scheduling in two places: here, and at the root in {path / POLICIES}; keep to one of them"
        warnings += [field.invalid_struct(part.nested_path, detail) for part in nested]
    return found


def _says(part: ReplicatedJob) -> bool:
    return bool(part.nested.intent.paths or part.nested.errors)


def _targeted(
    scheduling: Json, path: FieldPath, names: Sequence[str], errors: list[FieldError]
) -> dict[str, tuple[IntentReading, FieldPath]]:
    """The policies at the root, by the replicated job that they name."""
    found: dict[str, tuple[IntentReading, FieldPath]] = {}
    if not isinstance(scheduling, Mapping):
        return found
    for entry in Fields(scheduling, path, errors).each_item(POLICIES):
        target, where = entry.text(_TARGET), entry.path / _TARGET
        reading = read_intent(entry.given, path=entry.path, composite=False, also=(_TARGET,))
        if not target:
            if not isinstance(entry.raw(_TARGET), str) and _TARGET in entry:
                continue  # its type has been told
            errors.append(field.required(where, "a policy names its replicated job"))
        elif target not in names:
            errors.append(field.invalid(where, target, f"must be the name of a replicated job{near(target, names)}"))
            errors += reading.errors
        elif target in found:
            errors.append(field.duplicate(where, target, f"a replicated job has one policy: {found[target][1]} is its"))
        else:
            found[target] = reading, entry.path
    return found
