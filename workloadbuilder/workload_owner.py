"""Name, owner and options of a Workload: their validation and their JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from kubeapi import content
from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import SCHEDULING
from kubeapi.versions.kubernetes_releases import TODAY
from validators import field
from validators.field import FieldError
from workloadbuilder import names
from workloadbuilder.workload_item import DisruptionMode, Owner, PolicyKind

_NAME = FieldPath("metadata", "name")
_UID = FieldPath("metadata", "uid")


@dataclasses.dataclass(frozen=True, slots=True)
class BuildOptions:
    """Input of a build besides the tree: identity, and the capabilities that the controller supports.

    *name* is the Workload's; if empty, it is derived from the owner's.  *namespace* may be empty in files.  Policies and
    disruption modes that are not in the allowed sets are refused, so a controller must list each new one; an empty set allows
    nothing (KEP-6089, "Controller Opt-In for New Scheduling Capabilities").  *version* is that of Workload and PodGroups
    in *api_group*; a CompositePodGroup has the closest version in which Kubernetes 1.*kubernetes* serves the kind.
    """

    name: str
    namespace: str
    owner: Owner
    allowed_policies: frozenset[PolicyKind] = frozenset()
    allowed_disruption_modes: frozenset[DisruptionMode] = frozenset()
    version: str = served_versions.hub_of("Workload").version
    kubernetes: int = TODAY
    api_group: str = SCHEDULING

    @property
    def workload_name(self) -> str:
        """Return the Workload's name."""
        return self.name or names.workload_name(self.owner)

    @property
    def api_version(self) -> str:
        """Return the ``apiVersion`` of the Workload."""
        return served_versions.named(self.api_group, self.version)

    @property
    def rules_of(self) -> int:
        """Return the minor version of Kubernetes whose rules the tree must obey; those of custom resources do not depend on the server."""
        return max(self.kubernetes, TODAY) if served_versions.form_of(self.api_version).custom else self.kubernetes


def check(options: BuildOptions) -> Iterator[FieldError]:
    """Yield the errors in the identity, at the fields of the owner from which it comes."""
    owner = options.owner
    if not owner.name:
        yield field.required(_NAME, "a Workload must be owned by its controller for garbage collection: the owner must have a name")
    yield from _messages(_NAME, owner.name, content.path_segment)
    if options.workload_name:
        yield from _messages(_NAME, options.workload_name, content.subdomain)
    if not owner.kind:
        yield field.required(
            FieldPath("kind"), "a Workload must be owned by its controller for garbage collection: the owner must have a kind"
        )
    yield from _messages(FieldPath("kind"), owner.kind, content.path_segment)
    group, _, version = owner.api_version.rpartition("/")
    if not version or "/" in group or (group and content.subdomain(group)):
        yield field.invalid(
            FieldPath("apiVersion"), owner.api_version, f"invalid owner apiVersion {owner.api_version!r}: must be GROUP/VERSION"
        )
    if options.namespace:
        yield from _messages(FieldPath("metadata", "namespace"), options.namespace, content.label)
    served = [row.name for row in served_versions.current("Workload")]
    if options.api_version not in served:
        yield field.not_supported(FieldPath(), options.api_version, served)


def warnings(owner: Owner) -> Iterator[FieldError]:
    """Yield a warning if the owner has no uid."""
    if not owner.uid:
        detail = "without the owner's uid there are no ownerReferences, and the objects are not deleted with the owner"
        yield field.required(_UID, detail)


def owner_references(owner: Owner) -> list[Json]:
    """Return *owner* as ``metadata.ownerReferences``; empty without a uid, as the API server refuses such a reference."""
    if not owner.uid:
        return []
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    return [{**reference, "controller": True, "blockOwnerDeletion": True}]


def controller_ref(owner: Owner) -> dict[str, Json]:
    """Return *owner* as ``spec.controllerRef`` of its Workload; the core group is omitted."""
    reference = {"kind": owner.kind, "name": owner.name}
    return {"apiGroup": owner.group, **reference} if owner.group else reference


def _messages(path: FieldPath, value: str, check_value: Callable[[str], list[str]]) -> Iterator[FieldError]:
    for text in check_value(value):
        yield field.invalid(path, value, text)
