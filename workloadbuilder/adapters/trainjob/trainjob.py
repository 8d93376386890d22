"""TrainJob (trainer.kubeflow.org): the JobSet that its runtime's template becomes with the TrainJob's numbers.

The TrainJob is the root controller: the Workload is its own, the groups are those of the JobSet that it composes
(KEP-6089, "Recommendations for Multi-Level Composite Controllers").  The runtime is looked up among the objects given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from validators.versions.served import hub_of
from workloadbuilder.adapters.jobset import jobset
from workloadbuilder.adapters.shared import kueue_annotations, object_identity
from workloadbuilder.adapters.shared.adapter_result import Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.trainjob import runtime_jobset
from workloadbuilder.item import WHOLE, Owner

ROOT = "trainjob-root"
_GROUP = "trainer.kubeflow.org"
_REF = FieldPath("spec", "runtimeRef")
_TEMPLATE = FieldPath("spec", "template")
"""Where the JobSet's template stands in a runtime."""
_SUSPEND = _TEMPLATE.join(("spec", "suspend"))
_CLUSTER, _NAMESPACED = "ClusterTrainingRuntime", "TrainingRuntime"
_PATCHES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")


def adapt(found: Json, known: Known) -> Reading:
    """What is made of a TrainJob; never raises, whatever JSON it is."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(found, errors, warnings)
    spec = top.mapping("spec")
    kind, name, runtime = _runtime(spec, about, known)
    if runtime is None or errors:
        return Reading(about.owner, about.namespace, errors=tuple(errors), warnings=tuple(warnings))
    place = f"{kind} {name}"
    result, lost = _composed(about, spec, runtime)

    def retold(error: FieldError) -> FieldError:
        """Told at the reference to the runtime, since that is where the user's object leads there."""
        if not error.path.starts_with(_TEMPLATE):
            return error
        if error.path == _SUSPEND and "suspend" in spec:
            return dataclasses.replace(error, path=spec.path / "suspend")
        return dataclasses.replace(error, path=_REF, value=name, detail=f"{place} has at {error.path}: {error}")

    return dataclasses.replace(
        result,
        errors=(*errors, *map(retold, result.errors)),
        warnings=(*warnings, *map(retold, result.warnings)),
        losses=(
            *kueue_annotations.queue(about.labels, about.annotations),
            *_own(spec),
            *(Loss(_REF, f"{place} has at {each.path}: {each.detail}") for each in (*lost, *result.losses)),
        ),
        origins=tuple((template, block, _REF) for template, block, _ in result.origins),
        retold=retold,
    )


def _composed(about: Subject, spec: Fields, runtime: Json) -> tuple[Reading, tuple[Loss, ...]]:
    """What is made of the JobSet that the TrainJob's *spec* and its *runtime* amount to, and what of the runtime is lost.

    Paths are those in the runtime.
    """
    errors: list[FieldError] = []
    content = Fields(runtime, WHOLE, errors).mapping("spec")
    composed = runtime_jobset.compose(content, spec)
    result = jobset.assemble(
        Fields(composed.spec, _TEMPLATE / "spec", errors),
        jobset.Of(
            about.owner,
            Owner(hub_of("JobSet").name, "JobSet", about.owner.name),
            about.namespace,
            content.mapping("template").mapping("metadata").annotations(),
            _TEMPLATE.join(("metadata", "annotations")),
            ROOT,
            composed.gangs,
        ),
        [],
    )
    return result, composed.losses


def _runtime(spec: Fields, about: Subject, known: Known) -> tuple[str, str, Json]:
    """The kind and name of the runtime that a TrainJob refers to, and the runtime itself."""
    reference = spec.mapping("runtimeRef")
    kind, name, group = reference.text("kind", _CLUSTER), reference.text("name"), reference.text("apiGroup", _GROUP)
    if not name:
        spec.errors.append(field.required(_REF / "name", "a TrainJob names its runtime"))
    elif kind not in {_CLUSTER, _NAMESPACED}:
        spec.errors.append(field.not_supported(_REF / "kind", kind, [_CLUSTER, _NAMESPACED]))
    else:
        namespace = "" if kind == _CLUSTER else about.namespace
        runtime = known.get(group, kind, namespace, name)
        if runtime is None:
            detail = f"there must be a {kind} of this name among the objects given{known.near(group, kind, namespace, name)}"
            spec.errors.append(field.not_found(_REF / "name", name, detail))
        return kind, name, runtime
    return kind, name, None


def _own(spec: Fields) -> Iterator[Loss]:
    """What of the TrainJob's own fields is not looked at, though it may change where its pods can be."""
    for name in _PATCHES:
        if spec.raw(name):
            yield Loss(spec.path / name, "patches of the runtime are not applied: pods may have other constraints than shown")
