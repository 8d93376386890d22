"""A Job's spec, in a Job and in the templates of objects whose controllers create Jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.rules import checks
from workloadbuilder.adapters.shared import pod_template
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.workload_item import Block, UserIntent

INDEX = "batch.kubernetes.io/job-completion-index"
_OWN = frozenset(
    {
        *("parallelism", "completions", "activeDeadlineSeconds", "podFailurePolicy", "successPolicy", "backoffLimit"),
        *("backoffLimitPerIndex", "maxFailedIndexes", "selector", "manualSelector", "template", "ttlSecondsAfterFinished"),
        *("completionMode", "suspend", "podReplacementPolicy", "managedBy", "scheduling"),
    }
)
"""Fields of a JobSpec of batch/v1."""


@dataclasses.dataclass(frozen=True, slots=True)
class JobShape:
    """Number and template of a Job's pods."""

    parallelism: int
    completions: int | None
    indexed: bool
    suspended: bool
    template: PodTemplate

    @property
    def pods(self) -> int:
        """Return the number of pods that run at the same time."""
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)


def read_job_shape(spec: Fields, *, indexed: bool = False) -> JobShape:
    """Read a Job's spec; *indexed* is the meaning of an absent completionMode."""
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
    """Return the spec with the pod's fields moved into a pod template if there is none.

    KEP-6089's examples of JobSet omit the template and have the pod's fields in the Job's spec; the API server refuses them there.
    """
    if "template" in spec or "containers" not in spec:
        return spec
    pod_fields = {name: value for name, value in spec.given.items() if name not in _OWN}
    detail = "must be in template.spec of the Job: it is read as if it were, but the API server refuses it here"
    warnings.append(field.invalid_struct(spec.path / "containers", detail))
    job_fields = {name: value for name, value in spec.given.items() if name in _OWN}
    return Fields({**job_fields, "template": {"spec": pod_fields}}, spec.path, spec.errors)


def check(shape: JobShape, intent: UserIntent, path: FieldPath) -> Iterator[FieldError]:
    """Yield an error if the user's minimum exceeds the Job's parallelism, in the API server's words.  *path* is that of the spec."""
    minimum = _minimum(intent)
    if minimum is not None:
        yield from checks.beyond_parallelism(_minimum_path(intent, path), minimum, shape.parallelism)


def warn(shape: JobShape, intent: UserIntent, path: FieldPath) -> Iterator[FieldError]:
    """Yield a warning if the gang can never be complete.  *path* is that of the spec."""
    policy = intent.config.policy
    if policy is None or policy.kind.value != "gang" or shape.completions is None:
        return
    minimum = shape.parallelism if policy.minimum is None else policy.minimum
    if shape.completions < minimum <= shape.parallelism:
        detail = f"must be at least {minimum}, the gang's minCount: otherwise the gang is never complete"
        yield field.invalid(path / "completions", shape.completions, detail)


def _minimum(intent: UserIntent) -> int | None:
    return None if intent.config.policy is None else intent.config.policy.minimum


def _minimum_path(intent: UserIntent, path: FieldPath) -> FieldPath:
    policy_path = next((each for block, each in intent.paths if block is Block.POLICY), path)
    return policy_path.join(("gang", "minCount"))


def pod(shape: JobShape, job: str, number: int, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> dict[str, Json]:
    """Return pod *number* of the Job named *job*, with the labels of the Job controller and *labels*.

    Its name lacks the random suffix of five characters that the Job controller appends.
    """
    own_labels = {"batch.kubernetes.io/job-name": job, "job-name": job}
    own_annotations = dict(annotations or {})
    if shape.indexed:
        own_labels[INDEX] = own_annotations[INDEX] = str(number)
    return pod_template.pod(shape.template, f"{job}-{number}", labels={**own_labels, **labels}, annotations=own_annotations)
