"""Scopes of ResourceQuotas, and the usage of the objects that they select, summed for objects that the same scopes select.

Source: Kubernetes 1.37.1, pkg/quota/v1/evaluator/core.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from expansion.admission import quota_usage
from expansion.admission.quota_usage import CLAIM, amount
from expansion.contents import Content, items, part
from kubeapi.decode import section

REQUIRED = ("cpu", "memory")
"""Resources of which a pod with a request or limit is not BestEffort, and that a quota can demand of every container."""
_POD = "Pod"
_OF_PODS, _OF_VOLUMES = _OF_CLASSES = ("PriorityClass", "VolumeAttributesClass")
_SCOPES = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity", *_OF_CLASSES)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class Scope(NamedTuple):
    """Scope of a quota."""

    name: str
    operator: str
    values: frozenset[str]


Scopes = tuple[Scope, ...]
"""Scopes that must all match."""


class Traits(NamedTuple):
    """The fields of an object that scopes read: quotas count either all objects with equal traits or none."""

    kind: str = ""
    """Empty for kinds without scopes."""
    class_name: str = ""
    """Priority class of a pod, or VolumeAttributesClass of a claim."""
    terminating: bool = False
    best_effort: bool = False
    crosses_namespaces: bool = False


class UsageByScope:
    """Usage of objects by the scopes that select them: as many quotas as there are objects take no longer than one."""

    def __init__(self, objects: Iterable[Content] = ()) -> None:
        self._usage: dict[Traits, Counter[str]] = {}
        self._classes: defaultdict[str, list[Traits]] = defaultdict(list)
        self._sums: dict[Scopes, Counter[str]] = {}
        for each in objects:
            self.add(traits_of(each), quota_usage.usage((each,)))

    def add(self, traits: Traits, usage: Mapping[str, int]) -> None:
        """Add the *usage* of an object with *traits*."""
        if traits not in self._usage:
            self._usage[traits] = Counter()
            self._classes[traits.class_name].append(traits)
        self._usage[traits].update(usage)

    def selected(self, scopes: Scopes) -> Iterator[Traits]:
        """Yield the traits that match all *scopes*; of an ``In``, only the classes in its list are tried."""
        listed = next((each.values for each in scopes if each.operator == "In" and each.name in _OF_CLASSES), None)
        for name in self._classes if listed is None else sorted(listed & self._classes.keys()):
            yield from (each for each in self._classes[name] if selects(scopes, each))

    def usage_in(self, scopes: Scopes) -> Counter[str]:
        """Return the usage of the objects that match all *scopes*."""
        if (total := self._sums.get(scopes)) is None:
            total = self._sums[scopes] = Counter()
            for each in self.selected(scopes):
                total.update(self._usage[each])
        return total


def scopes_of(quota: Content) -> Scopes:
    """Return the scopes of a quota, those of its selector too."""
    spec = section(quota, "spec")
    listed = spec.get("scopes")
    plain = [Scope(str(each), "Exists", frozenset()) for each in (listed if isinstance(listed, list) else ())]
    return (*plain, *(_scope(each) for each in items(section(spec, "scopeSelector"), "matchExpressions")))


def errors_of(quota: Content) -> Iterator[tuple[str, str]]:
    """Yield the field and the error of each scope of a quota that cannot be read."""
    spec = quota.get("spec")
    scopes, selector = part(spec, "scopes"), part(spec, "scopeSelector")
    expressions = part(selector, "matchExpressions")
    if scopes is not None and not isinstance(scopes, list):
        yield "spec.scopes", "must be a list"
    for index, scope in enumerate(scopes if isinstance(scopes, list) else ()):
        if scope not in _SCOPES:
            yield f"spec.scopes[{index}]", f"must be one of {', '.join(_SCOPES)}"
    for path, content, kind in (("", selector, Mapping), (".matchExpressions", expressions, list)):
        if content is not None and not isinstance(content, kind):
            yield f"spec.scopeSelector{path}", f"must be {'an object' if kind is Mapping else 'a list'}"
    for index, expression in enumerate(expressions if isinstance(expressions, list) else ()):
        path = f"spec.scopeSelector.matchExpressions[{index}]"
        for name, allowed in (("scopeName", _SCOPES), ("operator", _OPERATORS)):
            if part(expression, name) not in allowed:
                yield f"{path}.{name}", f"must be one of {', '.join(allowed)}"
        values = part(expression, "values")
        if values is not None and not (isinstance(values, list) and all(isinstance(each, str) for each in values)):
            yield f"{path}.values", "must be a list of strings"


def traits_of(content: Content) -> Traits:
    """Return the traits of an object."""
    spec = section(content, "spec")
    match content.get("kind"):
        case "Pod":
            name = str(spec.get("priorityClassName") or "")
            return Traits(_POD, name, isinstance(spec.get("activeDeadlineSeconds"), int), _is_best_effort(spec), _crosses_namespaces(spec))
        case "PersistentVolumeClaim":
            return Traits(CLAIM, str(spec.get("volumeAttributesClassName") or ""))
        case _:
            return Traits()


def selects(scopes: Scopes, traits: Traits) -> bool:
    """Return whether an object with *traits* matches all *scopes*."""
    match traits.kind:
        case "Pod":
            return all(_in_scope(each, traits) for each in scopes)
        case "PersistentVolumeClaim":
            return all(each.name == _OF_VOLUMES and _has_class(each, traits.class_name) for each in scopes)
        case _:
            return not scopes


def _scope(expression: Mapping[str, Any]) -> Scope:
    values = expression.get("values")
    named = frozenset(each for each in (values if isinstance(values, list) else ()) if isinstance(each, str))
    return Scope(str(expression.get("scopeName")), str(expression.get("operator")), named)


def _in_scope(scope: Scope, pod: Traits) -> bool:
    if scope.name == _OF_PODS:
        return _has_class(scope, pod.class_name)
    return {
        "Terminating": pod.terminating,
        "NotTerminating": not pod.terminating,
        "BestEffort": pod.best_effort,
        "NotBestEffort": not pod.best_effort,
        "CrossNamespacePodAffinity": pod.crosses_namespaces,
    }.get(scope.name, False)


def _has_class(scope: Scope, name: str) -> bool:
    match scope.operator:
        case "In":
            return bool(name) and name in scope.values
        case "NotIn":
            return not (name and name in scope.values)
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _is_best_effort(spec: Mapping[str, Any]) -> bool:
    holders = [spec, *items(spec, "containers"), *items(spec, "initContainers")]
    amounts = (section(section(each, "resources"), kind) for each in holders for kind in ("requests", "limits"))
    return not any(name in REQUIRED and amount(name, value) for each in amounts for name, value in each.items())


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
