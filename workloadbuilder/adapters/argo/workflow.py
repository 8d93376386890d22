"""Adapter for Workflow and CronWorkflow (argoproj.io): the pods that can run at a time.

Pods that run after others take their places, as far as they have one shape.  A workflow whose pods depend on what happens while it runs is
not judged.
"""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.argo import peaks, workflow_values
from workloadbuilder.adapters.argo.peaks import Peak
from workloadbuilder.adapters.argo.workflow_pods import Evaluation
from workloadbuilder.adapters.argo.workflow_templates import Templates
from workloadbuilder.adapters.argo.workflow_values import NotStaticError
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Dependent, Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import PodSet

LABEL = "workflows.argoproj.io/workflow"
_SEVERAL = "pods that differ are placed together, also those that run after others have ended"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a Workflow or a CronWorkflow; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    object_identity.warn_if_suspended(spec, about.owner.kind, warnings)
    if about.owner.kind == "CronWorkflow":
        return _next(about, spec.mapping("workflowSpec"), errors, warnings)
    try:
        templates = Templates.of_workflow(spec, about.namespace, known)
        peak = _peak(about, templates)
    except NotStaticError as reason:
        return Reading(about.owner, about.namespace, skipped=str(reason), errors=tuple(errors), warnings=tuple(warnings))
    sets = [
        PodSet(
            pod_template.read_pod_template(Fields(slot.pod, spec.path / "templates", errors)),
            f"{about.owner.name}-{slot.name}",
            slot.count,
            {LABEL: about.owner.name},
            owner=about.owner,
        )
        for slot in peak.values()
    ]
    claims = tuple(_claims(templates.spec, about))
    losses = (Loss(spec.path / "templates", _SEVERAL),) if len(peak) > 1 else ()
    return dataclasses.replace(pod_sets.one_by_one(about, sets, errors, warnings), losses=losses, further=claims)


def _peak(about: Subject, templates: Templates) -> Peak:
    """Return the pods of a workflow that can run at a time.

    Raises:
        NotStaticError: they are known only when it runs.

    """
    spec = templates.spec
    if "hooks" in spec:
        raise NotStaticError("it has hooks, which run only when something happens")
    values = workflow_values.parameters(spec.mapping("arguments"), "workflow.parameters.")
    values |= {"workflow.name": about.owner.name, "workflow.namespace": about.namespace or "default"}
    own = {f"inputs.parameters.{name.removeprefix('workflow.parameters.')}": each for name, each in values.items()}
    evaluation = Evaluation(spec, values)
    nothing = Fields({}, spec.path, spec.errors)
    entries = [spec.text("entrypoint"), *filter(None, [spec.text("onExit")])]
    # The exit handler runs after all others.
    parts = [evaluation.template(templates, templates.named(each), own, nothing) for each in entries]
    return peaks.limited(peaks.one_after_another(parts), spec.number("parallelism", 0))


def _claims(spec: Fields, about: Subject) -> list[dict[str, Json]]:
    """Return the claims that a workflow creates when it starts."""
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"{about.owner.name}-{each.mapping('metadata').text('name')}"},
            "spec": dict(each.mapping("spec").given),
        }
        for each in spec.each_item("volumeClaimTemplates")
    ]


def _next(about: Subject, spec: Fields, errors: list[FieldError], warnings: list[FieldError]) -> Reading:
    """Return the reading of the workflow that a CronWorkflow creates next."""
    metadata: dict[str, Json] = {"name": f"{about.owner.name}-next"}
    child = {"apiVersion": about.owner.api_version, "kind": "Workflow", "metadata": metadata, "spec": spec.given}
    detail = f"the time of the next Workflow is part of its name: {metadata['name']!r} is used in its place"
    warnings.append(field.invalid(FieldPath("metadata", "name"), about.owner.name, detail))
    dependent = Dependent(pod_sets.owned(child, about.owner), spec.path, FieldPath("spec"))
    return Reading(about.owner, about.namespace, dependents=(dependent,), errors=tuple(errors), warnings=tuple(warnings))
