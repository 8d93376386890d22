"""Job of an object: a Job itself, or the one that a CronJob creates from its template."""

from __future__ import annotations

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath, Key
from kubeapi.meta import ObjectMeta
from validators.model.views import CronJob, Job, JobSpec

WORKLOAD = "scheduling.k8s.io/workload-name"
"""Annotation of a Job: the Workload that has the template of its PodGroup."""
TEMPLATE = "scheduling.k8s.io/group-template-name"
"""Annotation of a Job: the template of its PodGroup."""


class JobPart(Record, frozen=True):
    """Metadata and spec of a Job, with the path of the object that has both."""

    metadata: ObjectMeta
    spec: JobSpec
    holder: FieldPath = FieldPath()

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the Job."""
        return dict(self.metadata.annotations or {})

    def annotation_path(self, key: str) -> FieldPath:
        """Return the path of an annotation."""
        return self.holder.join(("metadata", "annotations", Key(key)))

    def path(self, *parts: str) -> FieldPath:
        """Return the path of a field below the spec."""
        return self.holder.join(("spec", *parts))


def job_part(item: object) -> JobPart | None:
    """Return the Job of *item*; None for other kinds."""
    if isinstance(item, Job):
        return JobPart(item.metadata, item.spec)
    if isinstance(item, CronJob):
        template = item.spec.job_template
        return JobPart(template.metadata, template.spec, FieldPath("spec", "jobTemplate"))
    return None
