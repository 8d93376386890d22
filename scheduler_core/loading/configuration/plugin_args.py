"""Arguments of plugins: defaults and validation as in kube-scheduler 1.37.1 (apis/config/v1 defaults.go, apis/config/validation)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kubeapi import content, decode
from kubeapi.affinity import NodeAffinity
from kubeapi.decoders import DECODERS
from kubeapi.field_path import FieldPath
from kubeapi.pods import TopologySpreadConstraint
from kubeapi.selectors import Requirement
from scheduler_core.causes.input_problems import ArgumentsNotModelled, SettingNotModelled, UnmodelledSetting
from scheduler_core.loading import object_errors
from scheduler_core.loading.configuration.fields import ARGS, GROUP_VERSION, checked, seconds
from scheduler_core.loading.configuration.plugin_sets import Note
from scheduler_core.model.scheduler_profile import CAPACITY_RATIO, CPU_AND_MEMORY, LEAST_ALLOCATED, MOST_ALLOCATED, ScoringStrategy
from validators import field
from validators.field import FieldError

_STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, CAPACITY_RATIO)
_WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_DEFAULTING = ("List", "System")
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_MOST_WEIGHT, _MOST_USE, _MOST_SCORE = 100, 100, 10

Args = Mapping[str, Any]


def read_args(listed: Sequence[Any], path: FieldPath, errors: list[FieldError], notes: list[Note]) -> dict[str, Any]:
    """Return the fields of a SchedulerProfile that the ``pluginConfig`` *listed* sets."""
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for index, each in enumerate(listed):
        at, name = path / index, (each or {}).get("name", "")
        if name in seen:
            errors.append(field.duplicate(at, name))
            continue
        seen.add(name)
        if name not in ARGS:
            if (each or {}).get("args") is not None or not name:
                notes.append(ArgumentsNotModelled(str(at), name))
            continue
        before = len(errors)
        args = _typed((each or {}).get("args") or {}, name, at / "args", errors)
        if len(errors) == before:
            errors += _CHECKS[name](args, at / "args")
        if len(errors) == before:
            found |= _VALUES.get(name, _no_values)(args)
            notes += _notes(name, args, at / "args")
    return found


def _typed(args: Any, name: str, path: FieldPath, errors: list[FieldError]) -> Args:
    for key, want in (("apiVersion", GROUP_VERSION), ("kind", f"{name}Args")):
        if isinstance(args, Mapping) and args.get(key) not in (None, "", want):
            errors.append(field.not_supported(path / key, args[key], (want,)))
    result = checked(args, {"apiVersion": "anything", "kind": "anything", **ARGS[name]}, path, errors)
    return result if isinstance(result, Mapping) else {}


def _notes(name: str, args: Args, path: FieldPath) -> Iterator[Note]:
    if name == "DefaultPreemption":
        for key in sorted(args.keys() & ARGS[name].keys()):
            yield SettingNotModelled(str(path / key), UnmodelledSetting.CANDIDATES)
    if name == "DynamicResources" and "filterTimeout" in args:
        yield SettingNotModelled(str(path / "filterTimeout"), UnmodelledSetting.FILTER_TIMEOUT)
    if name == "VolumeBinding" and "shape" in args:
        yield SettingNotModelled(str(path / "shape"), UnmodelledSetting.CAPACITY_SCORE)


def _check_preemption(args: Args, path: FieldPath) -> Iterator[FieldError]:
    percentage, absolute = args.get("minCandidateNodesPercentage", 10), args.get("minCandidateNodesAbsolute", 100)
    if not 0 <= percentage <= 100:
        yield field.invalid(path / "minCandidateNodesPercentage", percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield field.invalid(path / "minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)")
    if not percentage and not absolute:
        text = "cannot be zero at the same time as minCandidateNodesAbsolute"
        yield field.invalid(path / "minCandidateNodesPercentage", 0, text)


def _check_pod_affinity(args: Args, path: FieldPath) -> Iterator[FieldError]:
    weight = args.get("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        yield field.invalid(path / "hardPodAffinityWeight", weight, "not in valid range [0, 100]")


def _pod_affinity(args: Args) -> dict[str, Any]:
    ignores = args.get("ignorePreferredTermsOfExistingPods", False)
    return {"hard_pod_affinity_weight": args.get("hardPodAffinityWeight", 1), "ignores_preferred_terms": ignores}


def _check_node_affinity(args: Args, path: FieldPath) -> Iterator[FieldError]:
    added, at = args.get("addedAffinity", {}), path / "addedAffinity"
    required = at / _REQUIRED / "nodeSelectorTerms"
    terms = [(required / index, term) for index, term in _listed(added.get(_REQUIRED, {}), "nodeSelectorTerms")]
    terms += [(at / _PREFERRED / index / "preference", each.get("preference", {})) for index, each in _listed(added, _PREFERRED)]
    for where, term in terms:
        for key in ("matchExpressions", "matchFields"):
            for index, each in _listed(term, key):
                requirement = Requirement(each.get("key", ""), each.get("operator", ""), tuple(each.get("values", ())))
                if text := object_errors.node_requirement(requirement, of_field=key == "matchFields"):
                    yield field.invalid(where / key / index, each, text)


def _node_affinity(args: Args) -> dict[str, Any]:
    if not (added := args.get("addedAffinity")):
        return {}
    preferred = [{"weight": 0, "preference": {}, **each} for _, each in _listed(added, _PREFERRED)]
    return {"added_affinity": DECODERS[NodeAffinity].decode(decode.ENCODER.encode(added | {_PREFERRED: preferred}))}


def _check_balanced(args: Args, path: FieldPath) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in _listed(args, "resources"):
        at, name, weight = path / "resources" / index, each.get("name", ""), each.get("weight", 0) or 1
        if name in seen:
            yield field.duplicate(at / "name", name)
        if weight != 1:
            yield field.invalid(at / "weight", weight, "must be 1")
        seen.add(name)


def _balanced(args: Args) -> dict[str, Any]:
    return {"balanced": tuple(each.get("name", "") for each in args["resources"])} if args.get("resources") else {}


def _check_fit(args: Args, path: FieldPath) -> Iterator[FieldError]:
    for key in ("ignoredResources", "ignoredResourceGroups"):
        for index, name in enumerate(args.get(key, ())):
            if key == "ignoredResourceGroups" and "/" in name:
                yield field.invalid(path / key / index, name, "resource group name can't contain '/'")
            yield from (field.invalid(path / key / index, name, text) for text in content.label_key(name))
    if "scoringStrategy" in args:
        yield from _check_strategy(args["scoringStrategy"], path / "scoringStrategy")


def _check_strategy(strategy: Args, at: FieldPath) -> Iterator[FieldError]:
    kind, ratio = strategy.get("type", ""), strategy.get("requestedToCapacityRatio")
    if kind not in _STRATEGIES:
        yield field.not_supported(at / "type", kind, _STRATEGIES)
    for index, each in _listed(strategy, "resources"):
        weight = each.get("weight", 0) or 1
        if not 0 < weight <= _MOST_WEIGHT:
            text = f"resource weight of {each.get('name', '')} not in valid range (0, {_MOST_WEIGHT}]"
            yield field.invalid(at / "resources" / index / "weight", weight, text)
    if kind != CAPACITY_RATIO:
        if ratio is not None:
            yield field.forbidden(at / "requestedToCapacityRatio", f"must be nil when type is not {CAPACITY_RATIO}")
    elif ratio is None:
        yield field.required(at / "requestedToCapacityRatio", f"must be specified when type is {CAPACITY_RATIO}")
    else:
        yield from _check_shape(ratio.get("shape", ()), at / "requestedToCapacityRatio" / "shape")


def _check_shape(shape: Sequence[Args], path: FieldPath) -> Iterator[FieldError]:
    if not shape:
        yield field.required(path, "at least one point must be specified")
    points = [((each or {}).get("utilization", 0), (each or {}).get("score", 0)) for each in shape]
    for index in range(1, len(points)):
        if points[index - 1][0] >= points[index][0]:
            yield field.invalid(path / index / "utilization", points[index][0], "values must be sorted in increasing order")
            break
    for index, (use, score) in enumerate(points):
        for key, value, most in (("utilization", use, _MOST_USE), ("score", score, _MOST_SCORE)):
            if not 0 <= value <= most:
                yield field.invalid(path / index / key, value, f"not in valid range [0, {most}]")


def _fit(args: Args) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ignored": frozenset(args.get("ignoredResources", ())),
        "ignored_groups": frozenset(args.get("ignoredResourceGroups", ())),
    }
    if strategy := args.get("scoringStrategy"):
        resources = tuple((each.get("name", ""), each.get("weight", 0) or 1) for each in strategy.get("resources", ()))
        shape = strategy.get("requestedToCapacityRatio", {}).get("shape", ())
        points = tuple((each.get("utilization", 0), each.get("score", 0)) for each in shape)
        found["strategy"] = ScoringStrategy(strategy["type"], resources or CPU_AND_MEMORY, points)
    return found


def _check_spread(args: Args, path: FieldPath) -> Iterator[FieldError]:
    kind, constraints, at = args.get("defaultingType") or "System", args.get("defaultConstraints", ()), path / "defaultConstraints"
    if kind not in _DEFAULTING:
        yield field.not_supported(path / "defaultingType", kind, reversed(_DEFAULTING))
    elif kind == "System" and constraints:
        yield field.invalid(path / "defaultingType", kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(constraints):
        skew, key, when = each.get("maxSkew", 0), each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")
        if skew <= 0:
            yield field.invalid(at / index / "maxSkew", skew, "not in valid range (0, inf)")
        for name, value in (("topologyKey", key), ("whenUnsatisfiable", when)):
            if not value:
                yield field.required(at / index / name, "can not be empty")
        yield from (field.invalid(at / index / "topologyKey", key, text) for text in content.label_key(key) if key)
        if when and when not in _WHEN_UNSATISFIABLE:
            yield field.not_supported(at / index / "whenUnsatisfiable", when, _WHEN_UNSATISFIABLE)
        if "labelSelector" in each:
            yield field.forbidden(at / index / "labelSelector", "constraint must not define a selector, as they deduced for each pod")
        if (key, when) in seen:
            yield field.duplicate(at / index, f"{{{key}, {when}}}")
        seen.add((key, when))


def _spread(args: Args) -> dict[str, Any]:
    if (args.get("defaultingType") or "System") == "System":
        return {"default_constraints": None}
    decoder = DECODERS[TopologySpreadConstraint]
    return {"default_constraints": tuple(decoder.decode(decode.ENCODER.encode(each)) for each in args.get("defaultConstraints", ()))}


def _check_volumes(args: Args, path: FieldPath) -> Iterator[FieldError]:
    if args.get("bindTimeoutSeconds", 0) < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield field.invalid(path / "bindTimeoutSeconds", args["bindTimeoutSeconds"], text)
    if args.get("shape"):
        yield from _check_shape(args["shape"], path / "shape")


def _volumes(args: Args) -> dict[str, Any]:
    return {"volume_seconds": float(args["bindTimeoutSeconds"])} if "bindTimeoutSeconds" in args else {}


def _check_devices(args: Args, path: FieldPath) -> Iterator[FieldError]:
    for key, least, text in (("filterTimeout", 0, "must be zero or positive"), ("bindingTimeout", 1, "must be at least 1 second")):
        if key in args and (seconds(args[key]) or 0) < least:
            yield field.invalid(path / key, args[key], text)


def _devices(args: Args) -> dict[str, Any]:
    return {"device_seconds": seconds(args["bindingTimeout"])} if "bindingTimeout" in args else {}


def _listed(owner: Args, key: str) -> Iterator[tuple[int, Args]]:
    return ((index, each or {}) for index, each in enumerate(owner.get(key, ())))


def _no_values(_: Args) -> dict[str, Any]:
    return {}


_CHECKS: Mapping[str, Callable[[Args, FieldPath], Iterator[FieldError]]] = {
    "DefaultPreemption": _check_preemption,
    "DynamicResources": _check_devices,
    "InterPodAffinity": _check_pod_affinity,
    "NodeAffinity": _check_node_affinity,
    "NodeResourcesBalancedAllocation": _check_balanced,
    "NodeResourcesFit": _check_fit,
    "PodTopologySpread": _check_spread,
    "VolumeBinding": _check_volumes,
}
_VALUES: Mapping[str, Callable[[Args], dict[str, Any]]] = {
    "DynamicResources": _devices,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volumes,
}
