"""Compilation of one object: its Workload, and optionally its groups, pods, or the child objects that create the groups."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import SCHEDULING
from validators import field
from validators.field import FieldError
from validators.model.start_order import Wait
from workloadbuilder import names
from workloadbuilder.adapters import group_instances
from workloadbuilder.adapters.explained import ExplainedTemplate, explain
from workloadbuilder.adapters.group_instances import Instance, Naming
from workloadbuilder.adapters.kinds import adapter
from workloadbuilder.adapters.shared import kueue_annotations, kueue_podsets
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS, Dependent, Link, Loss, PodPlan, Positions, Reading, walk
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.group_annotations import with_annotations
from workloadbuilder.adapters.shared.known_objects import Known, group_of
from workloadbuilder.adapters.shared.named_groups import NamedGroup
from workloadbuilder.adapters.shared.pod_sets import ONE_BY_ONE
from workloadbuilder.adapters.skipped_kinds import skip_reason
from workloadbuilder.blueprint import copied
from workloadbuilder.builder import Builder, BuildOptions
from workloadbuilder.errors import BuildError, in_order
from workloadbuilder.workload_item import WHOLE, Owner, PolicyKind, WorkloadItem


@dataclasses.dataclass(frozen=True, slots=True)
class CompileOptions:
    """Objects to create besides the Workload, and their *version* of the API group *api*.

    With *delegated*, the controllers of child objects create the PodGroups: the result has the child objects, with annotations
    that name their group, and only the CompositePodGroups.  With *distinct*, names are those of no other object also if there is no uid.
    With *judged*, what Kueue refuses is no error: the rest of the object is compiled.  With *grouped*, an object whose controller
    creates no group gets a gang.
    """

    groups: bool = False
    pods: bool = False
    delegated: bool = False
    distinct: bool = False
    judged: bool = False
    grouped: bool = False
    version: str = served_versions.hub_of("Workload").version
    api: str = SCHEDULING


@dataclasses.dataclass(frozen=True, slots=True)
class Confined:
    """Pods that Kueue places in one domain of the node label *topology*, and whose group another object describes.

    *pod_sets* are the numbers of their plans, *path* is that of the annotation.
    """

    topology: str
    path: FieldPath
    pod_sets: frozenset[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """Result for one object.  It has no objects if there are *errors*, or if *skipped* gives another reason.

    *pod_sets* has for each pod the number of the plan that it comes from, and *parts* its part; some parts can wait for others (*waits*).
    *owned* are the objects that its controller creates and whose own controllers create pods, each with the numbers of these plans.  Pods
    are the last objects.  *refused* is what Kueue refuses, if the object is judged, and *confined* are pods then whose template names
    their group.  *minimums* has the field of the object with the
    minimum of a gang, by template, unless that is in scheduling blocks; None if no field has it.
    """

    owner: Owner
    namespace: str
    objects: tuple[dict[str, Json], ...] = ()
    explained: tuple[ExplainedTemplate, ...] = ()
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    losses: tuple[Loss, ...] = ()
    skipped: str = ""
    waits: Mapping[str, Wait] = dataclasses.field(default_factory=dict)
    parts: tuple[str, ...] = ()
    minimums: Mapping[str, FieldPath | None] = dataclasses.field(default_factory=dict)
    pod_sets: tuple[int, ...] = ()
    refused: tuple[FieldError, ...] = ()
    confined: tuple[Confined, ...] = ()
    owned: tuple[tuple[Json, frozenset[int]], ...] = ()


def compile_object(manifest: Json, known: Known, options: CompileOptions) -> Compiled | None:
    """Compile an object; return None if its kind has no adapter.  Never raises, for any JSON."""
    adapt = adapter(manifest.get("apiVersion"), manifest.get("kind"), known.pod_templates) if isinstance(manifest, dict) else None
    if adapt is None:
        return None
    try:
        annotations = Fields(manifest, WHOLE, []).mapping("metadata").annotations()
        return compile_reading(with_annotations(adapt(manifest, known), annotations, grouped=options.grouped), known, options)
    except RecursionError:
        error = field.invalid_struct(WHOLE, "must be nested less deeply: it cannot be read")
        return Compiled(Owner("", str(manifest.get("kind")), ""), "", errors=(error,))


def compile_reading(reading: Reading, known: Known, options: CompileOptions) -> Compiled:
    """Compile an object as its adapter has read it."""
    refused = _once(map(reading.relocate, reading.refused))
    if not options.judged:
        reading, refused = dataclasses.replace(reading, errors=(*reading.errors, *refused)), ()
    sets: dict[int, int] = {}
    if options.pods:
        reading = dataclasses.replace(reading, pods=tuple(_recorded(each, index, sets) for index, each in enumerate(reading.pods)))
    result = _compiled(reading, options, known.kubernetes)
    pod_sets = tuple(sets[id(each)] for each in result.objects if each["kind"] == "Pod")
    parts = tuple(reading.pods[each].part for each in pod_sets)
    result = dataclasses.replace(result, pod_sets=pod_sets, parts=parts, refused=refused)
    return _with_dependents(result, reading, known, options) if reading.dependents and not result.errors else result


def _with_dependents(result: Compiled, reading: Reading, known: Known, options: CompileOptions) -> Compiled:
    """Return *result* with what the controllers of the dependents of an object create, in their order, pods last."""
    compiled: list[Compiled] = []
    manifests: list[Json] = []
    for dependent in reading.dependents:
        manifest = copied(dependent.manifest)
        if reading.namespace:
            manifest["metadata"]["namespace"] = reading.namespace
        manifests.append(manifest)
        compiled.append(_dependent(dependent, manifest, known, options))
        if sum(len(each.objects) for each in compiled) > MAX_PODS:
            error = field.invalid_struct(WHOLE, f"must make at most {MAX_PODS} pods")
            return dataclasses.replace(result, errors=(*result.errors, error))
    ordered = [each for each in compiled if each.waits]
    if len(ordered) > 1:
        compiled = [dataclasses.replace(each, **_named_parts(each)) for each in compiled]
    errors = tuple(error for each in compiled for error in each.errors)
    reasons = [each.skipped for each in compiled if each.skipped]
    skipped = next((each for each in reasons if each != ONE_BY_ONE), "") or (ONE_BY_ONE if len(reasons) == len(compiled) else "")
    made = () if errors or skipped not in ("", ONE_BY_ONE) else compiled
    pods = [pod for each in made for pod in _pods(each)]
    # The plans of the dependents are numbered one after the other.
    first = [0, *itertools.accumulate(max(each.pod_sets, default=-1) + 1 for each in made)]
    return dataclasses.replace(
        result,
        objects=(*(other for each in made for other in each.objects if other["kind"] != "Pod"), *pods),
        explained=tuple(template for each in made for template in each.explained),
        errors=(*result.errors, *errors),
        warnings=(*result.warnings, *(warning for each in compiled for warning in each.warnings)),
        losses=(*result.losses, *(loss for each in compiled for loss in each.losses)),
        skipped=skipped,
        waits={part: wait for each in made for part, wait in each.waits.items()},
        parts=tuple(part for each in made for part in each.parts),
        pod_sets=tuple(before + each for before, one in zip(first, made, strict=False) for each in one.pod_sets),
        confined=tuple(_renumbered(each, before) for before, one in zip(first, made, strict=False) for each in one.confined),
        minimums=_minimums(made),
        owned=tuple(each for before, one, manifest in zip(first, made, manifests, strict=False) for each in _owned(manifest, one, before)),
        refused=(*result.refused, *(error for each in compiled for error in each.refused)),
    )


def _owned(manifest: Json, compiled: Compiled, before: int) -> Iterator[tuple[Json, frozenset[int]]]:
    """Yield an object with the plans of its pods, and those below it; *before* is the number of plans of the objects before it."""
    yield manifest, frozenset(before + each for each in compiled.pod_sets)
    for below, sets in compiled.owned:
        yield below, frozenset(before + each for each in sets)


def _renumbered(confined: Confined, before: int) -> Confined:
    return dataclasses.replace(confined, pod_sets=frozenset(before + each for each in confined.pod_sets))


def _minimums(compiled: Iterable[Compiled]) -> dict[str, FieldPath | None]:
    """Return the fields with minimums of several objects, by template; None if two fields are those of templates with one name."""
    result: dict[str, FieldPath | None] = {}
    for template, path in (item for each in compiled for item in each.minimums.items()):
        result[template] = path if result.get(template, path) == path else None
    return result


def _dependent(dependent: Dependent, manifest: dict[str, Json], known: Known, options: CompileOptions) -> Compiled:
    """Return the result for a dependent, with paths in the user's object.  Objects without an adapter are created as they are."""
    owner = Owner(str(manifest.get("apiVersion")), str(manifest.get("kind")), str(manifest["metadata"].get("name")))
    made = compile_object(manifest, known, options)
    if made is None:
        # A native group is created like any other object.
        reason = "" if served_versions.serves(group_of(owner.api_version), owner.kind) else skip_reason(manifest).reason
        namespace = manifest["metadata"].get("namespace", "")
        created = tuple(group_instances.single_pods(dependent.pods, namespace)) if reason else (manifest,)
        skipped = "" if dependent.pods or not reason else reason
        if not options.pods:
            return Compiled(owner, "", skipped=skipped or ONE_BY_ONE)
        count = sum(each["kind"] == "Pod" for each in created)
        return Compiled(owner, "", objects=created, skipped=skipped, parts=("",) * count, pod_sets=(0,) * count)
    if made.skipped not in ("", ONE_BY_ONE):
        made = dataclasses.replace(made, skipped=f"{owner.kind} {owner.name}: {made.skipped}")

    def relocated(error: FieldError) -> FieldError:
        return dataclasses.replace(error, path=dependent.relocated(error.path))

    return dataclasses.replace(
        made,
        errors=tuple(map(relocated, made.errors)),
        refused=tuple(map(relocated, made.refused)),
        # A uid is given to a dependent when it is created.
        warnings=tuple(relocated(each) for each in made.warnings if each.path.parts[-2:] != ("metadata", "uid")),
        losses=tuple(dataclasses.replace(each, path=_path_of_loss(each, dependent)) for each in made.losses),
        confined=tuple(dataclasses.replace(each, path=dependent.relocated(each.path)) for each in made.confined),
        minimums={template: None if path is None else dependent.relocated(path) for template, path in made.minimums.items()},
    )


