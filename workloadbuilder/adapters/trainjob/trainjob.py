"""Adapter for TrainJob (trainer.kubeflow.org): the JobSet of its runtime's template with the TrainJob's values.

The TrainJob is the root controller: it owns the Workload, and the groups are those of its JobSet (KEP-6089, "Recommendations for
Multi-Level Composite Controllers").  The runtime must be among the input objects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions.served_versions import hub_of
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.jobset import jobset
from workloadbuilder.adapters.shared import kueue_annotations, object_identity
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.trainjob import runtime_jobset
from workloadbuilder.adapters.trainjob.runtime_jobset import Composed
from workloadbuilder.workload_item import WHOLE, Owner, WorkloadItem

ROOT = "trainjob-root"
_GROUP = "trainer.kubeflow.org"
_REF = FieldPath("spec", "runtimeRef")
_NODES = FieldPath("spec", "trainer", "numNodes")
_TEMPLATE = FieldPath("spec", "template")
"""Path of the JobSet's template in a runtime."""
_POLICY = FieldPath("spec", "podGroupPolicy")
_SUSPEND = _TEMPLATE.join(("spec", "suspend"))
_CLUSTER, _NAMESPACED = "ClusterTrainingRuntime", "TrainingRuntime"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a TrainJob; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    kind, name, runtime = _runtime(spec, about, known)
    if runtime is None or errors:
        return Reading(about.owner, about.namespace, errors=tuple(errors), warnings=tuple(warnings))
    runtime_name = f"{kind} {name}"
    result, composed = _composed(about, spec, runtime, known)

    def relocate(error: FieldError) -> FieldError:
        """Report an error of the runtime at the TrainJob's reference to it."""
        if not error.path.starts_with(_TEMPLATE) and not error.path.starts_with(_POLICY):
            return error
        if error.path == _SUSPEND and "suspend" in spec:
            return dataclasses.replace(error, path=spec.path / "suspend")
        return dataclasses.replace(error, path=_REF, value=name, detail=f"{runtime_name} has at {error.path}: {error}")

    return dataclasses.replace(
        result,
        root=None if result.root is None else _with_own_minimums(result.root, result.pods, composed.sized),
        errors=(*errors, *map(relocate, result.errors)),
        warnings=(*warnings, *map(relocate, result.warnings)),
        losses=(
            *kueue_annotations.queue(about.labels, about.annotations),
            *(
                dataclasses.replace(each, path=_REF, detail=f"{runtime_name} has at {each.path}: {each.detail}")
                for each in (*composed.losses, *result.losses)
            ),
        ),
        origins=tuple((template, block, _REF) for template, block, _ in result.origins),
        relocate=relocate,
    )


def _with_own_minimums(item: WorkloadItem, pods: Sequence[PodPlan], sized: Container[str]) -> WorkloadItem:
    """Return *item* and its children with the field of the TrainJob that sets their minimums: ``numNodes``, or none.

    It sets that of a gang of all pods of the replicated jobs *sized*.  The runtime belongs to others too.
    """
    children = tuple(_with_own_minimums(each, pods, sized) for each in item.children)
    parts = {each.part for each in pods if each.template == item.name and each.count}
    policy = item.intent.config.policy
    is_own = bool(parts) and all(each in sized for each in parts) and (policy is None or policy.minimum is None)
    return dataclasses.replace(item, children=children, minimum_path=_NODES if is_own else None)


def _composed(about: Subject, spec: Fields, runtime: Json, known: Known) -> tuple[Reading, Composed]:
    """Return the reading of the JobSet for the TrainJob's *spec* and its *runtime*, and the composed JobSet.

    Paths are those in the runtime.
    """
    errors: list[FieldError] = []
    content = Fields(runtime, WHOLE, errors).mapping("spec")
    composed = runtime_jobset.compose(content, spec, known)
    result = jobset.assemble(
        Fields(composed.spec, _TEMPLATE / "spec", errors),
        jobset.JobSetIdentity(
            about.owner,
            Owner(hub_of("JobSet").name, "JobSet", about.owner.name),
            about.namespace,
            composed.annotations,
            _TEMPLATE.join(("metadata", "annotations")),
            ROOT,
            composed.gang,
        ),
        [],
        known,
    )
    return result, composed


def _runtime(spec: Fields, about: Subject, known: Known) -> tuple[str, str, Json]:
    """Return the kind and name of the runtime that a TrainJob refers to, and the runtime; None if it is not in the input."""
    reference = spec.mapping("runtimeRef")
    kind, name, group = reference.text("kind", _CLUSTER), reference.text("name"), reference.text("apiGroup", _GROUP)
    if not name:
        spec.errors.append(field.required(_REF / "name", "a TrainJob must name its runtime"))
    elif kind not in {_CLUSTER, _NAMESPACED}:
        spec.errors.append(field.not_supported(_REF / "kind", kind, [_CLUSTER, _NAMESPACED]))
    else:
        namespace = "" if kind == _CLUSTER else about.namespace
        runtime = known.get(group, kind, namespace, name)
        if runtime is None:
            detail = f"there must be a {kind} of this name in the input{known.suggest(group, kind, namespace, name)}"
            spec.errors.append(field.not_found(_REF / "name", name, detail))
        return kind, name, runtime
    return kind, name, None
