"""ResourceQuotas: what is left of each, and what the new objects of its namespace need.

Source: Kubernetes 1.37.1, pkg/quota/v1/evaluator/core; apiserver, pkg/admission/plugin/resourcequota.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from expansion.admission import quota_scopes, quota_usage
from expansion.admission.amounts import AmountError, amount_errors, object_error, unreadable
from expansion.admission.quota_scopes import Scopes, Traits, UsageByScope
from expansion.admission.quota_usage import PODS, amount
from expansion.contents import Content, items
from expansion.notes import ObjectsUncounted, QuotaCause, QuotaExceeded, QuotaRequiresAmounts
from kubeapi.base_structs import Record
from kubeapi.decode import section
from kubeapi.names import Name
from kubeapi.problem import Problem
from kubeapi.resource_names import COUNT, LIMITS, REQUESTS

_POD = "Pod"


class Charge(Record, frozen=True):
    """Object that quotas count, and the given object to which it belongs."""

    content: Content
    origin: Name
    can_exist: bool = False
    """Whether the cluster can have it already, although it is not among the known objects."""


class Charges(Record, frozen=True):
    """Objects of one namespace that its quotas count.

    Attributes:
        new: the new objects.
        replaced: objects that the cluster has now, and that the new ones replace.
        present: returns all other objects of the namespace, which are counted for quotas without a status.
        uncounted: objects that new ones create in an unknown number.

    """

    new: Sequence[Charge]
    replaced: Sequence[Content] = ()
    present: Callable[[], Iterable[Content]] = tuple
    uncounted: Sequence[Charge] = ()


class Shortage(Record, frozen=True):
    """Cause for which a quota refuses the objects of *origins*, or may refuse them."""

    cause: QuotaCause
    origins: Sequence[Name]


def shortages(quotas: Iterable[Content], charges: Charges) -> Iterator[Shortage]:
    """Yield a shortage for each quota, all of one namespace, and each resource of which it leaves too little."""
    counted = _Counted(charges)
    for quota in sorted(quotas, key=lambda each: str(section(each, "metadata").get("name"))):
        yield from _Selected(quota, counted).shortages()


def unusable(quotas: Iterable[Content]) -> Iterator[Problem]:
    """Yield the quotas with amounts that cannot be read, with the fields; what these limit is not judged."""
    for quota in quotas:
        yield from unreadable("ResourceQuota", quota, _errors(quota))


def _errors(quota: Content) -> Iterator[AmountError]:
    """Yield the errors in the amounts of a quota that count."""
    for outer, inner in (("status" if section(quota.get("status"), "hard") else "spec", "hard"), ("status", "used")):
        yield from object_error(quota.get(outer), outer)
        yield from amount_errors(section(quota, outer).get(inner), f"{outer}.{inner}")
    yield from (AmountError("", field, error) for field, error in quota_scopes.errors_of(quota))


def _name_of(quota: Content) -> Name:
    metadata = section(quota, "metadata")
    return Name("ResourceQuota", str(metadata.get("namespace") or "default"), str(metadata.get("name")))


class _Counted:
    """Usage of the objects of *charges*, read once for all quotas."""

    def __init__(self, charges: Charges) -> None:
        self.new, self.sure = UsageByScope(), UsageByScope()
        """All new objects, and those that cannot exist."""
        self._present = charges.present
        self._replaced = charges.replaced
        self._origins: defaultdict[tuple[Traits, str], dict[Name, int]] = defaultdict(dict)
        """Positions of the first new object of each origin, by resource."""
        self._unspecified: defaultdict[Traits, set[str]] = defaultdict(set)
        self._listed: dict[tuple[Scopes, str], list[Name]] = {}
        for place, each in enumerate(charges.new):
            self._add(place, each)
        self.uncounted: defaultdict[str, list[tuple[int, Charge, Traits]]] = defaultdict(list)
        """Objects in an unknown number, with their positions, by resource."""
        for place, each in enumerate(charges.uncounted):
            for resource in quota_usage.usage((each.content,)):
                self.uncounted[resource].append((place, each, quota_scopes.traits_of(each.content)))

    def _add(self, place: int, charge: Charge) -> None:
        traits, usage = quota_scopes.traits_of(charge.content), quota_usage.usage((charge.content,))
        self.new.add(traits, usage)
        if not charge.can_exist:
            self.sure.add(traits, usage)
        if traits.kind == _POD:
            self._unspecified[traits] |= _unspecified(charge.content)
        for resource in usage:
            if usage[resource]:
                self._origins[traits, resource].setdefault(charge.origin, place)

    @functools.cached_property
    def present(self) -> UsageByScope:
        """Usage of all other objects of the namespace."""
        return UsageByScope(self._present())

    @functools.cached_property
    def replaced(self) -> UsageByScope:
        """Usage of the objects that the new ones replace."""
        return UsageByScope(self._replaced)

    def origins(self, scopes: Scopes, resource: str) -> list[Name]:
        """Return the given objects, in order, of the new objects in *scopes* that use *resource*."""
        if (listed := self._listed.get((scopes, resource))) is None:
            first: dict[Name, int] = {}
            for traits in self.new.selected(scopes):
                for origin, place in self._origins.get((traits, resource), {}).items():
                    first[origin] = min(place, first.get(origin, place))
            listed = self._listed[scopes, resource] = sorted(first, key=first.__getitem__)
        return listed

    def unspecified(self, scopes: Scopes) -> set[str]:
        """Return the requests and limits of cpu and memory that a container of a new pod in *scopes* lacks."""
        return set().union(*(self._unspecified.get(each, ()) for each in self.new.selected(scopes)))


class _Selected:
    """Objects of *counted* that a quota counts."""

    def __init__(self, quota: Content, counted: _Counted) -> None:
        self.name, self.status = _name_of(quota), section(quota, "status")
        hard = section(self.status, "hard") or section(section(quota, "spec"), "hard")
        wrong = {each.resource for each in _errors(quota)}
        self.hard = {} if "" in wrong else {resource: written for resource, written in hard.items() if resource not in wrong}
        self.counted, self.scopes = counted, quota_scopes.scopes_of(quota)

    def shortages(self) -> Iterator[Shortage]:
        """Yield what the quota has too little of, in the order of the names of resources."""
        if missing := sorted(self.counted.unspecified(self.scopes) & self.hard.keys()):
            yield Shortage(QuotaRequiresAmounts(self.name, tuple(missing)), self.counted.origins(self.scopes, f"{COUNT}{PODS}"))
        needed = self.counted.new.usage_in(self.scopes)
        limited = sorted(name for name in self.hard if needed[name] > 0)
        used = self._used(limited)
        for resource in limited:
            hard = amount(resource, self.hard[resource])
            left = max(hard - max(used[resource], 0), 0)
            if needed[resource] > left:
                yield self._shortage(resource, left, needed[resource], doubt=self._is_doubtful(resource, left, hard, needed[resource]))
        yield from self._uncounted()

    def _used(self, limited: Iterable[str]) -> Counter[str]:
        """Return the usage of the resources *limited* that the quota counts besides the new objects."""
        if not limited or "used" not in self.status:
            return self.counted.present.usage_in(self.scopes) if limited else Counter()
        used, replaced = quota_usage.counted_amounts(section(self.status, "used")), self.counted.replaced.usage_in(self.scopes)
        return Counter({each: used[each] - replaced[each] for each in limited})

    def _shortage(self, resource: str, left: int, needed: int, *, doubt: bool) -> Shortage:
        cause = QuotaExceeded(self.name, resource, left, needed, doubt)
        return Shortage(cause, self.counted.origins(self.scopes, resource))

    def _is_doubtful(self, resource: str, left: int, hard: int, needed: int) -> bool:
        """Return whether the quota can already count some of the new objects, so that there is enough."""
        sure = self.counted.sure.usage_in(self.scopes)[resource]
        if sure > left or needed > hard or sure == needed or "used" not in self.status:
            return False
        return amount(resource, section(self.status, "used").get(resource)) > self.counted.present.usage_in(self.scopes)[resource]

    def _uncounted(self) -> Iterator[Shortage]:
        """Yield the limits of the number of objects that are created in an unknown number."""
        limits: dict[int, tuple[Charge, str]] = {}
        for resource in sorted(self.hard.keys() & self.counted.uncounted.keys()):
            for place, each, traits in self.counted.uncounted[resource]:
                if quota_scopes.selects(self.scopes, traits):
                    limits.setdefault(place, (each, resource))
        for _, (each, resource) in sorted(limits.items()):
            yield Shortage(ObjectsUncounted(self.name, resource), [each.origin])


def _unspecified(pod: Content) -> set[str]:
    """Return the requests and limits of cpu and memory, as quotas name them, that a container of *pod* lacks."""
    missing: set[str] = set()
    spec = section(pod, "spec")
    level = section(spec, "resources")
    if level.get("requests") or level.get("limits"):
        return missing
    for container in (*items(spec, "containers"), *items(spec, "initContainers")):
        resources = section(container, "resources")
        for name in quota_scopes.REQUIRED:
            kinds = {f"{LIMITS}{name}": "limits", f"{REQUESTS}{name}": "requests", name: "requests"}
            missing |= {each for each, kind in kinds.items() if name not in section(resources, kind)}
    return missing
