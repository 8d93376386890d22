"""Objects as mode build of the sidecar creates them, from its own plan of each object."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.groups import TREE_KINDS
from kubeapi.pods import DEFAULT_SCHEDULER
from kubeapi.versions import served_versions
from muster.commands.compile.compilation import Compile
from muster.commands.compile.sources import CompileInputs
from scheduler_core.causes.built_groups import NotBuilt, NotBuiltReason
from scheduler_core.sidecar.building.group_plan import GroupPlan, Target, plan_described, plan_groups
from scheduler_core.sidecar.building.owned_objects import Objects
from scheduler_core.sidecar.settings import Settings
from scheduler_core.wording.built_group_words import not_built_words
from validators import field
from workloadbuilder.adapters.built_kinds import BUILD, KINDS, LABEL, has_built_owner, kind_of
from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known, group_of
from workloadbuilder.workload_item import WHOLE

Json = Mapping[str, Any]
_SCHEDULERS = frozenset({"", DEFAULT_SCHEDULER, Settings.scheduler_name})


def planner(inputs: CompileInputs) -> Compile:
    """Return a function that compiles as mode build does in namespaces that ask for groups, with the objects of *inputs* on the cluster."""
    objects = Objects(lambda *_: None)
    groups = [(each.group, each.kind) for each in KINDS if each.only_read]
    groups += [(each.group, level) for level in TREE_KINDS for each in served_versions.resources(level)]
    for each in groups:
        objects.set_all(each, inputs.known.list_kind(*each))

    def compile_one(manifest: Any, known: Known, options: CompileOptions) -> Compiled | None:
        target = Target(served_versions.named(options.api, options.version), known.kubernetes, _SCHEDULERS, distinct=options.distinct)
        described = compile_object(manifest, known, dataclasses.replace(options, groups=True, pods=True, grouped=True))
        if described is None:
            return None
        namespace = {"metadata": {"name": described.namespace, "labels": {LABEL: BUILD}}}
        objects.add_or_update(("", "Namespace"), namespace)
        plans = [*_plans(manifest, described, objects, target)]
        return _combined(manifest, described, plans, pods=options.pods)

    return compile_one


def _plans(manifest: Json, described: Compiled, objects: Objects, target: Target) -> Iterator[GroupPlan]:
    """Yield the plan of an object, or those of the objects that its controller creates; none if none of them is of a built kind."""
    if kind_of(manifest) is not None:
        yield plan_groups(manifest, objects, target)
    elif _name_of_kind(manifest) == ("batch", "CronJob"):
        yield plan_described(manifest, objects, target)
    elif _name_of_kind(manifest) == ("ray.io", "RayJob"):
        yield plan_groups(_ray_cluster(manifest), objects, target)
    else:
        owned = (each for each, _ in described.owned if kind_of(each) is not None and not has_built_owner(each))
        yield from (plan_groups(each, objects, target) for each in owned)


def _name_of_kind(manifest: Json) -> tuple[str, str]:
    return group_of(str(manifest.get("apiVersion"))), str(manifest.get("kind"))


def _ray_cluster(ray_job: Json) -> Json:
    """Return the RayCluster that KubeRay creates for a RayJob.  Source: constructRayClusterForRayJob, KubeRay 1.6."""
    spec, metadata = section(ray_job, "spec"), section(ray_job, "metadata")
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
    cluster = {**section(spec, "rayClusterSpec"), "suspend": spec.get("suspend") is True}
    return {"apiVersion": ray_job["apiVersion"], "kind": "RayCluster", "metadata": kept, "spec": cluster}


def _combined(manifest: Json, described: Compiled, plans: Iterable[GroupPlan], *, pods: bool) -> Compiled:
    """Return the objects of *plans*, or why there are none; errors and warnings are those of the object itself."""
    listed = [*plans]
    wanted = tuple(each for plan in listed for each in plan.wanted)
    created = (each for plan in listed if plan.wanted and plan.compiled for each in plan.compiled.objects if each["kind"] == "Pod")
    causes = [plan.why for plan in listed if plan.why is not None]
    confused = tuple(field.invalid_struct(WHOLE, not_built_words(each)) for each in causes if each.why is NotBuiltReason.CONFUSED)
    if described.errors or confused:
        return dataclasses.replace(described, objects=(), explained=(), errors=(*described.errors, *confused))
    if wanted:
        return dataclasses.replace(described, objects=(*wanted, *(created if pods else ())), skipped="")
    skipped = next((_words(each, manifest) for each in causes), f"mode build creates no groups for {manifest.get('kind')} objects")
    return dataclasses.replace(described, objects=(), explained=(), warnings=(), losses=(), skipped=skipped)


def _words(cause: NotBuilt, manifest: Json) -> str:
    if cause.why is not NotBuiltReason.NOT_ASKED:
        return not_built_words(cause)
    value = section(manifest, "metadata", "labels").get(LABEL)
    return f"its label {LABEL}={value} excludes it" if value is not None else f"it needs the label {LABEL}={BUILD} itself"
