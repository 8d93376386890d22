"""Admission plugins that change pods and are off by default: what those that are on do to a new pod.

Source: Kubernetes 1.37.1, plugin/pkg/admission: podnodeselector, podtolerationrestriction, extendedresourcetoleration; their order is that of
pkg/kubeapiserver/options (AllOrderedPlugins).  Configuration files of plugins, which have defaults for a whole cluster, are not read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from expansion.admission.amounts import readable
from expansion.contents import Content, items, namespace_of, parsed
from expansion.marked_pods import API_SERVER, SERVER, marked_pods
from expansion.pod_creation import (
    ADMISSION_PLUGINS,
    EXTENDED_RESOURCE_TOLERATION,
    OF_NAMESPACES,
    POD_NODE_SELECTOR,
    POD_TOLERATION_RESTRICTION,
)
from kubeapi import quantity
from kubeapi.content import label_key, label_value
from kubeapi.decode import section
from kubeapi.gathered import ObjectList
from kubeapi.resource_names import is_extended

_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
_DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
ANNOTATIONS = (_SELECTOR, _DEFAULTS, _ALLOWED)
"""Annotations of namespaces that the plugins read."""
_FLAG = "--enable-admission-plugins="
_CONTAINERS = ("containers", "initContainers")
_TOLERATED_AT_FIRST = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints that the plugin DefaultTolerationSeconds, which is on by default, makes pods tolerate."""
_SECONDS = 300
_MEMORY_PRESSURE = "node.kubernetes.io/memory-pressure"


class _Unreadable(ValueError):
    """Annotation of a namespace that a plugin cannot read."""


