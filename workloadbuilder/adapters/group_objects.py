"""The Workload and the groups of a controller's object on a live cluster: those that should exist, and the steps to them.

For a program that creates groups for controllers which create none.  The steps are pure: each pass compares what should exist with what
exists, and the next pass continues after a crash at any step.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kubeapi.decode import Json, section
from kubeapi.groups import TREE_KINDS
from kubeapi.versions.kubernetes_releases import FIRST_WITH_MUTABLE_COMPOSITES
from validators.field import FieldError
from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.members import MEMBERS, NotToldApart, member_labels, members_in, written
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.named_groups import scheduler_of
from workloadbuilder.errors import BuildError
from workloadbuilder.update import Action, changes, normalized_group

MANAGED_BY = "app.kubernetes.io/managed-by", "muster"
"""Label of the objects that are created from what this module returns, with its value."""
Name = tuple[str, str]
"""Kind and name of an object in the namespace."""


@dataclasses.dataclass(frozen=True, slots=True)
class Desired:
    """Objects that should exist for an object, the Workload first, then groups from the root down.

    There are none if it has *errors*; if it is *suspended*; or if *skipped* gives another reason.  *confused* are two groups whose pods
    have the same labels, an empty name for pods without a group.  *schedulers* are the scheduler names of the pods, empty for the default.
    *compiled* is the result of the adapter, with the pods; its objects include the others.
    """

    objects: tuple[dict[str, Json], ...] = ()
    errors: tuple[FieldError, ...] = ()
    skipped: str = ""
    suspended: bool = False
    confused: tuple[str, ...] = ()
    schedulers: frozenset[str] = frozenset()
    compiled: Compiled | None = None


def desired(manifest: Json, known: Known, api_version: str, *, distinct: bool = False) -> Desired | None:
    """Return what should exist for *manifest*, in the *api_version* of Workloads; None if its kind has no adapter.  Never raises.

    *distinct*: see CompileOptions.
    """
    group, _, version = api_version.rpartition("/")
    options = CompileOptions(groups=True, pods=True, grouped=True, distinct=distinct, api=group, version=version)
    compiled = compile_object(manifest, known, options)
    if compiled is None:
        return None
    objects = [each for each in compiled.objects if each["kind"] in TREE_KINDS]
    if compiled.errors or not objects:
        return Desired(errors=compiled.errors, skipped=compiled.skipped, compiled=compiled)
    if is_suspended(manifest):
        return Desired(suspended=True, compiled=compiled)
    pods = [each for each in compiled.objects if each["kind"] == "Pod"]
    try:
        members = member_labels(pods)
    except NotToldApart as error:
        return Desired(confused=error.groups, compiled=compiled)
    for each in objects:
        metadata = each["metadata"]
        metadata["labels"] = dict([MANAGED_BY])
        if each["kind"] == "PodGroup":
            metadata["annotations"] = {MEMBERS: written(members.get(metadata["name"], ()))}
    return Desired(tuple(objects), schedulers=frozenset(map(scheduler_of, pods)), compiled=compiled)


def is_suspended(manifest: Json) -> bool:
    """Return whether an object is suspended: by itself, or by what queues it.  Its pods do not exist, or are being deleted."""
    spec = section(manifest, "spec")
    return spec.get("suspend") is True or section(spec, "runPolicy").get("suspend") is True


class StepKind(enum.StrEnum):
    """Kind of a write."""

    CREATE = "create"
    PATCH = "patch"
    DELETE = "delete"


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One write: *body* is the object to create, or the JSON merge patch (RFC 7386); None to delete *name*."""

    kind: StepKind
    name: Name
    body: dict[str, Json] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Steps:
    """Writes of one pass, in order, and the objects that stay as they are, or are not created, while pods of old groups exist.

    *surplus* are those that are not wanted, and stay for that time too.
    """

    writes: tuple[Step, ...] = ()
    outdated: tuple[Name, ...] = ()
    surplus: tuple[Name, ...] = ()


