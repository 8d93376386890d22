"""Whose Workload it is and what it is called: the options of a build, whether they hold, and what is written of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from validators import content, field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from validators.versions.served import WORKLOAD_VERSIONS, hub_of
from workloadbuilder import names
from workloadbuilder.item import DisruptionMode, Owner, PolicyKind

_NAME = FieldPath("metadata", "name")
_UID = FieldPath("metadata", "uid")


@dataclasses.dataclass(frozen=True, slots=True)
class BuildOptions:
    """What a build needs besides the tree: identity, and what the controller supports.

    *name* is the Workload's; empty for the one that is made of the owner's.  *namespace* may be empty in files.  A policy
    or disruption mode that is not allowed is refused, so one that a later version brings is denied until the controller
    lists it: an empty set allows nothing (KEP-6089, "Controller Opt-In for New Scheduling Capabilities").
    *version* is that of Workload and PodGroups; a CompositePodGroup is of the closest version that has it.
    """

    name: str
    namespace: str
    owner: Owner
    allowed_policies: frozenset[PolicyKind] = frozenset()
    allowed_disruption_modes: frozenset[DisruptionMode] = frozenset()
    version: str = hub_of("Workload").version

    @property
    def workload_name(self) -> str:
        """What the Workload is called."""
        return self.name or names.workload_name(self.owner)


def check(options: BuildOptions) -> Iterator[FieldError]:
    """What is wrong with the identity, at the place in the owner that it comes from."""
    owner = options.owner
    if not owner.name:
        yield field.required(_NAME, "a Workload must be owned by its controller for garbage collection: the owner has a name")
    yield from _messages(_NAME, owner.name, content.path_segment)
    if options.workload_name:
        yield from _messages(_NAME, options.workload_name, content.subdomain)
    if not owner.kind:
        yield field.required(FieldPath("kind"), "a Workload must be owned by its controller for garbage collection: the owner has a kind")
    yield from _messages(FieldPath("kind"), owner.kind, content.path_segment)
    group, _, version = owner.api_version.rpartition("/")
    if not version or "/" in group or (group and content.subdomain(group)):
        yield field.invalid(
            FieldPath("apiVersion"), owner.api_version, f"invalid owner apiVersion {owner.api_version!r}: must be GROUP/VERSION"
        )
    if options.namespace:
        yield from _messages(FieldPath("metadata", "namespace"), options.namespace, content.label)
    if options.version not in WORKLOAD_VERSIONS:
        yield field.not_supported(FieldPath(), options.version, WORKLOAD_VERSIONS)


def warnings(owner: Owner) -> Iterator[FieldError]:
    """What will be missing for want of a uid."""
    if not owner.uid:
        detail = "without the owner's uid no ownerReferences can be written, and nothing is deleted with the owner"
        yield field.required(_UID, detail)


def owner_references(owner: Owner) -> list[Json]:
    """The owner as ``metadata.ownerReferences`` of what is made for it; empty where its uid is not known.

    The API server refuses an owner reference without a uid.
    """
    if not owner.uid:
        return []
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    return [{**reference, "controller": True, "blockOwnerDeletion": True}]


def controller_ref(owner: Owner) -> dict[str, Json]:
    """The owner as ``spec.controllerRef`` of its Workload; the core group is left out."""
    reference = {"kind": owner.kind, "name": owner.name}
    return {"apiGroup": owner.group, **reference} if owner.group else reference


def _messages(path: FieldPath, value: str, legal: Callable[[str], list[str]]) -> Iterator[FieldError]:
    for text in legal(value):
        yield field.invalid(path, value, text)