class AdmissionPlugins:
    """The plugins *on*, and the *annotations* of each namespace; a namespace without them is taken to have none."""

    def __init__(self, on: Collection[str] = (), annotations: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._on = frozenset(on)
        self._annotations = annotations or {}

    def __bool__(self) -> bool:
        return bool(self._on)

    def change(self, pod: Content) -> Iterator[str]:
        """Change a new *pod*, whose requests are set; yield the reasons why it would be refused, in the words of the API server."""
        try:
            if POD_NODE_SELECTOR in self._on:
                yield from self._set_selector(pod)
            if POD_TOLERATION_RESTRICTION in self._on:
                _merge_tolerations(pod, [*(self._tolerations(pod, _DEFAULTS) or ()), *_of_pressure(pod)])
        except _Unreadable as error:
            yield str(error)
        if EXTENDED_RESOURCE_TOLERATION in self._on:
            tolerate_resources(pod)

    def violations(self, pod: Content) -> Iterator[str]:
        """Yield the reasons why a changed *pod* would be refused."""
        try:
            if POD_NODE_SELECTOR in self._on:
                yield from self._conflicts(pod)
            if POD_TOLERATION_RESTRICTION in self._on and not self._tolerates_allowed(pod):
                yield "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
        except _Unreadable as error:
            yield str(error)

    def unknown_namespaces(self, pods: Iterable[Content], known: Collection[str]) -> set[str]:
        """Return the namespaces of *pods* that are not *known*, if a plugin that is on reads them."""
        return {*map(namespace_of, pods)}.difference(known) if self._on & OF_NAMESPACES else set()

    def _of_namespace(self, pod: Content, annotation: str) -> str | None:
        text = self._annotations.get(namespace_of(pod), {}).get(annotation)
        return text if isinstance(text, str) else None

    def _selector(self, pod: Content) -> dict[str, str]:
        labels = {}
        written = self._of_namespace(pod, _SELECTOR)
        for text in written.split(",") if written else ():
            key, _, value = (each.strip() for each in text.partition("="))
            if text.count("=") != 1 or label_key(key) or label_value(value):
                raise _Unreadable(f"annotation {_SELECTOR} of namespace {namespace_of(pod)}: invalid selector: {text!r}")
            labels[key] = value
        return labels

    def _conflicts(self, pod: Content) -> Iterator[str]:
        own = section(pod["spec"], "nodeSelector")
        if any(own.get(key, value) != value for key, value in self._selector(pod).items()):
            yield "pod node label selector conflicts with its namespace node label selector"

    def _set_selector(self, pod: Content) -> Iterator[str]:
        conflicts = [*self._conflicts(pod)]
        yield from conflicts
        if not conflicts and (selector := self._selector(pod)):
            pod["spec"]["nodeSelector"] = {**selector, **section(pod["spec"], "nodeSelector")}

    def _tolerates_allowed(self, pod: Content) -> bool:
        """Return whether the namespace allows all tolerations of *pod*; an empty list allows all."""
        allowed = self._tolerations(pod, _ALLOWED)
        given = [*items(pod["spec"], "tolerations"), *_of_node_states(pod)]
        return not allowed or all(any(_covers(wide, each) for wide in allowed) for each in given)

    def _tolerations(self, pod: Content, annotation: str) -> list[Content] | None:
        """Return the tolerations in an annotation of the pod's namespace; None if it has none."""
        if (text := self._of_namespace(pod, annotation)) is None:
            return None
        try:
            listed = json.loads(text or "[]")
        except (ValueError, RecursionError):
            listed = ""
        entries = [] if listed is None else listed
        if not isinstance(entries, list) or not all(map(_is_toleration, entries)):
            raise _Unreadable(f"annotation {annotation} of namespace {namespace_of(pod)}: must be a JSON list of tolerations")
        return entries


def plugins_of_servers(pods: ObjectList) -> frozenset[str] | None:
    """Return the plugins that all API servers among *pods* of a cluster turn on; None if there are no servers.

    Servers are those that run as static pods, as kubeadm makes them.
    """
    servers = [content for each in marked_pods(pods, SERVER) if _is_server(content := parsed(each) or {})]
    return frozenset(ADMISSION_PLUGINS).intersection(*map(_turned_on, servers)) if servers else None


def _turned_on(server: Content) -> set[str]:
    containers = items(section(server, "spec"), "containers")
    arguments = [each for container in containers for kind in ("command", "args") for each in container.get(kind) or ()]
    flags = (each.removeprefix(_FLAG) for each in arguments if isinstance(each, str) and each.startswith(_FLAG))
    return {name for flag in flags for name in flag.split(",")}


def _is_server(pod: Content) -> bool:
    return namespace_of(pod) == "kube-system" and section(section(pod, "metadata"), "labels").get("component") == API_SERVER


def tolerate_resources(pod: Content) -> bool:
    """Make *pod* tolerate the taints of the extended resources that it requests (ExtendedResourceToleration); return whether that is new."""
    given = items(pod["spec"], "tolerations")
    added = [{"key": each, "operator": "Exists", "effect": "NoSchedule"} for each in requested_resources(pod)]
    if new := [each for each in added if each not in given]:
        pod["spec"]["tolerations"] = [*given, *new]
    return bool(new)


def requested_resources(pod: Content) -> list[str]:
    """Return the extended resources that containers of *pod* request, sorted; a limit without a request is one."""
    resources = (section(each, "resources") for kind in _CONTAINERS for each in items(section(pod, "spec"), kind))
    return sorted({name for each in resources for name in (*section(each, "requests"), *section(each, "limits")) if is_extended(name)})


def _of_pressure(pod: Content) -> Iterator[Content]:
    """Yield the toleration of pods that are not of the class BestEffort."""
    resources = [section(pod["spec"], "resources")]
    resources += [section(each, "resources") for kind in _CONTAINERS for each in items(pod["spec"], kind)]
    amounts = (readable(each, kind) for each in resources for kind in ("requests", "limits"))
    if any(quantity.milli_value(amount) for each in amounts for name, amount in each.items() if name in {"cpu", "memory"}):
        yield {"key": _MEMORY_PRESSURE, "operator": "Exists", "effect": "NoSchedule"}


def _of_node_states(pod: Content) -> Iterator[Content]:
    given = items(pod["spec"], "tolerations")
    for key in _TOLERATED_AT_FIRST:
        if not any(each.get("key") in {key, None, ""} and each.get("effect") in {"NoExecute", None, ""} for each in given):
            yield {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}


def _merge_tolerations(pod: Content, more: list[Content]) -> None:
    """Add tolerations to those of *pod*; one that another one covers is left out (pkg/util/tolerations, MergeTolerations)."""
    if not more:
        return
    # The API server sets these before, and they cover others; placement is modelled without them.
    states, merged = [*_of_node_states(pod)], list[Content]()
    given = [*items(pod["spec"], "tolerations"), *states, *more]
    for place, each in enumerate(given):
        later = (other for other in given[place + 1 :] if _fields(other) != _fields(each))
        if not any(_covers(other, each) for other in merged) and not any(_covers(other, each) for other in later):
            merged.append(each)
    pod["spec"]["tolerations"] = [each for each in merged if each not in states]


def _covers(wide: Content, narrow: Content) -> bool:
    """Return whether *wide* tolerates all that *narrow* does, as pkg/util/tolerations (isSuperset) has it."""
    if (fields := _fields(wide)) == _fields(narrow):
        return True
    key, operator, value, effect, seconds = fields
    own_key, own_operator, own_value, own_effect, own_seconds = _fields(narrow)
    if own_key != key and (key or operator != "Exists"):
        return False
    if effect not in {"", own_effect}:
        return False
    if effect == "NoExecute" and seconds is not None and (own_seconds is None or own_seconds > seconds):
        return False
    return operator == "Exists" or (operator in {"", "Equal"} and own_operator == "Equal" and own_value == value)


def _fields(toleration: Content) -> tuple[str, str, str, str, int | None]:
    key, operator, value, effect = (toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))
    return key, operator, value, effect, toleration.get("tolerationSeconds")


def _is_toleration(entry: object) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("tolerationSeconds"), int | None):
        return False
    return all(isinstance(entry.get(name), str | None) for name in ("key", "operator", "value", "effect"))
