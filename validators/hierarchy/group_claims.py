"""Claims to devices that pods of a PodGroup share, as kube-scheduler 1.37.1 sees them.

An entry of a pod is that of its PodGroup if both have the same name and the same source.  Pods of other schedulers are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from validators.lookup import Lookup
from validators.model.devices import DeviceResourceClaim
from validators.model.group import PodGroup
from validators.model.objects import namespace_of
from validators.model.pod import DEFAULT_SCHEDULER, Job, Pod
from validators.model.workload import ResourceClaim
from validators.record import Record


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


def entries_of(pod: Pod | Job) -> tuple[ResourceClaim, ...]:
    """Return the entries of ``resourceClaims`` of a pod, or of the pods of a Job."""
    return (pod.spec.template.spec if isinstance(pod, Job) else pod.spec).resource_claims or ()


def shared_claim(entry: ResourceClaim, group: PodGroup | None) -> SharedClaim | None:
    """Return the claim of an *entry* of a pod of *group* that other pods can use too; None for a claim of the pod alone."""
    if entry in ((group and group.spec.resource_claims) or ()):
        return SharedClaim(entry.resource_claim_name or "", entry.name)
    return SharedClaim(entry.resource_claim_name) if entry.resource_claim_name else None


def members(group: PodGroup | None, namespace: str, name: str, lookup: Lookup) -> Iterator[tuple[ResourceClaim, SharedClaim | None, int]]:
    """Yield each entry of the pods of the PodGroup *name*, its claim if others can use it, and the number of pods with this entry."""
    for each in lookup.children("Pod", namespace, name):
        if not isinstance(each, (Pod, Job)):
            continue
        spec = each.spec.template.spec if isinstance(each, Job) else each.spec
        if spec.scheduler_name not in ("", DEFAULT_SCHEDULER):
            continue
        count = 1 if isinstance(each, Pod) or each.spec.parallelism is None else each.spec.parallelism
        for entry in spec.resource_claims or ():
            yield entry, shared_claim(entry, group), count


def claims_of(group: PodGroup, lookup: Lookup) -> Counter[SharedClaim]:
    """Return the unallocated claims that pods of *group* can share, each with the number of pods."""
    namespace = namespace_of(group)
    return unallocated(members(group, namespace, group.metadata.name, lookup), namespace, lookup, group)


def unallocated(
    found: Iterable[tuple[ResourceClaim, SharedClaim | None, int]], namespace: str, lookup: Lookup, group: PodGroup | None
) -> Counter[SharedClaim]:
    """Return the claims among *found* that pods can share and that are not known to be allocated, each with the number of pods."""
    counts: Counter[SharedClaim] = Counter()
    for _, claim, count in found:
        if claim is not None and not _is_allocated(claim, namespace, lookup, group):
            counts[claim] += count
    return counts


def _is_allocated(claim: SharedClaim, namespace: str, lookup: Lookup, group: PodGroup | None) -> bool:
    statuses = (group.status.resource_claim_statuses if group is not None else None) or ()
    created = next((each.resource_claim_name or "" for each in statuses if each.name == claim.entry), "")
    known = lookup.get("ResourceClaim", namespace, claim.claim or created)
    return isinstance(known, DeviceResourceClaim) and known.status.allocation is not None
