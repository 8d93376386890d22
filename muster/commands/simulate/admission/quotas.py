"""ResourceQuotas: what is left of each, and what the new objects of its namespace need.

Source: Kubernetes 1.37.1, pkg/quota/v1/evaluator/core; apiserver, pkg/admission/plugin/resourcequota.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.commands.simulate.admission import quota_usage
from muster.commands.simulate.admission.limit_ranges import Content, items, section
from muster.commands.simulate.admission.quota_usage import LIMITS, REQUESTS, amount

_REQUIRED = ("cpu", "memory")
_OF_VOLUMES = "VolumeAttributesClass"


@dataclasses.dataclass(frozen=True, slots=True)
class Charge:
    """Object that quotas count, and the object at PATH to which it belongs."""

    content: Content
    origin: str
    can_exist: bool = False
    """Whether the cluster can have it already, although it is not among the known objects."""


@dataclasses.dataclass(frozen=True, slots=True)
class Charges:
    """Objects of one namespace that its quotas count.

    Attributes:
        new: the new objects.
        replaced: objects that the cluster has now, and that the new ones replace.
        present: returns all other objects of the namespace, which are counted for quotas without a status.
        uncounted: objects that new ones create in an unknown number.

    """

    new: Sequence[Charge]
    replaced: Sequence[Content] = ()
    present: Callable[[], Sequence[Content]] = tuple
    uncounted: Sequence[Charge] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Shortage:
    """Reason why a quota refuses the objects of *origins*; with *doubt*, the reason why it may refuse them."""

    reason: str
    origins: Sequence[str]
    doubt: bool = False


def shortages(quotas: Iterable[Content], charges: Charges) -> Iterator[Shortage]:
    """Yield a shortage for each quota, all of one namespace, and each resource of which it leaves too little."""
    for quota in sorted(quotas, key=lambda each: str(section(each, "metadata").get("name"))):
        yield from _Selected(quota, charges).shortages()


class _Selected:
    """Objects of *charges* that a quota counts."""

    def __init__(self, quota: Content, charges: Charges) -> None:
        metadata, self.status = section(quota, "metadata"), section(quota, "status")
        self.name = f"quota {metadata.get('namespace') or 'default'}/{metadata.get('name')}"
        self.hard = section(self.status, "hard") or section(section(quota, "spec"), "hard")
        self.quota, self.charges = quota, charges
        self.new = [each for each in charges.new if _selects(quota, each.content)]

    def shortages(self) -> Iterator[Shortage]:
        """Yield what the quota has too little of, in the order of the names of resources."""
        pods = [each for each in self.new if each.content.get("kind") == "Pod"]
        if missing := _unspecified(self.hard, [each.content for each in pods]):
            yield Shortage(f"{self.name} refuses pods without {missing}", [*dict.fromkeys(each.origin for each in pods)])
        needed = quota_usage.usage(each.content for each in self.new)
        limited = sorted(name for name in self.hard if needed[name] > 0)
        used = self._used() if limited else Counter[str]()
        for resource in limited:
            hard = amount(resource, self.hard[resource])
            left = max(hard - max(used[resource], 0), 0)
            if needed[resource] > left:
                yield self._shortage(resource, left, needed[resource], doubt=self._is_doubtful(resource, left, hard, needed[resource]))
        yield from self._uncounted()

    def _used(self) -> Counter[str]:
        if "used" not in self.status:
            return self._present()
        used = quota_usage.counted_amounts(section(self.status, "used"))
        used.subtract(quota_usage.usage(each for each in self.charges.replaced if _selects(self.quota, each)))
        return used

    def _present(self) -> Counter[str]:
        return quota_usage.usage(each for each in self.charges.present() if _selects(self.quota, each))

    def _shortage(self, resource: str, left: int, needed: int, *, doubt: bool) -> Shortage:
        origins = [*dict.fromkeys(each.origin for each in self.new if quota_usage.usage((each.content,))[resource])]
        words, amounts = quota_usage.resource_in_words(resource), [quota_usage.written_amount(resource, each) for each in (left, needed)]
        reason = f"{self.name} leaves {amounts[0]} {words}, {amounts[1]} needed"
        return Shortage(f"{reason}, unless some of them exist already: they are not in the input" if doubt else reason, origins, doubt)

    def _is_doubtful(self, resource: str, left: int, hard: int, needed: int) -> bool:
        """Return whether the quota can already count some of the new objects, so that there is enough."""
        sure = quota_usage.usage(each.content for each in self.new if not each.can_exist)[resource]
        if sure > left or needed > hard or sure == needed or "used" not in self.status:
            return False
        return amount(resource, section(self.status, "used").get(resource)) > self._present()[resource]

    def _uncounted(self) -> Iterator[Shortage]:
        """Yield the limits of the number of objects that are created in an unknown number."""
        for each in self.charges.uncounted:
            names = sorted(quota_usage.usage((each.content,)).keys() & self.hard.keys())
            if names and _selects(self.quota, each.content):
                words = quota_usage.resource_in_words(names[0])
                yield Shortage(f"{self.name} limits {words}; how many its controller creates is not considered", [each.origin], doubt=True)


def _unspecified(hard: Mapping[str, Any], pods: Iterable[Content]) -> str:
    """Return the requests and limits of cpu and memory that a quota demands of every container and one lacks."""
    missing: set[str] = set()
    for pod in pods:
        spec = section(pod, "spec")
        level = section(spec, "resources")
        if level.get("requests") or level.get("limits"):
            continue
        for container in (*items(spec, "containers"), *items(spec, "initContainers")):
            resources = section(container, "resources")
            for name in _REQUIRED:
                kinds = {f"{LIMITS}{name}": "limits", f"{REQUESTS}{name}": "requests", name: "requests"}
                missing |= {each for each, kind in kinds.items() if each in hard and name not in section(resources, kind)}
    return ", ".join(sorted(missing))


def _selects(quota: Content, content: Content) -> bool:
    """Return whether an object matches all scopes of a quota."""
    spec = section(quota, "spec")
    listed = spec.get("scopes")
    scopes = [{"scopeName": each, "operator": "Exists"} for each in (listed if isinstance(listed, list) else ())]
    scopes += items(section(spec, "scopeSelector"), "matchExpressions")
    inner = section(content, "spec")
    match content.get("kind"):
        case "Pod":
            return all(_in_scope(each, inner) for each in scopes)
        case "PersistentVolumeClaim":
            name = str(inner.get("volumeAttributesClassName") or "")
            return all(each.get("scopeName") == _OF_VOLUMES and _has_class(each, name) for each in scopes)
        case _:
            return not scopes


def _in_scope(scope: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    return {
        "Terminating": lambda: isinstance(spec.get("activeDeadlineSeconds"), int),
        "NotTerminating": lambda: not isinstance(spec.get("activeDeadlineSeconds"), int),
        "BestEffort": lambda: _is_best_effort(spec),
        "NotBestEffort": lambda: not _is_best_effort(spec),
        "PriorityClass": lambda: _has_class(scope, str(spec.get("priorityClassName") or "")),
        "CrossNamespacePodAffinity": lambda: _crosses_namespaces(spec),
    }.get(str(scope.get("scopeName")), lambda: False)()


def _has_class(scope: Mapping[str, Any], name: str) -> bool:
    values = scope.get("values")
    named = name in (values if isinstance(values, list) else ())
    match scope.get("operator"):
        case "In":
            return bool(name) and named
        case "NotIn":
            return not (name and named)
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _is_best_effort(spec: Mapping[str, Any]) -> bool:
    holders = [spec, *items(spec, "containers"), *items(spec, "initContainers")]
    amounts = (section(section(each, "resources"), kind) for each in holders for kind in ("requests", "limits"))
    return not any(name in _REQUIRED and amount(name, value) for each in amounts for name, value in each.items())


def _crosses_namespaces(spec: Mapping[str, Any]) -> bool:
    affinity = section(spec, "affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = items(section(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")
        weighted = items(section(affinity, kind), "preferredDuringSchedulingIgnoredDuringExecution")
        if any(
            each.get("namespaces") or "namespaceSelector" in each
            for each in (*terms, *(section(each, "podAffinityTerm") for each in weighted))
        ):
            return True
    return False
