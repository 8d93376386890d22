"""KubeSchedulerConfiguration as a whole: profiles by schedulerName, and what of it is not modelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi import content
from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath
from kubeapi.pods import DEFAULT_SCHEDULER
from kubeapi.problem import ObjectLeftOut, Problem
from kubeapi.resource_names import is_extended
from scheduler_core.behavior.scheduler_behavior import BEHAVIORS, KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.input_problems import PartlyScored, SettingNotModelled, UnmodelledSetting
from scheduler_core.loading.configuration import plugin_args, plugin_sets
from scheduler_core.loading.configuration.fields import ARGS, GROUP_VERSION, KIND, checked, configuration_fields
from scheduler_core.loading.configuration.plugin_sets import PLUGINS, WEIGHTS, EnabledPlugins, Note
from scheduler_core.model.names import Name
from scheduler_core.model.scheduler_profile import SCORED_WHOLE, SchedulerProfile, SchedulerProfiles
from validators import field
from validators.field import FieldError
from validators.gates import ALL_ON, TOPOLOGY, Gates

NAME = Name(KIND, "", "")
"""Name of a configuration in problems: there is one."""
_ROOT = FieldPath()
_PERCENTAGE, _OF_PLACEMENTS = "percentageOfNodesToScore", "percentageOfPlacementsToScore"


class SchedulerConfiguration(Record, frozen=True):
    """Configuration that was read.

    Attributes:
        profiles: profiles by schedulerName; not to be used if there are errors.
        errors: all validation errors.
        notes: what is valid but not modelled.
        written: the object that was read.
        percentages: each ``percentageOfNodesToScore`` that is written and selects a part of more than 100 nodes.

    """

    profiles: SchedulerProfiles
    errors: tuple[FieldError, ...]
    notes: tuple[Note, ...]
    written: Mapping[str, Any]
    percentages: tuple[tuple[FieldPath, int], ...] = ()

    def problems(self, nodes: int | None = None) -> list[Problem]:
        """Return what is not modelled, as problems; *nodes* is the number of nodes of the cluster, None if it is not known."""
        profiles = ((str(path), SchedulerProfile(percentage_of_nodes=percentage)) for path, percentage in self.percentages)
        parts = (part_scored(profile, nodes, field) for field, profile in profiles)
        return [Problem.about(NAME, each) for each in (*self.notes, *parts) if each is not None]

    @property
    def refusals(self) -> list[Problem]:
        """Return the errors, for which the configuration is not used, as problems."""
        return [Problem.about(NAME, ObjectLeftOut(str(each), str(each.path))) for each in self.errors]


def part_scored(profile: SchedulerProfile, nodes: int | None = None, field: str = "") -> PartlyScored | None:
    """Return that kube-scheduler scores a part of *nodes* (number of nodes of the cluster) because of *field*; None if it scores all."""
    if nodes is None:
        return PartlyScored(SCORED_WHOLE, field=field)
    most = profile.most_scored(nodes)
    return PartlyScored(SCORED_WHOLE, nodes, most, field) if most < nodes else None


def read_configuration(
    written: Mapping[str, Any], behavior: SchedulerBehavior = KUBERNETES_1_37, gates: Gates = ALL_ON
) -> SchedulerConfiguration:
    """Return the configuration of the object *written*, as a kube-scheduler with *behavior* and *gates* reads it."""
    errors: list[FieldError] = []
    notes: list[Note] = []
    for key, want in (("apiVersion", GROUP_VERSION), ("kind", KIND)):
        if written.get(key) != want:
            errors.append(field.not_supported(_ROOT / key, written.get(key) or "", (want,)))
    if errors:
        return SchedulerConfiguration(SchedulerProfiles({}), tuple(errors), (), written)
    values = checked(written, configuration_fields(behavior), _ROOT, errors)
    if errors:
        return SchedulerConfiguration(SchedulerProfiles({}), tuple(errors), (), written)
    errors += _check(values, gates)
    if values.get("extenders"):
        notes.append(SettingNotModelled(str(_ROOT / "extenders"), UnmodelledSetting.EXTENDERS))
    by_name: dict[str, SchedulerProfile] = {}
    listed = values.get("profiles") or [{}]
    for index, each in enumerate(listed):
        path, given = _ROOT / "profiles" / index, each or {}
        name = given.get("schedulerName", DEFAULT_SCHEDULER if len(listed) == 1 else "")
        errors += _check_percentages(given, path, gates)
        if not name:
            errors.append(field.required(path / "schedulerName"))
        elif name in by_name:
            errors.append(field.duplicate(path / "schedulerName", name))
        inherited = {key: values[key] for key in (_PERCENTAGE, _OF_PLACEMENTS) if key in values}
        by_name[name] = _profile({**inherited, **given}, path, behavior, errors, notes)
    errors += _check_queue_sort(listed)
    percentages = tuple((path / _PERCENTAGE, percentage) for path, percentage in _percentages(values, listed) if percentage < 100)
    return SchedulerConfiguration(SchedulerProfiles(by_name), tuple(errors), tuple(dict.fromkeys(notes)), written, percentages)


def read_by_any_version(written: Mapping[str, Any]) -> SchedulerConfiguration:
    """Return the configuration as the newest version that accepts it reads it; if none does, as the newest with the fewest errors."""
    return min((read_configuration(written, each) for each in reversed(BEHAVIORS.values())), key=lambda found: len(found.errors))


def _percentages(values: Mapping[str, Any], profiles: Sequence[Mapping[str, Any] | None]) -> Iterator[tuple[FieldPath, int]]:
    """Yield the percentages that are written and apply to a profile, each with its place; that of a profile comes before the global one."""
    own = [(each or {}).get(_PERCENTAGE) for each in profiles]
    if _PERCENTAGE in values and None in own:
        yield _ROOT, values[_PERCENTAGE]
    yield from ((_ROOT / "profiles" / index, percentage) for index, percentage in enumerate(own) if percentage is not None)


def _profile(
    given: Mapping[str, Any], path: FieldPath, behavior: SchedulerBehavior, errors: list[FieldError], notes: list[Note]
) -> SchedulerProfile:
    enabled = plugin_sets.expand(given.get("plugins", {}), path / "plugins", behavior, errors, notes)
    configured = {each.get("name") for each in given.get("pluginConfig", ()) if each}
    for name in plugin_sets.without_defaults(given.get("plugins", {}), behavior):
        if name in ARGS and name not in configured:
            text = f"needs pluginConfig of {name}: it has no default arguments if it is enabled only here"
            errors.append(field.invalid(path / "plugins" / "podGroupPostFilter" / "enabled", name, text))
    fields = plugin_args.read_args(given.get("pluginConfig", ()), path / "pluginConfig", errors, notes)
    percentages = {"percentage_of_nodes": given.get(_PERCENTAGE), "percentage_of_placements": given.get(_OF_PLACEMENTS, 0)}
    return SchedulerProfile(**_enabled(enabled), **fields, **percentages)


def _enabled(enabled: EnabledPlugins) -> dict[str, Any]:
    filters = (name for name, points in PLUGINS.items() if "filter" in points and name != "NodeResourcesFit")
    return {
        "disabled": frozenset(name for name in filters if name not in enabled.at["filter"]),
        "weights": tuple((name, weight) for name, weight in enabled.scores.items() if weight != WEIGHTS.get(name, 1)),
        "placement_weights": tuple((name, weight) for name, weight in enabled.placement_scores.items() if weight != 1),
        "preempts_pods": "DefaultPreemption" in enabled.at["postFilter"],
        "preempts_groups": "DefaultPreemption" in enabled.at["podGroupPostFilter"],
    }


def _check(values: Mapping[str, Any], gates: Gates) -> Iterator[FieldError]:
    if (parallelism := values.get("parallelism", 16)) <= 0:
        yield field.invalid(_ROOT / "parallelism", parallelism, "should be an integer value greater than zero")
    yield from _check_percentages(values, _ROOT, gates)
    first, most = values.get("podInitialBackoffSeconds", 1), values.get("podMaxBackoffSeconds", 10)
    if first <= 0:
        yield field.invalid(_ROOT / "podInitialBackoffSeconds", first, "must be greater than 0")
    if most < first:
        yield field.invalid(_ROOT / "podMaxBackoffSeconds", most, "must be greater than or equal to PodInitialBackoffSeconds")
    election = values.get("leaderElection", {})
    lock = election.get("resourceLock") or "leases"
    if election.get("leaderElect", True) and lock != "leases":
        yield field.invalid(_ROOT / "leaderElection" / "resourceLock", lock, 'resourceLock value must be "leases"')
    yield from _check_extenders(values.get("extenders", ()))


def _check_percentages(values: Mapping[str, Any], path: FieldPath, gates: Gates) -> Iterator[FieldError]:
    if _OF_PLACEMENTS in values and not gates.enabled(TOPOLOGY):
        yield field.forbidden(path / _OF_PLACEMENTS, f"{_OF_PLACEMENTS} requires {TOPOLOGY} feature gate to be enabled")
        return
    for key in (_PERCENTAGE, _OF_PLACEMENTS):
        if not 0 <= values.get(key, 0) <= 100:
            yield field.invalid(path / key, values[key], "not in valid range [0-100]")


def _check_extenders(extenders: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    path, names = _ROOT / "extenders", set[str]()
    for index, each in enumerate(extenders):
        if each.get("prioritizeVerb") and each.get("weight", 0) <= 0:
            yield field.invalid(path / index / "weight", each.get("weight", 0), "must have a positive weight applied to it")
        for number, managed in enumerate(each.get("managedResources", ())):
            at, name = path / index / "managedResources" / number / "name", managed.get("name", "")
            texts = content.label_key(name)
            yield from (field.invalid(at, name, text) for text in texts)
            if not texts and not is_extended(name):
                yield field.invalid(at, name, "is an invalid extended resource name")
            if name in names:
                yield field.invalid(at, name, "duplicate extender managed resource name")
            names.add(name)
    binders = sum(bool(each.get("bindVerb")) for each in extenders)
    if binders > 1:
        yield field.invalid(path, f"found {binders} extenders implementing bind", "only one extender can implement bind")


def _check_queue_sort(profiles: Sequence[Mapping[str, Any] | None]) -> Iterator[FieldError]:
    first, *others = [(each or {}).get("plugins", {}).get("queueSort", {}) for each in profiles]
    for index, each in enumerate(others):
        if each != first:
            yield field.invalid(_ROOT / "profiles" / (index + 1) / "plugins" / "queueSort", each, "must be the same for all profiles")