def _path_of_loss(loss: Loss, dependent: Dependent) -> FieldPath:
    """Return the path in the user's object of a *loss* of a dependent, to which the object may pass its own label for a queue."""
    is_passed = kueue_annotations.is_queue(loss.path) and not loss.path.starts_with(dependent.below)
    return loss.path if is_passed else dependent.relocated(loss.path)


def _named_parts(compiled: Compiled) -> dict[str, Any]:
    """Return waits and parts with the name of the object, as those of several objects can have the same names."""

    def named(part: str) -> str:
        return f"{compiled.owner.name}/{part}" if part else ""

    waits = {named(part): Wait(wait.event, tuple(map(named, wait.parts))) for part, wait in compiled.waits.items()}
    return {"waits": waits, "parts": tuple(map(named, compiled.parts))}


def _pods(compiled: Compiled) -> Iterator[dict[str, Json]]:
    return (each for each in compiled.objects if each["kind"] == "Pod")


def _recorded(plan: PodPlan, index: int, sets: dict[int, int]) -> PodPlan:
    """Return *plan*; its *index* is added to *sets* for each pod that it creates, by the identity of the pod."""

    def make(positions: Positions, number: int) -> dict[str, Json]:
        pod = plan.make(positions, number)
        sets[id(pod)] = index
        return pod

    return dataclasses.replace(plan, make=make)


