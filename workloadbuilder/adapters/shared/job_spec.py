"""A Job's spec, as it stands in a Job and in the templates of those that make Jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from validators.rules import checks
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.item import Block, UserIntent

INDEX = "batch.kubernetes.io/job-completion-index"
_OWN = frozenset(
    {
        *("parallelism", "completions", "activeDeadlineSeconds", "podFailurePolicy", "successPolicy", "backoffLimit"),
        *("backoffLimitPerIndex", "maxFailedIndexes", "selector", "manualSelector", "template", "ttlSecondsAfterFinished"),
        *("completionMode", "suspend", "podReplacementPolicy", "managedBy", "scheduling"),
    }
)
"""The fields of a JobSpec of batch/v1."""


@dataclasses.dataclass(frozen=True, slots=True)
class JobShape:
    """What a Job's spec says of its pods."""

    parallelism: int
    completions: int | None
    indexed: bool
    suspended: bool
    template: PodTemplate

    @property
    def pods(self) -> int:
        """Pods that run at the same time."""
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)


def read_job_shape(spec: Fields, *, indexed: bool = False) -> JobShape:
    """The shape of the Job whose spec these fields are; *indexed* is what an absent completionMode means."""
    completions = spec.count("completions", None)
    mode = spec.text("completionMode", "Indexed" if indexed else "NonIndexed")
    if mode not in {"Indexed", "NonIndexed"}:
        spec.errors.append(field.not_supported(spec.path / "completionMode", mode, ["Indexed", "NonIndexed"]))
    return JobShape(
        spec.number("parallelism", 1),
        completions,
        mode == "Indexed",
        spec.flag("suspend"),
        pod_template.read_pod_template(spec.mapping("template")),
    )


def with_template(spec: Fields, warnings: list[FieldError]) -> Fields:
    """The spec with its pod template where it belongs.

    KEP-6089's examples of JobSet leave it out and have the pod's fields in the Job's spec; the API server knows none there.
    """
    if "template" in spec or "containers" not in spec:
        return spec
    inside = {name: value for name, value in spec.given.items() if name not in _OWN}
    detail = "must stand in template.spec of the Job: read as if it did, but the API server refuses it here"
    warnings.append(field.invalid_struct(spec.path / "containers", detail))
    own = {name: value for name, value in spec.given.items() if name in _OWN}
    return Fields({**own, "template": {"spec": inside}}, spec.path, spec.errors)


def check(shape: JobShape, intent: UserIntent, where: FieldPath) -> Iterator[FieldError]:
    """What of the user's intent does not go with the Job; the API server's own words.  *where* is the path of the spec."""
    count = _minimum(intent)
    if count is not None:
        yield from checks.beyond_parallelism(_count_path(intent, where), count, shape.parallelism)


def warn(shape: JobShape, intent: UserIntent, where: FieldPath) -> Iterator[FieldError]:
    """What will be built, and never be complete."""
    policy = intent.config.policy
    if policy is None or policy.kind.value != "gang" or shape.completions is None:
        return
    wanted = shape.parallelism if policy.minimum is None else policy.minimum
    if shape.completions < wanted <= shape.parallelism:
        detail = f"leaves fewer pods than the gang's minCount ({wanted}): it is never complete"
        yield field.invalid(where / "completions", shape.completions, detail)


def _minimum(intent: UserIntent) -> int | None:
    return None if intent.config.policy is None else intent.config.policy.minimum


def _count_path(intent: UserIntent, where: FieldPath) -> FieldPath:
    path = next((path for block, path in intent.paths if block is Block.POLICY), where)
    return path.join(("gang", "minCount"))


def pod(shape: JobShape, job: str, number: int, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> dict[str, Json]:
    """Pod *number* of the Job called *job*, with the labels of the Job controller and *labels*.

    A real pod's name ends in five letters more, which are random.
    """
    own = {"batch.kubernetes.io/job-name": job, "job-name": job}
    notes = dict(annotations or {})
    if shape.indexed:
        own[INDEX] = notes[INDEX] = str(number)
    return pod_template.pod(shape.template, f"{job}-{number}", labels={**own, **labels}, annotations=notes)
