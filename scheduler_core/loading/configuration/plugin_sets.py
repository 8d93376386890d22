"""Enabled plugins of each extension point: kube-scheduler's defaults merged with a profile's sets, ``multiPoint`` expanded.

As in kube-scheduler (apis/config/v1 default_plugins.go; framework/runtime, expandMultiPointPlugins): a set of an extension point
replaces what multiPoint enables there, a plugin that is disabled at a point is not enabled there by multiPoint, and ``*`` disables all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.causes.input_problems import ArgumentsNotModelled, PluginNotModelled, PluginStaysEnabled, SettingNotModelled
from scheduler_core.loading.configuration.fields import FEASIBILITY, POINTS, points_of
from validators import field
from validators.field import FieldError

Note = SettingNotModelled | PluginNotModelled | ArgumentsNotModelled | PluginStaysEnabled
"""What is not modelled, and the consequence."""

_FILTERS = ("preFilter", "filter")
PLUGINS: Mapping[str, tuple[str, ...]] = {
    "SchedulingGates": ("preEnqueue",),
    "PrioritySort": ("queueSort",),
    "NodeName": _FILTERS,
    "NodeUnschedulable": _FILTERS,
    "TaintToleration": (*_FILTERS, "preScore", "score"),
    "NodeAffinity": (*_FILTERS, "preScore", "score"),
    "NodePorts": _FILTERS,
    "NodeResourcesFit": (*_FILTERS, "preScore", "score", "placementScore"),
    "VolumeRestrictions": _FILTERS,
    "NodeVolumeLimits": _FILTERS,
    "VolumeBinding": (*_FILTERS, "reserve", "preBind", "preScore", "score"),
    "VolumeZone": _FILTERS,
    "PodTopologySpread": (*_FILTERS, "preScore", "score"),
    "InterPodAffinity": (*_FILTERS, "preScore", "score"),
    "DynamicResources": ("preEnqueue", *_FILTERS, "postFilter", "podGroupPostFilter", "score", "reserve", "preBind"),
    "DefaultPreemption": ("preEnqueue", "postFilter", "podGroupPostFilter"),
    "NodeResourcesBalancedAllocation": ("preScore", "score"),
    "ImageLocality": ("score",),
    "DefaultBinder": ("bind",),
    "NodeDeclaredFeatures": _FILTERS,
    "GangScheduling": ("preEnqueue",),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "PodGroupPodsCount": ("placementScore",),
}
"""Default plugins in their order, each with the extension points that it implements in all versions."""
WEIGHTS: Mapping[str, int] = {"TaintToleration": 3, **dict.fromkeys(("NodeAffinity", "PodTopologySpread", "InterPodAffinity"), 2)} | {
    "DynamicResources": 2
}
"""Default weights of scores other than 1."""
_REMOVED = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_WHOLE = "DynamicResources"
"""Default plugin that does nothing if its filter is disabled."""
_STAY_ENABLED = {
    "filter": frozenset({"NodeResourcesFit"}),
    "score": frozenset[str](),
    "placementScore": frozenset[str](),
    "postFilter": frozenset[str](),
    "podGroupPostFilter": frozenset[str](),
}
"""Extension points whose set is modelled, with the plugins that stay enabled there."""


def plugins_of(behavior: SchedulerBehavior) -> Mapping[str, tuple[str, ...]]:
    """Return the default plugins in their order, each with the extension points that it implements."""
    gang = FEASIBILITY if behavior.has_feasibility_point else "permit"
    reserve = ("reserve",) if behavior.reserves_for_preemption else ()
    return {
        **PLUGINS,
        "GangScheduling": (*PLUGINS["GangScheduling"], gang),
        "DefaultPreemption": (*PLUGINS["DefaultPreemption"], *reserve),
    }


class EnabledPlugins(Record, frozen=True):
    """Plugins of one profile, by extension point, in order; and the weights of scores, 0 of a disabled score."""

    at: Mapping[str, tuple[str, ...]]
    scores: Mapping[str, int]
    placement_scores: Mapping[str, int]


def expand(
    sets: Mapping[str, Any], path: FieldPath, behavior: SchedulerBehavior, errors: list[FieldError], notes: list[Note]
) -> EnabledPlugins:
    """Return the enabled plugins of a profile whose ``plugins`` are *sets*, at *path*."""
    plugins = plugins_of(behavior)
    for point, each in sets.items():
        errors += _invalid_sets(each, point, plugins.get, path / point)
    multi = _merged(_enabled(sets.get("multiPoint", {})), _disabled(sets.get("multiPoint", {})))
    at = {point: _expanded(point, sets.get(point, {}), multi, plugins) for point in points_of(behavior)}
    only_one = {"queueSort": "only one queue sort plugin can be enabled"}
    if not behavior.combines_generators:
        only_one["placementGenerate"] = "at most one placement generate plugin is allowed"
    errors += [field.invalid(path / point, list(at[point]), text) for point, text in only_one.items() if len(at[point]) > 1]
    if all(name in PLUGINS for name, _ in multi):
        # Other plugins in multiPoint can extend any point.
        errors += [
            field.required(path / point, f"at least one {point} plugin is needed") for point in ("queueSort", "bind") if not at[point]
        ]
    notes += _notes(sets, at, plugins, path)
    scores, placing = (_weights(point, sets, multi, at[point]) for point in ("score", "placementScore"))
    return EnabledPlugins(at, scores, placing)


def without_defaults(sets: Mapping[str, Any], behavior: SchedulerBehavior) -> list[str]:
    """Return the plugins for which kube-scheduler has no default arguments: those that are enabled only at podGroupPostFilter."""
    if behavior.defaults_all_arguments:
        return []
    multi = _merged(_enabled(sets.get("multiPoint", {})), _disabled(sets.get("multiPoint", {})))
    elsewhere = {name for point in POINTS if point != "podGroupPostFilter" for name, _ in _enabled(sets.get(point, {}))}
    return [name for name, _ in _enabled(sets.get("podGroupPostFilter", {})) if name not in elsewhere.union(name for name, _ in multi)]


def _enabled(plugin_set: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(each.get("name", ""), each.get("weight", 0)) for each in plugin_set.get("enabled", ()) if each]


def _disabled(plugin_set: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(each.get("name", "") for each in plugin_set.get("disabled", ()) if each)


def _merged(enabled: list[tuple[str, int]], disabled: frozenset[str]) -> list[tuple[str, int]]:
    """Return the multiPoint plugins: the defaults, configured in place, then the others."""
    custom = dict(enabled)
    kept = [] if "*" in disabled else [name for name in PLUGINS if name not in disabled]
    defaults = [(name, custom.get(name, WEIGHTS.get(name, 1))) for name in kept]
    return [*defaults, *((name, weight) for name, weight in enabled if name not in kept)]


def _expanded(
    point: str, own: Mapping[str, Any], multi: Iterable[tuple[str, int]], plugins: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    listed = [name for name, _ in _enabled(own)]
    if "*" in _disabled(own):
        return tuple(listed)
    found = [name for name, _ in multi if point in plugins.get(name, ()) and name not in _disabled(own)]
    overridden = [name for name in listed if name in found]
    return tuple(dict.fromkeys((*overridden, *found, *listed)))


def _weights(point: str, sets: Mapping[str, Any], multi: Iterable[tuple[str, int]], enabled: tuple[str, ...]) -> dict[str, int]:
    """Return the weight of each plugin that scores at *point*: its own set comes first, and 0 counts as 1."""
    first = dict(reversed([*_enabled(sets.get(point, {})), *multi]))
    return {name: (first[name] or 1) if name in enabled else 0 for name, points in PLUGINS.items() if point in points}


def _invalid_sets(
    plugin_set: Mapping[str, Any], point: str, points_of_plugin: Callable[[str], tuple[str, ...] | None], path: FieldPath
) -> Iterable[FieldError]:
    seen: set[str] = set()
    for index, (name, weight) in enumerate(_enabled(plugin_set)):
        at = path / "enabled" / index
        if name in _REMOVED:
            yield field.invalid(at, name, "the plugin was removed; NodeVolumeLimits replaces it")
        elif name in seen:
            yield field.duplicate(at, name, "the plugin is already registered")
        elif not name:
            yield field.required(at / "name", "the name of a plugin")
        elif point != "multiPoint" and point not in (points_of_plugin(name) or (point,)):
            yield field.invalid(at / "name", name, f"the plugin does not extend {point}")
        if weight < 0:
            yield field.invalid(at / "weight", weight, "must not be negative: such a weight is not modelled")
        seen.add(name)


def _notes(
    sets: Mapping[str, Any], at: Mapping[str, tuple[str, ...]], plugins: Mapping[str, tuple[str, ...]], path: FieldPath
) -> Iterable[Note]:
    for point, each in sets.items():
        for index, (name, _) in enumerate(_enabled(each)):
            if name and name not in PLUGINS:
                yield PluginNotModelled(str(path / point / "enabled" / index), name)
    for point in at:
        always = _STAY_ENABLED.get(point)
        for name, points in plugins.items():
            if (
                point not in points
                or name in at[point]
                or (name == _WHOLE and name not in at["filter"])
                or (always is not None and name not in always)
            ):
                continue
            # Filters and scores without their preparing step fail in kube-scheduler.
            prepared = {"preFilter": "filter", "preScore": "score"}.get(point)
            if prepared is None or name in at[prepared]:
                where = path / point if point in sets else path / "multiPoint" if "multiPoint" in sets else path
                yield PluginStaysEnabled(str(where), name, point)
