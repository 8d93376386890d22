"""One object compiled: its Workload, and if wanted its groups, its pods, or the children that make the groups themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from validators.versions.served import hub_of
from workloadbuilder.adapters import group_instances
from workloadbuilder.adapters.explained import ExplainedTemplate, explain
from workloadbuilder.adapters.group_instances import Instance
from workloadbuilder.adapters.kinds import adapter
from workloadbuilder.adapters.shared.adapter_result import Link, Loss, Reading
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.builder import Builder, BuildOptions
from workloadbuilder.errors import BuildError, in_order
from workloadbuilder.item import WHOLE, Owner


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be made besides the Workload, and in which *version* of ``scheduling.k8s.io``.

    With *delegated*, groups of pods are left to the controllers of child objects: these are made, with annotations that
    tell which group is theirs, and of the groups only the composites.
    """

    groups: bool = False
    pods: bool = False
    delegated: bool = False
    version: str = hub_of("Workload").version


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """What came of one object.  Where there are *errors* nothing was made; *skipped* says why else."""

    owner: Owner
    namespace: str
    objects: tuple[dict[str, Json], ...] = ()
    explained: tuple[ExplainedTemplate, ...] = ()
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    losses: tuple[Loss, ...] = ()
    skipped: str = ""


def compile_object(found: Json, known: Known, wanted: Wanted) -> Compiled | None:
    """What is made of an object; None where its kind is none of ``KINDS``.  Never raises, whatever JSON it is."""
    read = adapter(found.get("apiVersion"), found.get("kind")) if isinstance(found, dict) else None
    if read is None:
        return None
    try:
        return _compiled(read(found, known), wanted)
    except RecursionError:
        error = field.invalid_struct(WHOLE, "must be nested less deeply: it cannot be read")
        return Compiled(Owner("", str(found.get("kind")), ""), "", errors=(error,))


def _compiled(reading: Reading, wanted: Wanted) -> Compiled:
    result = Compiled(
        reading.owner,
        reading.namespace,
        errors=_once(reading.errors),
        warnings=_once(reading.warnings),
        losses=tuple(dict.fromkeys(reading.losses)),
        skipped=reading.skipped,
    )
    try:
        if reading.root is not None:
            return _from_tree(reading, result, wanted)
        if reading.link is not None and not reading.errors:
            objects = _from_link(reading, reading.link, wanted)
            return dataclasses.replace(result, objects=objects)
    except BuildError as error:
        return dataclasses.replace(result, errors=_once((*reading.errors, *map(reading.retold, error.errors))))
    return result


def _from_tree(reading: Reading, result: Compiled, wanted: Wanted) -> Compiled:
    """The Workload of a tree and what goes with it.

    Raises:
        BuildError: no sound Workload can be built.
    """
    if reading.root is None:
        return result
    options = BuildOptions("", reading.namespace, reading.owner, reading.policies, reading.modes, wanted.version)
    builder = Builder(reading.root, options)
    errors = _once((*reading.errors, *map(reading.retold, builder.validate())))
    warnings = _once((*reading.warnings, *map(reading.retold, builder.warnings())))
    if errors:
        return dataclasses.replace(result, errors=errors, warnings=warnings)
    resolved = builder.resolved()
    workload = builder.build_workload()
    objects = [workload]
    delegated = wanted.delegated and bool(reading.children)
    if wanted.groups:
        objects += [each for each in builder.groups() if not delegated or each["kind"] == "CompositePodGroup"]
    if delegated or wanted.pods:
        leaves = group_instances.leaves(resolved, workload["metadata"]["name"], hashed=bool(reading.owner.uid))
    if delegated:
        warnings = (*warnings, *_unseen(reading, workload))
        objects += group_instances.children(leaves, reading.children, reading.namespace)
    if wanted.pods:
        objects += group_instances.pods(leaves, reading.pods, reading.namespace)
    return dataclasses.replace(result, objects=tuple(objects), explained=explain(resolved, reading.origins), warnings=warnings)


def _unseen(reading: Reading, workload: dict[str, Json]) -> Iterator[FieldError]:
    """Children whose group no controller will make: that of Jobs, in Kubernetes 1.37, looks at the top of a Workload alone."""
    seen = {each["name"] for each in workload["spec"].get("podGroupTemplates") or ()}
    for child in sorted({each.template for each in reading.children} - seen):
        yield field.invalid_struct(
            FieldPath("spec"),
            f'the Job controller of Kubernetes 1.37 makes no PodGroup of the template "{child}", which is below another: its pods would '
            "belong to no group; leave out --delegated",
        )


def _from_link(reading: Reading, link: Link, wanted: Wanted) -> tuple[dict[str, Json], ...]:
    """A child's group, made of its parent's Workload; and its pods.

    Raises:
        BuildError: the Workload is none, or has no such template.
    """
    builder = Builder.from_workload(link.workload)
    group = builder.pod_group(
        link.template, name=link.name or None, parent=link.parent or None, index=link.index or None, owner=reading.owner
    )
    name = group["metadata"]["name"]
    objects = [group] if wanted.groups else []
    if wanted.pods:
        objects += group_instances.pods([Instance(link.template, (*link.index, 0), name, link.parent)], reading.pods, reading.namespace)
    return tuple(objects)


def _once(errors: Iterable[FieldError]) -> tuple[FieldError, ...]:
    """Each of *errors* once, in order of field path."""
    told: dict[tuple[str, str], FieldError] = {}
    for each in errors:
        told.setdefault((str(each.path), str(each)), each)
    return in_order(told.values())
