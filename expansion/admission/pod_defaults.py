"""Default PriorityClass of a pod, and the overhead and scheduling of its RuntimeClass.

Source: Kubernetes 1.37.1, plugin/pkg/admission/priority and plugin/pkg/admission/runtimeclass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from expansion.admission.amounts import AmountError, amount_errors, list_errors, object_error, readable, unreadable
from expansion.contents import Content, items, part
from kubeapi.decode import section
from kubeapi.priority import PREEMPT_LOWER_PRIORITY, PriorityClass
from kubeapi.problem import Problem
from validators import pipeline


class _Default(NamedTuple):
    value: int
    name: str
    content: Content


def default_class(classes: Iterable[Content]) -> str:
    """Return the name of the default among *classes*: of several, that of the lowest value; empty if there is none."""
    defaults = [each for each in classes if each.get("globalDefault") is True and isinstance(each.get("value"), int)]
    first = min(defaults, key=lambda each: (each["value"], str(section(each, "metadata").get("name"))), default=None)
    return "" if first is None else str(section(first, "metadata").get("name"))


class DefaultClasses:
    """Default PriorityClasses of a cluster, of which the one of the lowest value counts; of equal values, the first one."""

    def __init__(self) -> None:
        self._first: _Default | None = None
        self._other: _Default | None = None
        """The first one with another name."""

    def add(self, content: Content) -> None:
        """Add a class, if it is a default one."""
        decoded = pipeline.decode_for_lookup(content) if content.get("globalDefault") is True else None
        if not isinstance(decoded, PriorityClass):
            return
        new = _Default(decoded.value, decoded.metadata.name, content)
        if self._first is None or new.value < self._first.value:
            if self._first is not None and new.name != self._first.name:
                self._other = self._first
            self._first = new
        elif new.name != self._first.name and (self._other is None or new.value < self._other.value):
            self._other = new

    def other_than(self, content: Content) -> list[Content]:
        """Return the default class that counts if *content* is created, apart from that itself; empty if there is none."""
        first = self._first
        if first is not None and first.name == section(content, "metadata").get("name"):
            first = self._other
        return [] if first is None else [first.content]


def set_class(pod: Content, name: str) -> None:
    """Set the priority class *name* if the pod has neither a class nor a priority."""
    if name and not pod["spec"].get("priorityClassName") and pod["spec"].get("priority") is None:
        pod["spec"]["priorityClassName"] = name


def priority_refusals(pod: Content, classes: Mapping[str, Content], default: str) -> Iterator[str]:
    """Yield the reasons why a pod or group is refused for its priority, in the words of the API server.

    Args:
        pod: the new pod or group, before its class is set.
        classes: all priority classes, by name.
        default: the default class; empty if there is none.

    """
    spec = section(pod, "spec")
    name = spec.get("priorityClassName") or default
    if not isinstance(name, str) or (name and name not in classes):
        yield f"no PriorityClass with name {name} was found"
        return
    computed = classes[name].get("value", 0) if name else 0
    policy = (classes[name].get("preemptionPolicy") if name else None) or PREEMPT_LOWER_PRIORITY
    if pod.get("kind") != "Pod":
        return
    if (priority := spec.get("priority")) is not None and priority != computed:
        yield (
            f"the integer value of priority ({priority}) must not be provided in pod spec; priority admission controller computed"
            f" {computed} from the given PriorityClass name"
        )
    elif (given := spec.get("preemptionPolicy")) and given != policy:
        yield (
            f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed"
            f" {policy} from the given PriorityClass name"
        )


def unusable(classes: Iterable[Content]) -> Iterator[Problem]:
    """Yield the RuntimeClasses with fields that cannot be read; these have no effect."""
    for each in classes:
        yield from unreadable("RuntimeClass", each, _errors(each))


def _errors(runtime_class: Content) -> Iterator[AmountError]:
    overhead, scheduling = runtime_class.get("overhead"), runtime_class.get("scheduling")
    yield from object_error(overhead, "overhead")
    yield from amount_errors(part(overhead, "podFixed"), "overhead.podFixed")
    yield from object_error(scheduling, "scheduling")
    selector, tolerations = part(scheduling, "nodeSelector"), part(scheduling, "tolerations")
    yield from object_error(selector, "scheduling.nodeSelector")
    for key, value in selector.items() if isinstance(selector, Mapping) else ():
        if not isinstance(value, str):
            yield AmountError("", f"scheduling.nodeSelector[{key}]", "must be a string")
    yield from list_errors(tolerations, "scheduling.tolerations")
    for index, toleration in enumerate(tolerations if isinstance(tolerations, list) else ()):
        for field in _wrong_fields(toleration):
            yield AmountError("", f"scheduling.tolerations[{index}].{field}", "must be a string")


def _wrong_fields(toleration: object) -> list[str]:
    """Return the fields of a toleration that must be strings and are not."""
    values = {name: part(toleration, name) for name in ("key", "operator", "value", "effect")}
    return [name for name, value in values.items() if value is not None and not isinstance(value, str)]


def unfounded_overhead(pod: Content, classes: Mapping[str, Content]) -> Iterator[str]:
    """Yield the reason why the API server refuses an overhead that no RuntimeClass sets."""
    spec = section(pod, "spec")
    runtime = classes.get(str(spec.get("runtimeClassName") or ""), {})
    if spec.get("overhead") and not section(section(runtime, "overhead"), "podFixed"):
        yield "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def set_runtime(pod: Content, classes: Mapping[str, Content], *, known: bool) -> Iterator[str]:
    """Set what the pod's RuntimeClass says; yield the reasons why the pod would be refused, in the words of the API server.

    *known*: whether *classes* has all RuntimeClasses of the cluster.
    """
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if not isinstance(name, str) or not name or not known:
        return
    if name not in classes:
        yield f'pod rejected: RuntimeClass "{name}" not found'
        return
    overhead = readable(section(classes[name], "overhead"), "podFixed")
    if overhead:
        if spec.get("overhead") and spec["overhead"] != overhead:
            yield "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            return
        spec["overhead"] = dict(overhead)
    scheduling = section(classes[name], "scheduling")
    labels, own = section(scheduling, "nodeSelector"), section(spec, "nodeSelector")
    selector = {key: value for key, value in labels.items() if isinstance(value, str)}
    for key in sorted(set(selector) & set(own)):
        if selector[key] != own[key]:
            yield f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {selector[key]}; pod.spec.nodeSelector[{key}] = {own[key]}"
            return
    if selector:
        spec["nodeSelector"] = {**own, **selector}
    if tolerations := [each for each in items(scheduling, "tolerations") if not _wrong_fields(each)]:
        given = items(spec, "tolerations")
        spec["tolerations"] = [*given, *(each for each in tolerations if each not in given)]
