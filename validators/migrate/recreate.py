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

from kubeapi.decode import Json
from kubeapi.versions import releases
from validators import pipeline, rules
from validators.field import FieldError
from validators.lookup import KnownObjects
from validators.rules.base import About, Operation, Profile, Settings, Severity

Content = Mapping[str, Json]
KINDS = ("Workload", "CompositePodGroup", "PodGroup")
"""Kinds whose objects can be stuck, parents first: they are created in this order and deleted in the reverse order."""
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


Name = tuple[str, str, str]
"""Kind, namespace and name."""


class _Stored:
    """Stored objects, with the newer version's answers about them."""

    def __init__(self, objects: Iterable[Content], minor: int) -> None:
        self.objects = {name_of(each): each for each in objects}
        self.minor = minor
        self._lookup = KnownObjects(filter(None, map(pipeline.decode_for_lookup, self.objects.values())), complete=False)

    def errors(self, content: Content, operation: Operation) -> tuple[FieldError, ...]:
        """Return the errors of the API server about a request, and those of the scheduler about the object's place in its tree."""
        return (*self._errors(content, operation, Profile.UPSTREAM), *self._tree_errors(content))

    def _tree_errors(self, content: Content) -> Iterator[FieldError]:
        for error in self._errors(content, Operation.CREATE, Profile.KEP):
            rule = rules.ALL[error.origin]
            if rule.about is About.TREE and rule.since > releases.TODAY:
                yield error

    def _errors(self, content: Content, operation: Operation, profile: Profile) -> Iterator[FieldError]:
        violations = pipeline.validate(
            str(content["kind"]),
            content,
            content if operation is Operation.UPDATE else None,
            operation,
            api_version=str(content["apiVersion"]),
            settings=Settings(profile=profile, minor=self.minor),
            lookup=self._lookup,
        )
        return (each.error for each in violations if each.severity is Severity.ERROR)

    def parent(self, content: Content) -> Content | None:
        """Return the parent of a group; None if it has none, or one that is not stored."""
        parent = _section(content, "spec").get("parentCompositePodGroupName")
        return self.objects.get(("CompositePodGroup", name_of(content)[1], str(parent))) if parent else None

    def tree(self, content: Content) -> tuple[str, str]:
        """Return namespace and Workload of an object; for a group without a Workload, its root."""
        kind, namespace, name = name_of(content)
        workload = name if kind == "Workload" else _section(_section(content, "spec"), "workloadRef").get("workloadName")
        if workload:
            return namespace, str(workload)
        parent = self.parent(content)
        return self.tree(parent) if parent is not None else (namespace, name)


def recreations(objects: Iterable[Content], minor: int) -> list[Recreation]:
    """Return what must be created again before an upgrade to Kubernetes 1.*minor*, by Workload, in order of namespace and name.

    *objects* are stored objects of KINDS.  An object is stuck if the newer version refuses an update that changes nothing, or if its
    scheduler places no group of the tree.
    """
    stored = _Stored(objects, minor)
    stuck = {name: errors for name, each in stored.objects.items() if (errors := stored.errors(each, Operation.UPDATE))}
    trees: dict[tuple[str, str], list[Name]] = {}
    for name in sorted(stuck, key=lambda name: (KINDS.index(name[0]), name)):
        trees.setdefault(stored.tree(stored.objects[name]), []).append(name)
    return [_recreation(stored, {name: stuck[name] for name in trees[key]}) for key in sorted(trees)]


def _recreation(stored: _Stored, stuck: Mapping[Name, tuple[FieldError, ...]]) -> Recreation:
    errors = tuple((stored.objects[name], each) for name, each in stuck.items())
    mended: dict[Name, Content] = {}
    for name in stuck:
        parent = stored.parent(stored.objects[name])
        mended[name] = _mended(stored.objects[name], parent and mended.get(name_of(parent), parent))
    after = _Stored([*(stored.objects | mended).values()], stored.minor)
    if unmended := tuple((each, left) for each in mended.values() if (left := after.errors(each, Operation.CREATE))):
        return Recreation(errors, unmended=unmended)
    return Recreation(errors, tuple(_steps(stored, mended)), waiting=tuple(_waiting(stored, mended)))


def _steps(stored: _Stored, mended: Mapping[Name, Content]) -> Iterator[Step]:
    for name in reversed([*mended]):
        before = stored.objects[name]
        if _section(before, "metadata").get("finalizers"):
            yield Step(Action.REMOVE_FINALIZERS, before)
        yield Step(Action.DELETE, before)
    yield from (Step(Action.CREATE, each) for each in mended.values())
    for content in stored.objects.values():
        for reference in _references(content):
            owner = stored.objects.get((str(reference.get("kind")), name_of(content)[1], str(reference.get("name"))))
            if owner is not None and name_of(owner) in mended and reference.get("uid") == _section(owner, "metadata").get("uid"):
                yield Step(Action.SET_OWNER, content, owner)


def _waiting(stored: _Stored, mended: Container[Name]) -> Iterator[Content]:
    for name, content in stored.objects.items():
        above: Content | None = content
        while above is not None and name_of(above) not in mended:
            above = stored.parent(above)
        if name[0] == "PodGroup" and above is not None:
            yield content


def _mended(content: Content, parent: Content | None) -> Content:
    """Return an object to create in place of a stored one, legal below its *parent*."""
    result = copy.deepcopy(dict(content))
    result.pop("status", None)
    metadata = {key: value for key, value in _section(content, "metadata").items() if key not in _SET_BY_SERVER}
    metadata.pop("ownerReferences", None)
    if references := [each for each in _references(content) if each.get("kind") not in KINDS]:
        metadata["ownerReferences"] = references
    result["metadata"] = metadata
    spec = dict(_section(result, "spec"))
    result["spec"] = spec
    if content["kind"] == "Workload":
        _mend_children(spec, None)
    else:
        _mend(spec, _section(parent, "spec") if parent is not None else None, _MIN[str(content["kind"])])
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


def name_of(content: Content) -> Name:
    """Return kind, namespace and name of an object."""
    metadata = _section(content, "metadata")
    return str(content["kind"]), str(metadata.get("namespace") or "default"), str(metadata.get("name"))


def _section(content: object, name: str) -> Mapping[str, Any]:
    value = content.get(name) if isinstance(content, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _references(content: Content) -> list[Mapping[str, Any]]:
    references = _section(content, "metadata").get("ownerReferences")
    return [each for each in references if isinstance(each, Mapping)] if isinstance(references, list) else []
