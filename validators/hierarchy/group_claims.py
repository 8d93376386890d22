"""Claims to devices that pods of a PodGroup share, as kube-scheduler 1.37.1 sees them.

An entry of a pod is that of its PodGroup if both have the same name and the same source.  Pods of other schedulers are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath
from kubeapi.groups import PodGroup
from kubeapi.pods import DEFAULT_SCHEDULER, PodResourceClaim
from validators.hierarchy.job_groups import JobGroup
from validators.model.controllers import TemplatePods, pods_of
from validators.model.objects import Object, namespace_of
from validators.model.templates import SPEC
from validators.model.views import Pod, ResourceClaim
from validators.object_lookup import Lookup


class SharedClaim(Record, frozen=True, order=True):
    """Claim that several pods can use: a ResourceClaim, or one that is created for a PodGroup.

    Attributes:
        claim: name of the ResourceClaim; empty if it is created from a template.
        entry: entry of the PodGroup; empty for a claim that only pods name.

    """

    claim: str = ""
    entry: str = ""

    @property
    def label(self) -> str:
        """Return its name for messages."""
        return self.claim or self.entry


class ClaimUsers(Record, frozen=True):
    """Users of the claims of a PodGroup.

    Attributes:
        namespace: the namespace of the group.
        list_pods: returns its pods by template.
        listed: the entries of ``resourceClaims`` of the group.
        group: the group, if its object is known.

    """

    namespace: str
    list_pods: Callable[[], Iterable[TemplatePods]]
    listed: Sequence[PodResourceClaim] = ()
    group: PodGroup | None = None

    def shared_claim(self, entry: PodResourceClaim) -> SharedClaim | None:
        """Return the claim of an *entry* of a pod that other pods can use too; None for a claim of the pod alone."""
        if entry in self.listed:
            return SharedClaim(entry.resource_claim_name or "", entry.name)
        return SharedClaim(entry.resource_claim_name) if entry.resource_claim_name else None

    def unallocated(self, lookup: Lookup) -> dict[SharedClaim, tuple[PodResourceClaim, int]]:
        """Return the claims that pods can share and that are not known to be allocated: an entry, and the number of pods."""
        uses = [*self._uses()]
        if not uses:  # as of most groups
            return {}
        counts: Counter[SharedClaim] = Counter()
        entries: dict[SharedClaim, PodResourceClaim] = {}
        for claim, entry, count in uses:
            counts[claim] += count
            entries.setdefault(claim, entry)
        return {each: (entries[each], counts[each]) for each in sorted(+counts) if not self._is_allocated(each, lookup)}

    def is_shared(self, claim: SharedClaim, lookup: Lookup) -> bool:
        """Return whether several pods use *claim*, and it is not known to be allocated."""
        if self._is_allocated(claim, lookup):
            return False
        users = 0
        for each, _, count in self._uses():
            users += count if each == claim else 0
            if users > 1:
                return True
        return False

    def _uses(self) -> Iterator[tuple[SharedClaim, PodResourceClaim, int]]:
        for each in self.list_pods():
            if each.spec.scheduler_name in ("", DEFAULT_SCHEDULER):
                for entry in each.spec.resource_claims or ():
                    if (claim := self.shared_claim(entry)) is not None:
                        yield claim, entry, 1 if each.count is None else each.count

    def _is_allocated(self, claim: SharedClaim, lookup: Lookup) -> bool:
        statuses = (self.group.status.resource_claim_statuses if self.group is not None else None) or ()
        created = next((each.resource_claim_name or "" for each in statuses if each.name == claim.entry), "")
        known = lookup.get("ResourceClaim", self.namespace, claim.claim or created)
        return isinstance(known, ResourceClaim) and known.status.allocation is not None


def path_in_group(group: PodGroup, claim: SharedClaim) -> FieldPath | None:
    """Return the path of the entry of *group* for *claim*; None for a claim that only its pods name."""
    names = [each.name for each in group.spec.resource_claims or ()]
    return SPEC.join(("resourceClaims", names.index(claim.entry))) if claim.entry in names else None


def users_in_group(group: PodGroup, lookup: Lookup) -> ClaimUsers:
    """Return the pods of *group*."""
    return users_in_named_group(group.metadata.name, namespace_of(group), lookup, group)


def users_in_named_group(name: str, namespace: str, lookup: Lookup, known: Object | None) -> ClaimUsers:
    """Return the pods of the group *name*, whose object is *known*, or not."""
    group = known if isinstance(known, PodGroup) else None
    return ClaimUsers(namespace, lambda: members(name, namespace, lookup), (group and group.spec.resource_claims) or (), group)


def users_in_job(group: JobGroup, namespace: str) -> ClaimUsers:
    """Return the pods of one Job; none if they are placed."""
    return ClaimUsers(namespace, lambda: () if group.placed else (group.pods,), group.resource_claims)


def members(name: str, namespace: str, lookup: Lookup) -> Iterator[TemplatePods]:
    """Yield the pods with claims of the PodGroup *name* by template, of objects whose controller is not known: its own pods are theirs."""
    for each in lookup.children("Pod", namespace, name):
        if isinstance(each, Pod) and not each.spec.resource_claims:
            continue
        controller = each.metadata.controller
        if controller is None or lookup.get(controller[0], namespace, controller[1]) is None:
            yield from (pods for pods in pods_of(each) if pods.group == name)
