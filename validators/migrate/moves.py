"""Objects of a live cluster that move to another API group: what is created in place of each, and what refers to it.

Nothing is placed twice meanwhile: of two objects of one kind and name, the one of the built-in API group counts.  Steps are computed from
what is stored, so that an interrupted move can be run again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi.decode import Json, plain, section
from kubeapi.groups import PROTECTION_FINALIZERS, TREE_KINDS
from validators.migrate.stored_objects import Content, Name, name_of, references_of


class MoveAction(enum.StrEnum):
    """Write to a cluster."""

    CREATE = "create"
    SET_METADATA = "setMetadata"
    SET_STATUS = "setStatus"
    SET_OWNER = "setOwner"
    REMOVE_FINALIZERS = "removeFinalizers"
    DELETE = "delete"


_COPIED = ("labels", "annotations")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation with the object as it was last applied, in its old API version."""
_LISTS = {"conditions": "type", "resourceClaimStatuses": "name"}
"""Lists in the status of a group, with the key of their entries."""


def parents_first(objects: Iterable[Content]) -> list[Content]:
    """Return Workloads, then composites from the top of their trees down, then PodGroups; those of one level by namespace and name."""
    stored = {name_of(each): each for each in objects}

    def order(name: Name) -> tuple[int, int, Name]:
        depth, above = 0, name
        while depth <= len(stored) and above in stored and (parent := section(stored[above], "spec").get("parentCompositePodGroupName")):
            depth, above = depth + 1, ("CompositePodGroup", name[1], str(parent))
        return TREE_KINDS.index(name[0]), depth, name

    return [stored[name] for name in sorted(stored, key=order)]


def replacement(source: Content, api_version: str, owners: Mapping[str, Content]) -> dict[str, Json]:
    """Return the object of *api_version* to create in place of *source*; *owners* has the new owners by the uid of the old ones.

    Finalizers are not copied: their controllers know the old object only.
    """
    _, namespace, name = name_of(source)
    metadata: dict[str, Json] = {"name": name, "namespace": namespace}
    for key in _COPIED:
        if kept := _copied(source, key):
            metadata[key] = kept
    if references := references_of(source):
        metadata["ownerReferences"] = [_with_owner(each, owners) for each in references]
    return {"apiVersion": api_version, "kind": source["kind"], "metadata": metadata, "spec": source.get("spec") or {}}


def missing_metadata(source: Content, target: Content, owners: Mapping[str, Content]) -> dict[str, Json]:
    """Return the labels, annotations and owners of *source* that *target* lacks, as a merge patch of its metadata; empty if it lacks none.

    *owners* has the new owners by the uid of the old ones.
    """
    result: dict[str, Json] = {}
    for key in _COPIED:
        given = section(target, "metadata", key)
        if missing := {name: value for name, value in _copied(source, key).items() if name not in given}:
            result[key] = missing
    present = references_of(target)
    known = {uid for each in present for uid in (each.get("uid"), _with_owner(each, owners)["uid"])}
    if added := [new for each in references_of(source) if (new := _with_owner(each, owners))["uid"] not in known]:
        result["ownerReferences"] = [*present, *added]
    return result


def metadata_conflicts(source: Content, target: Content) -> list[str]:
    """Return the labels and annotations of *source* that *target* has with another value; sorted paths."""
    return sorted(
        f"metadata.{key}[{name}]"
        for key in _COPIED
        for name, value in _copied(source, key).items()
        if section(target, "metadata", key).get(name, value) != value
    )


def conflicts(source: Content, target: Content) -> list[str]:
    """Return the paths of the fields, labels and annotations of *source* that *target*, which exists already, lacks or has with another value.

    A label or annotation that it lacks is no conflict: it is added.
    """
    return [*(f"spec.{each}" for each in differences(source, target)), *metadata_conflicts(source, target)]


def new_references(content: Content, owners: Mapping[str, Content]) -> list[Json] | None:
    """Return the owner references of an object with the new owners; None if none of them has a new one."""
    before = references_of(content)
    after = [_with_owner(each, owners) for each in before]
    return after if after != before else None


def differences(source: Content, target: Content) -> list[str]:
    """Return the fields of the ``spec`` of *source* that *target* does not have, or has with another value; sorted."""
    wanted, given = section(plain(source), "spec"), section(plain(target), "spec")
    return sorted(name for name, each in wanted.items() if not _covers(given.get(name), each))


def missing_status(source: Content, target: Content) -> dict[str, Json] | None:
    """Return the status of *target* with the entries of that of *source* that it lacks; None if it lacks none.

    A condition about the current generation of the source is about the current generation of the target.
    """
    result = {**section(target, "status")}
    generations = section(source, "metadata").get("generation"), section(target, "metadata").get("generation")
    for name, key in _LISTS.items():
        listed = [*(result.get(name) or ())]
        present = {each.get(key) for each in listed}
        listed += [_of_generation(each, *generations) for each in section(source, "status").get(name) or () if each.get(key) not in present]
        if listed:
            result[name] = listed
    return result if result != section(target, "status") else None


def kept_finalizers(content: Content) -> list[str] | None:
    """Return the finalizers of an object that are not Muster's; None if it has none of Muster's."""
    finalizers = section(content, "metadata").get("finalizers") or []
    kept = [each for each in finalizers if each not in PROTECTION_FINALIZERS.values()]
    return kept if len(kept) < len(finalizers) else None


def _copied(source: Content, key: str) -> dict[str, Json]:
    return {name: value for name, value in section(source, "metadata", key).items() if name != _APPLIED}


def _with_owner(reference: Mapping[str, Any], owners: Mapping[str, Content]) -> dict[str, Json]:
    owner = owners.get(str(reference.get("uid")))
    if owner is None:
        return {**reference}
    return {**reference, "apiVersion": owner["apiVersion"], "uid": section(owner, "metadata").get("uid")}


def _of_generation(condition: Mapping[str, Any], before: Json, after: Json) -> dict[str, Json]:
    observed = condition.get("observedGeneration")
    kept = {name: value for name, value in condition.items() if name != "observedGeneration"}
    return {**kept, "observedGeneration": after} if observed is not None and observed == before and after is not None else kept


def _covers(value: Json, other: Json) -> bool:
    """Return whether *value* has all that *other* has; the API server adds defaults."""
    if isinstance(other, Mapping):
        return isinstance(value, Mapping) and all(_covers(value.get(name), each) for name, each in other.items())
    if isinstance(other, list):
        return not other or (isinstance(value, list) and len(value) == len(other) and all(map(_covers, value, other)))
    return bool(value == other)
