"""Objects that a newer version of Kubernetes refuses to update, and the steps that replace them by legal ones before the upgrade.

Policies and disruption modes are immutable, so an object is deleted and created again under its name.  Only what the newer version refuses
is changed: a gang above a child that is no gang, and mode All above a child that is not, or without a gang.  The child becomes a gang of
one, which is scheduled as soon as one of its members is, and gets the mode of its parent.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.groups import TREE_KINDS
from validators.field import FieldError
from validators.migrate.stored_objects import Content, Name, ObjectsToUpgrade, name_of, references_of
from validators.rules.base import Operation

_COMPOSITES, _LEAVES = "compositePodGroupTemplates", "podGroupTemplates"
_MIN = {"CompositePodGroup": "minGroupCount", "PodGroup": "minCount"}
_SET_BY_SERVER = frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "finalizers"})


class Action(enum.StrEnum):
    """Kind of a step."""

    REMOVE_FINALIZERS = "removeFinalizers"
    DELETE = "delete"
    CREATE = "create"
    SET_OWNER = "setOwner"


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """Step with one object.

    Attributes:
        content: the object: as stored, or for CREATE the one that is to be created.
        owner: for SET_OWNER, the owner that the object lost when it was created again; None otherwise.

    """

    action: Action
    content: Content
    owner: Content | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Recreation:
    """Stuck objects of one tree, and the steps that replace them.

    Attributes:
        errors: by object, why the newer version refuses updates of it, or never places it.
        steps: steps in their order; empty if the objects cannot be mended.
        unmended: errors that would be left; *steps* is empty then.
        waiting: PodGroups whose pending pods cannot be scheduled until the steps are done.

    """

    errors: tuple[tuple[Content, tuple[FieldError, ...]], ...]
    steps: tuple[Step, ...] = ()
    unmended: tuple[tuple[Content, tuple[FieldError, ...]], ...] = ()
    waiting: tuple[Content, ...] = ()


def recreations(objects: Iterable[Content], minor: int) -> list[Recreation]:
    """Return what must be created again before an upgrade to Kubernetes 1.*minor*, by Workload, in order of namespace and name.

    *objects* are stored objects of TREE_KINDS.  An object is stuck if the newer version refuses an update that changes nothing, or if its
    scheduler places no group of the tree.
    """
    stored = ObjectsToUpgrade(objects, minor)
    stuck = {name: errors for name, each in stored.objects.items() if (errors := stored.stuck_errors(each))}
    trees: dict[tuple[str, str], list[Name]] = {}
    for name in sorted(stuck, key=lambda name: (TREE_KINDS.index(name[0]), name)):
        trees.setdefault(stored.tree(stored.objects[name]), []).append(name)
    return [_recreation(stored, {name: stuck[name] for name in trees[key]}) for key in sorted(trees)]


def _recreation(stored: ObjectsToUpgrade, stuck: Mapping[Name, tuple[FieldError, ...]]) -> Recreation:
    errors = tuple((stored.objects[name], each) for name, each in stuck.items())
    mended: dict[Name, Content] = {}
    for name in stuck:
        parent = stored.parent(stored.objects[name])
        mended[name] = _mended(stored.objects[name], parent and mended.get(name_of(parent), parent))
    after = ObjectsToUpgrade([*(stored.objects | mended).values()], stored.minor)
    if unmended := tuple(
        (each, left) for each in mended.values() if (left := (*after.errors(each, Operation.CREATE), *after.tree_errors(each)))
    ):
        return Recreation(errors, unmended=unmended)
    return Recreation(errors, tuple(_steps(stored, mended)), waiting=tuple(_waiting(stored, mended)))


def _steps(stored: ObjectsToUpgrade, mended: Mapping[Name, Content]) -> Iterator[Step]:
    for name in reversed([*mended]):
        before = stored.objects[name]
        if section(before, "metadata").get("finalizers"):
            yield Step(Action.REMOVE_FINALIZERS, before)
        yield Step(Action.DELETE, before)
    yield from (Step(Action.CREATE, each) for each in mended.values())
    for content in stored.objects.values():
        for reference in references_of(content):
            owner = stored.objects.get((str(reference.get("kind")), name_of(content)[1], str(reference.get("name"))))
            if owner is not None and name_of(owner) in mended and reference.get("uid") == section(owner, "metadata").get("uid"):
                yield Step(Action.SET_OWNER, content, owner)


def _waiting(stored: ObjectsToUpgrade, mended: Container[Name]) -> Iterator[Content]:
    for name, content in stored.objects.items():
        if name[0] == "PodGroup" and any(name_of(above) in mended for above in stored.upwards(content)):
            yield content


def _mended(content: Content, parent: Content | None) -> Content:
    """Return an object to create in place of a stored one, legal below its *parent*."""
    result = copy.deepcopy(dict(content))
    result.pop("status", None)
    metadata = {key: value for key, value in section(content, "metadata").items() if key not in _SET_BY_SERVER}
    metadata.pop("ownerReferences", None)
    if references := [each for each in references_of(content) if each.get("kind") not in TREE_KINDS]:
        metadata["ownerReferences"] = references
    result["metadata"] = metadata
    spec = dict(section(result, "spec"))
    result["spec"] = spec
    if content["kind"] == "Workload":
        _mend_children(spec, None)
    else:
        _mend(spec, section(parent, "spec") if parent is not None else None, _MIN[str(content["kind"])])
    return result


def _mend_children(parts: dict[str, Any], parent: Content | None) -> None:
    for key, minimum in ((_LEAVES, "minCount"), (_COMPOSITES, "minGroupCount")):
        for template in parts.get(key) or ():
            _mend(template, parent, minimum)
            _mend_children(template, template)


def _mend(part: dict[str, Any], parent: Content | None, minimum: str) -> None:
    """Make a template, or the spec of a group, legal below its *parent*; *minimum* is the number that its gang has."""
    if parent is not None and _has(parent, "disruptionMode", "all"):
        part["disruptionMode"] = {"all": {}}
    needs_gang = _has(part, "disruptionMode", "all") or (parent is not None and _has(parent, "schedulingPolicy", "gang"))
    if needs_gang and not _has(part, "schedulingPolicy", "gang"):
        part["schedulingPolicy"] = {"gang": {minimum: 1}}


def _has(part: Content, field: str, member: str) -> bool:
    return isinstance(value := part.get(field), dict) and value.get(member) is not None