def _compiled(reading: Reading, options: CompileOptions, kubernetes: int) -> Compiled:
    result = Compiled(
        reading.owner,
        reading.namespace,
        errors=_once(reading.errors),
        warnings=_once(reading.warnings),
        losses=tuple(dict.fromkeys(reading.losses)),
        skipped=reading.skipped,
        waits=reading.waits,
        minimums={item.name: item.minimum_path for item in walk(reading.root) if item.minimum_path != WHOLE} if reading.root else {},
    )
    try:
        if reading.root is not None and not reading.errors and (named := reading.named_group()) is not None:
            return _without_own_groups(reading, reading.root, result, options, named)
        if reading.root is not None:
            return _from_tree(reading, result, options, kubernetes)
        if reading.link is not None and not reading.errors:
            objects = _from_link(reading, reading.link, options, kubernetes)
            return dataclasses.replace(result, objects=objects)
        if reading.pods and options.pods and not reading.errors:
            objects = (*_further(reading), *group_instances.single_pods(reading.pods, reading.namespace))
            return dataclasses.replace(result, objects=objects, skipped="" if objects else ONE_BY_ONE)
    except BuildError as error:
        return dataclasses.replace(result, errors=_once((*reading.errors, *map(reading.relocate, error.errors))))
    return result


def _from_tree(reading: Reading, result: Compiled, options: CompileOptions, kubernetes: int) -> Compiled:
    """Return *result* with the Workload of a tree and the other objects.

    Raises:
        BuildError: no valid Workload can be built.
    """
    if reading.root is None:
        return result
    name = names.distinct_workload_name(reading.owner, reading.namespace) if options.distinct else ""
    capabilities = reading.policies, reading.modes
    identity = BuildOptions(name, reading.namespace, reading.owner, *capabilities, options.version, kubernetes, options.api)
    builder = Builder(reading.root, identity)
    errors = _once((*reading.errors, *map(reading.relocate, builder.validate())))
    warnings = _once((*reading.warnings, *map(reading.relocate, builder.warnings())))
    if errors:
        return dataclasses.replace(result, errors=errors, warnings=warnings)
    resolved = builder.resolved()
    workload = builder.build_workload()
    objects = [workload]
    delegated = options.delegated and bool(reading.children)
    if options.groups:
        objects += [each for each in builder.groups() if not delegated or each["kind"] == "CompositePodGroup"]
    if delegated or options.pods:
        naming = Naming(workload["metadata"]["name"], reading.owner.uid, kubernetes, identity.api_version)
        leaves = group_instances.leaves(resolved, naming)
    if delegated:
        warnings = (*warnings, *_children_without_group(reading, workload, kubernetes))
        objects += group_instances.children(leaves, reading.children, reading.namespace, naming)
    if options.pods:
        objects += _further(reading)
        objects += group_instances.pods(leaves, reading.pods, reading.namespace, identity.api_version)
        objects += group_instances.single_pods([each for each in reading.pods if not each.template], reading.namespace)
    return dataclasses.replace(result, objects=tuple(objects), explained=explain(resolved, reading.origins), warnings=warnings)