def steps(
    wanted: Sequence[dict[str, Json]], existing: Iterable[Mapping[str, Json]], is_used: Callable[[str], bool], kubernetes: int
) -> Steps:
    """Return the writes from the *existing* objects of an owner to the *wanted* ones; *is_used* tells whether a PodGroup has pods.

    A group that differs in an immutable field is deleted, and created when it is gone, but not while pods below it exist: they would lose
    their group.  The same holds for the Workload; until it is replaced, no group of its new templates is created.  What is being
    deleted already is waited for.
    """
    there = {_name(each): each for each in existing}
    used = functools.cache(lambda: _used(there.values(), is_used))
    writes, deleted, outdated = list[Step](), list[Name](), list[Name]()
    for each in wanted:
        name = _name(each)
        old = there.get(name)
        if old is None:
            writes.append(Step(StepKind.CREATE, name, each))
        elif not _ends(old):
            patch = _patch(old, each, kubernetes)
            if patch is None:
                (outdated if name in used() else deleted).append(name)
            elif patch:
                writes.append(Step(StepKind.PATCH, name, patch))
    if any(kind == "Workload" for kind, _ in outdated):
        outdated += [*(each.name for each in writes if each.kind is StepKind.CREATE), *deleted]
        writes, deleted = [each for each in writes if each.kind is StepKind.PATCH], []
    surplus = sorted(name for name in there.keys() - {_name(each) for each in wanted} if not _ends(there[name]))
    kept = [name for name in surplus if name in used()]
    deleted += [name for name in surplus if name not in kept]
    # From the leaves up: a group is not deleted before those that name it.
    deleted.sort(key=lambda name: (-TREE_KINDS.index(name[0]), name[1]))
    return Steps((*writes, *(Step(StepKind.DELETE, name) for name in deleted)), tuple(outdated), tuple(kept))


def _patch(old: Mapping[str, Json], new: Mapping[str, Json], kubernetes: int) -> dict[str, Json] | None:
    """Return the patch from an object to another one, empty if nothing differs; None if an immutable field differs."""
    if new["kind"] == "Workload":
        try:
            found = [each for each in changes(old, new, kubernetes=kubernetes) if each.kind == "Workload"]
        except BuildError:
            # Another program has changed it into one that cannot be read.
            return None
        return None if any(each.action is not Action.PATCH for each in found) else (found[0].patch if found else {})
    before, after = normalized_group(old), normalized_group(new)
    differing = {key for key in before if before[key] != after[key]}
    field = "minCount" if new["kind"] == "PodGroup" else "minGroupCount"
    is_fixed = new["kind"] != "PodGroup" and kubernetes < FIRST_WITH_MUTABLE_COMPOSITES
    if differing - {"minimum"} or (differing and (is_fixed or after["minimum"] is None or before["minimum"] is None)):
        return None
    patch: dict[str, Json] = {"spec": {"schedulingPolicy": {"gang": {field: after["minimum"]}}}} if differing else {}
    if members_in(old) != members_in(new):
        patch["metadata"] = {"annotations": {MEMBERS: new["metadata"]["annotations"][MEMBERS]}}
    return patch


def _used(existing: Collection[Mapping[str, Json]], is_used: Callable[[str], bool]) -> set[Name]:
    """Return the groups with pods, those above them, and their Workload."""
    by_name = {_name(each): each for each in existing}
    used: set[Name] = set()
    for each in existing:
        if each["kind"] == "PodGroup" and is_used(each["metadata"]["name"]):
            used.update(_above(each, by_name))
    if used:
        used.update(name for name in by_name if name[0] == "Workload")
    return used


def _above(group: Mapping[str, Json], by_name: Mapping[Name, Mapping[str, Json]]) -> Iterator[Name]:
    """Yield the name of a group and those of the groups above it."""
    seen: set[Name] = set()
    at: Mapping[str, Json] | None = group
    while at is not None and _name(at) not in seen:
        seen.add(_name(at))
        yield _name(at)
        at = by_name.get(("CompositePodGroup", str(section(at, "spec").get("parentCompositePodGroupName") or "")))


def _name(manifest: Mapping[str, Json]) -> Name:
    return str(manifest["kind"]), str(manifest["metadata"]["name"])


def _ends(manifest: Mapping[str, Json]) -> bool:
    return manifest["metadata"].get("deletionTimestamp") is not None
