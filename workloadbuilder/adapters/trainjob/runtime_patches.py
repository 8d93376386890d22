"""Patches of a TrainJob for its runtime: ``runtimePatches`` (Trainer 2.2), ``podTemplateOverrides`` (2.1) and ``podSpecOverrides`` (2.0).

Trainer merges them in their order, as strategic merge patches, and then sets the TrainJob's own values.  Its webhook refuses patches
of Jobs and containers that the runtime does not have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from validators import field
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import suggest
from workloadbuilder.adapters.shared.strategic_merge import merged

_CONTAINERS = ("containers", "initContainers")
_OF_POD = ("targetJobs",)


@dataclasses.dataclass(frozen=True, slots=True)
class _Patch:
    """Patch of the replicated job that *target* names: *job* for the template of its Jobs, in which *pod* is the specification."""

    target: Fields
    job: Mapping[str, Json]
    pod: Fields


def apply_patches(jobset: dict[str, Json], train: Fields) -> dict[str, str]:
    """Patch the spec of a *jobset* as the spec *train* of a TrainJob says; return the annotations that it adds to the JobSet.

    What is wrong with the patches is added to the errors of *train*.
    """
    listed = jobset.get("replicatedJobs")
    entries = {str(each.get("name")): each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)}
    for patch in _patches(train):
        name = patch.target.text("name")
        if name not in entries:
            detail = f"must be the name of a replicated job of the runtime{suggest(name, entries)}"
            train.errors.append(field.not_found(patch.target.path / "name", name, detail))
            continue
        template = entries[name].get("template")
        given = template if isinstance(template, dict) else {}
        _check_containers(patch, given)
        entries[name]["template"] = merged(given, patch.job)
    annotations: dict[str, str] = {}
    for each in train.each_item("runtimePatches"):
        annotations |= each.mapping("trainingRuntimeSpec").mapping("template").mapping("metadata").annotations()
    return annotations


def _patches(train: Fields) -> Iterator[_Patch]:
    for each in train.each_item("runtimePatches"):
        spec = each.mapping("trainingRuntimeSpec").mapping("template").mapping("spec")
        for job in spec.each_item("replicatedJobs"):
            job_template = job.mapping("template")
            yield _Patch(job, job_template.given, job_template.mapping("spec").mapping("template").mapping("spec"))
    for each in train.each_item("podTemplateOverrides"):
        for target in each.each_item("targetJobs"):
            template = {key: each.raw(key) for key in ("metadata", "spec") if each.raw(key) is not None}
            yield _Patch(target, {"spec": {"template": template}}, each.mapping("spec"))
    for each in train.each_item("podSpecOverrides"):
        for target in each.each_item("targetJobs"):
            pod = {key: value for key, value in each.given.items() if key not in _OF_POD}
            yield _Patch(target, {"spec": {"template": {"spec": pod}}}, each)


def _check_containers(patch: _Patch, template: Mapping[str, Json]) -> None:
    pod = Fields(template, patch.target.path, []).mapping("spec").mapping("template").mapping("spec")
    names = [each.text("name") for kind in _CONTAINERS for each in pod.each_item(kind)]
    for kind in _CONTAINERS:
        for each in patch.pod.each_item(kind):
            if (name := each.text("name")) not in names:
                detail = f"must be the name of a container of the runtime's job {patch.target.text('name')}{suggest(name, names)}"
                each.errors.append(field.not_found(each.path / "name", name, detail))