def _without_own_groups(reading: Reading, root: WorkloadItem, result: Compiled, options: CompileOptions, named: NamedGroup) -> Compiled:
    """Return *result* with the pods of an object whose template names a group: its controller creates no other one then.

    What the object says about groups has no effect.  Kueue's constraints still have one: if the object is judged, those of one group concern
    the named one, and nothing expresses the others.
    """
    why = f"a pod template names {named}, so no other group is created"
    told = [field.invalid_struct(path, f"has no effect: {why}") for item in walk(root) for _, path in item.intent.paths]
    if not told and root.default.policy is not None and root.default.policy.kind is PolicyKind.GANG:
        told.append(field.invalid_struct(root.path, f"the pods are no gang of their own: {why}"))
    paths = dict.fromkeys(path for _, _, path in reading.origins)
    confined = confined_pods(reading) if options.judged else ()
    for each in confined:
        paths.pop(each.path)
    losses = (
        kueue_podsets.unexpressed_constraint(path, why) if kueue_annotations.is_constraint(path) else Loss(path, f"has no effect: {why}")
        for path in paths
    )
    created = group_instances.outside_groups(root, reading.pods, reading.namespace) if options.pods else ()
    objects = (*_further(reading), *created) if options.pods else ()
    return dataclasses.replace(
        result,
        objects=objects,
        warnings=_once((*reading.warnings, *map(reading.relocate, told))),
        losses=tuple(dict.fromkeys((*reading.losses, *losses))),
        confined=confined,
        skipped="" if objects else ONE_BY_ONE if options.pods else f"{why}; --pods creates the pods",
    )


