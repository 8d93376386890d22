"""Objects sorted by kind: lists are opened, and kinds that placement does not read are skipped.

Objects that cannot be sorted are listed as problems; the rest is processed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from kubeapi import decode, json_values
from kubeapi.base_structs import Record
from kubeapi.controllers import CONTROLLERS
from kubeapi.decode import Source
from kubeapi.gathered import DEEP, GatheredObjects, Given, ObjectList, Objects, StoredObjects, Unusable
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.names import Name as ObjectName
from kubeapi.object_heads import HEAD, IDENTIFIED, OBJECT_TYPE, Head, ObjectType
from kubeapi.problem import ObjectLeftOut, ObjectUnreadable, Problem, ProblemKind, SeveralApiGroups, SeveralObjects
from kubeapi.versions import served_versions

VOLUME_KINDS = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
"""Kinds about volumes."""
ATTACH_KINDS = ("CSINode", "CSIDriver", "VolumeAttachment")
"""Kinds with limits of the volumes that a node can attach."""
CAPACITY_KINDS = ("CSIStorageCapacity",)
"""Kinds with the storage that can be provisioned."""
DEVICE_KINDS = ("DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
"""Kinds about devices."""
SELECTING_KINDS = ("Service", *CONTROLLERS)
"""Kinds whose selectors are the default of topology spread."""
_BASIC_KINDS = ("Node", "Pod", "PodGroup", "CompositePodGroup", "Workload", "PriorityClass", "PodDisruptionBudget", "Namespace")
KINDS = (*_BASIC_KINDS, *VOLUME_KINDS, *ATTACH_KINDS, *CAPACITY_KINDS, *DEVICE_KINDS, *SELECTING_KINDS)
"""Kinds that are read."""
ADMISSION_KINDS = ("LimitRange", "ResourceQuota", "RuntimeClass")
"""Kinds that decide what the API server does to new pods; placement does not read them."""
_SORTED = frozenset((*KINDS, *ADMISSION_KINDS))

CONFIGURATION, _CONFIGURATION_GROUP = "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io"
"""Kind that is read besides those of a cluster, and its API group."""

Name = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""


def gather(objects: Iterable[Given], others: ObjectList | None = None) -> tuple[dict[str, ObjectList], list[Problem]]:
    """Return the objects by kind, with lists opened, and the problems; objects of other kinds are added to *others* if given."""
    sorter = _Sorter(others)
    for each in objects:
        if isinstance(each, GatheredObjects):
            sorter.add(each)
        elif isinstance(each, StoredObjects):
            sorter.add_stored(each)
        else:
            sorter.add_source(each)
    return sorter.kinds, sorter.problems


def left_out(kind: str, name: Name, why: str) -> Problem:
    """Return the problem of an object that is not used."""
    return Problem.about(ObjectName(kind, *name), ObjectLeftOut(why))


def several(name: ObjectName) -> Problem:
    """Return the problem of different objects of the same name."""
    return Problem.about(name, SeveralObjects())


def several_groups(name: ObjectName, used: str, ignored: str) -> Problem:
    """Return the problem of an object that is not used, because the API group *used* has one of its kind and name."""
    return Problem.about(name, SeveralApiGroups(used, ignored))


def unreadable(name: ObjectName, why: str) -> Problem:
    """Return the problem of an object that cannot be sorted by its kind, or opened."""
    return Problem.about(name, ObjectUnreadable(why))


def is_left_out(problem: Problem, kinds: Container[str]) -> bool:
    """Return whether an object of *kinds* was not used, or one that could not be read, whatever its kind may be."""
    if problem.kind is ProblemKind.UNREADABLE_OBJECT:
        return True
    return problem.kind is ProblemKind.OBJECT_LEFT_OUT and any(each.kind in kinds for each in problem.names)


def written_name(text: decode.Text) -> Name:
    """Return namespace and name of any object as far as they are present."""
    try:
        metadata = IDENTIFIED.decode(text).metadata
    except (ValueError, RecursionError):
        return "", ""
    namespace, name = (metadata.namespace, metadata.name) if metadata is not None else ("", "")
    return namespace if isinstance(namespace, str) else "", name if isinstance(name, str) else ""


class _Sorter:
    def __init__(self, others: ObjectList | None) -> None:
        self.others = others
        self.kinds = {kind: ObjectList() for kind in (*KINDS, *ADMISSION_KINDS, CONFIGURATION)}
        self.problems: list[Problem] = []
        self._lists: dict[tuple[str, str], ObjectList | None] = {}

    def add(self, gathered: GatheredObjects) -> None:
        """Sort in an object whose type is known."""
        if (listed := self._list_of(gathered.api_version, gathered.kind)) is not None:
            listed.append(gathered)

    def add_stored(self, stored: StoredObjects) -> None:
        """Sort in stored objects."""
        if (listed := self._list_of(stored.api_version, stored.kind)) is not None:
            listed.extend(stored)

    def _list_of(self, api_version: str, kind: str) -> ObjectList | None:
        """Return the list of objects of a type; None if they are skipped."""
        key = api_version, kind
        if key not in self._lists:
            group = api_version.rpartition("/")[0]
            is_read = (kind in _SORTED and served_versions.serves(group, kind)) or (group, kind) == (_CONFIGURATION_GROUP, CONFIGURATION)
            self._lists[key] = self.kinds[kind] if is_read else self.others
        return self._lists[key]

    def add_source(self, source: Source) -> None:
        """Sort in an object, or the items of a list."""
        lists = [_Open(iter((source,)))]
        while lists:
            current = lists[-1]
            try:
                each = next(current.items)
            except StopIteration:
                lists.pop()
                continue
            try:
                inner = self._sort(each, current)
            except Unusable as error:
                self.problems.append(unreadable(_name_of(each, current.kind), str(error)))
                continue
            if inner is not None:
                lists.append(inner)

    def _sort(self, source: Source, inside: _Open) -> _Open | None:
        text: decode.Text = source if isinstance(source, decode.Text) else _encoded(source)
        unnamed = ""
        try:
            head: Head | ObjectType = HEAD.decode(text)
        except (ValueError, RecursionError) as error:
            head, unnamed = _type_of(text, error), decode.shape_error(str(error))
        api_version, kind = head.api_version, head.kind
        if api_version is None and kind is None:
            api_version, kind = inside.api_version, inside.kind
        elif not (api_version and isinstance(api_version, str) and kind and isinstance(kind, str)):
            api_version, kind = _stated("apiVersion", api_version), _stated("kind", kind)
        if not kind:
            raise Unusable("kind is missing")
        if kind.endswith("List") and (head.items or kind == "List"):
            return _opened(head.items, api_version, kind)
        if (listed := self._list_of(api_version, kind)) is None:
            return None
        # A text that was encoded here has all of its values.
        if (text is source and (why := json_values.refusal(text))) or (listed is not self.others and (why := unnamed)):
            self.problems.append(left_out(kind, written_name(text), why))
        else:
            listed.append(GatheredObjects(kind, api_version, text))
        return None


class _Open(Record, frozen=True):
    """Items of a list, and their apiVersion and kind if they do not state their own."""

    items: Iterator[Source]
    api_version: str = ""
    kind: str = ""


def whole_name(gathered: GatheredObjects) -> Name | None:
    """Return namespace and name of an object, the namespace with its default; None if it has no name."""
    namespace, name = written_name(gathered.text)
    if not name:
        return None
    return "" if gathered.kind in CLUSTER_SCOPED else namespace or "default", name


def places_by_name(names: Iterable[Any], objects: Objects, pair: Callable[[Any], Name]) -> tuple[dict[Any, int], list[Problem]]:
    """Return the place of each of *names* but None, and the problems of objects of one kind and name; *names* has one for each of *objects*.

    Of several API groups, the objects of the first count.  *pair* returns the namespace and name of one of *names*.
    """
    places: dict[Any, int] = {}
    ambiguous: set[Any] = set()
    groups: dict[Any, set[str]] = {}
    for place, name in enumerate(names):
        if name in places:
            before, after = objects[places[name]], objects[place]
            if before.group != after.group:
                groups.setdefault(name, set()).update((before.group, after.group))
                if served_versions.order_of(before.kind, before.group) < served_versions.order_of(after.kind, after.group):
                    continue
                ambiguous.discard(name)
            else:
                texts = before.canonical(), after.canonical()
                if texts[0] != texts[1]:
                    ambiguous.add(name)
                if texts[0] <= texts[1]:
                    continue
            del places[name]
        if name is not None:
            places[name] = place
    problems = [several(ObjectName(objects[places[name]].kind, *pair(name))) for name in ambiguous]
    for name, those in groups.items():
        used = objects[places[name]]
        problems += [several_groups(ObjectName(used.kind, *pair(name)), used.group, each) for each in those - {used.group}]
    return places, problems


def by_name(objects: Iterable[GatheredObjects], problems: list[Problem]) -> dict[Name, GatheredObjects]:
    """Return the objects of one kind by name; those without a name have one that no other has.

    Of several objects of one name, the one that sorts first as JSON is used; different objects of one name are a problem.  Of several
    API groups, the objects of the first are used, which is a problem too.
    """
    listed = [*objects]
    names = [whole_name(each) or ("", f"/{number}") for number, each in enumerate(listed)]
    places, found = places_by_name(names, listed, lambda name: name)
    problems += found
    return {name: listed[place] for name, place in places.items()}


def _encoded(source: Source) -> bytes:
    try:
        return decode.ENCODER.encode(source)
    except RecursionError:
        raise Unusable(DEEP) from None
    except (TypeError, ValueError) as error:
        raise Unusable(f"is not JSON: {error}") from None


def _type_of(text: decode.Text, error: Exception) -> ObjectType:
    """Return the type of an object whose head cannot be decoded because of *error*."""
    if isinstance(error, RecursionError):
        raise Unusable(DEEP)
    if not isinstance(error, decode.ValidationError):
        raise Unusable(f"is not JSON: {error}")
    try:
        head: ObjectType = OBJECT_TYPE.decode(text)
    except decode.ValidationError:
        raise Unusable("is not a JSON object") from None
    return head


def _stated(field: str, value: object) -> str:
    if value is None or value == "":
        raise Unusable(f"{field} is missing")
    if not isinstance(value, str):
        raise Unusable(f"{field} must be a string")
    return value


def _opened(items: decode.Text, api_version: str, kind: str) -> _Open | None:
    inner = kind.removesuffix("List")
    try:
        texts = decode.ITEMS.decode(items) if items else []
    except (ValueError, RecursionError):
        if bytes(items) == b"null" or (inner and inner not in _SORTED):
            return None
        raise Unusable("items must be a list") from None
    return _Open(iter(texts), api_version, inner)


def _name_of(source: Source, kind: str) -> ObjectName:
    """Return the kind and name of an object that could not be sorted, as far as they are present; *kind* is that of its list."""
    try:
        text: decode.Text = source if isinstance(source, decode.Text) else _encoded(source)
        stated = OBJECT_TYPE.decode(text).kind
    except (ValueError, RecursionError):
        return ObjectName(kind or "Object", "", "")
    return ObjectName(stated if isinstance(stated, str) and stated else kind or "Object", *written_name(text))