def confined_pods(reading: Reading) -> tuple[Confined, ...]:
    """Return the pods that Kueue places in one domain: those below one item that has one group, and whose constraint no other item has."""
    root = reading.root
    if root is None:
        return ()
    constraints = [(name, path) for name, _, path in reading.origins if kueue_annotations.is_constraint(path)]
    paths = Counter(path for _, path in constraints)
    items = {item.name: item for item in _single(root)}
    found = []
    for name, path in constraints:
        if paths[path] == 1 and name in items and (topology := items[name].default.topology):
            leaves = {each.name for each in walk(items[name])}
            plans = frozenset(index for index, plan in enumerate(reading.pods) if plan.template in leaves)
            found.append(Confined(topology[0], path, plans))
    return tuple(found)


def _single(item: WorkloadItem) -> Iterator[WorkloadItem]:
    """Yield the items of a tree that have one group each."""
    if item.replicas == 1:
        yield item
        for child in item.children:
            yield from _single(child)


def _further(reading: Reading) -> Iterator[dict[str, Json]]:
    return (group_instances.with_namespace(copied(each), reading.namespace) for each in reading.further)


def _children_without_group(reading: Reading, workload: dict[str, Json], kubernetes: int) -> Iterator[FieldError]:
    """Yield a warning for each template below the top level, which the Job controller does not read."""
    is_retried = kubernetes >= kubernetes_releases.FIRST_WITH_WORKLOAD_NAME
    effect = "it would create no pods either" if is_retried else "its pods would have no group"
    top_level = {each["name"] for each in workload["spec"].get("podGroupTemplates") or ()}
    for child in sorted({each.template for each in reading.children} - top_level):
        yield field.invalid_struct(
            FieldPath("spec"),
            f'the Job controller of Kubernetes {kubernetes_releases.name(kubernetes)} creates no PodGroup for the template "{child}", which is below another one: '
            f"{effect}; omit --delegated",
        )


def _from_link(reading: Reading, link: Link, options: CompileOptions, kubernetes: int) -> tuple[dict[str, Json], ...]:
    """Return a child's group, created from its parent's Workload, and its pods.

    Raises:
        BuildError: the parent's Workload is invalid or does not have the template.
    """
    builder = Builder.from_workload(link.workload, kubernetes=kubernetes)
    # Without a uid, the name of the child distinguishes its group from those of its siblings.
    uid = reading.owner.uid or reading.owner.name
    api_version = link.workload["apiVersion"]
    longest = names.longest_group_name(api_version, composite=False)
    own = names.group_name(link.workload["metadata"]["name"], link.template, owner_uid=uid, kubernetes=kubernetes, longest=longest)
    name = own if link.index is None else None
    group = builder.pod_group(link.template, name=name, parent=link.parent or None, index=link.index or None, owner=reading.owner)
    group_name = group["metadata"]["name"]
    objects = [group] if options.groups else []
    if options.pods:
        objects += group_instances.pods(
            [Instance(link.template, (*(link.index or ()), 0), group_name, link.parent)], reading.pods, reading.namespace, api_version
        )
    return tuple(objects)


def _once(errors: Iterable[FieldError]) -> tuple[FieldError, ...]:
    """Return *errors* without duplicates, in order of field path."""
    distinct: dict[tuple[str, str], FieldError] = {}
    for each in errors:
        distinct.setdefault((str(each.path), str(each)), each)
    return in_order(distinct.values())
