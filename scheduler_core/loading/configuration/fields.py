"""Fields of a KubeSchedulerConfiguration and their JSON types; unknown fields are errors, as kube-scheduler decodes strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubeapi.field_path import FieldPath, Key
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_38, SchedulerBehavior
from scheduler_core.cel.times import parse_duration
from scheduler_core.cel.values import Fault
from validators import field
from validators.field import FieldError

GROUP_VERSION, KIND = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"

_TEXT, _FLAG, _NUMBER, _ANY = "a string", "true or false", "a number", "anything"
_DURATION: Final = "a duration, for example 30s or 1m30s"
_INT32, _INT64 = 2**31, 2**63
Schema = str | int | Mapping[str, "Schema"] | list["Schema"] | tuple["Schema"]
"""A type in words; for a whole number its upper limit; fields of an object; [item of a list]; (value of a map with free keys,)."""

_PLUGIN_SET: Schema = {"enabled": [{"name": _TEXT, "weight": _INT32}], "disabled": [{"name": _TEXT, "weight": _INT32}]}
POINTS: Final = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind"),
    *("postBind", "placementGenerate", "placementScore", "podGroupPostFilter"),
)
"""Extension points of all versions, as fields of ``plugins``."""
FEASIBILITY: Final = "placementFeasible"
"""Extension point of some versions."""
_LATER: Final = "a field of later versions"
_RESOURCES: Schema = [{"name": _TEXT, "weight": _INT64}]
_SHAPE: Schema = [{"utilization": _INT32, "score": _INT32}]
_REQUIREMENTS: Schema = [{"key": _TEXT, "operator": _TEXT, "values": [_TEXT]}]
_NODE_TERM: Schema = {"matchExpressions": _REQUIREMENTS, "matchFields": _REQUIREMENTS}
_SELECTOR: Schema = {"matchLabels": (_TEXT,), "matchExpressions": _REQUIREMENTS}
_NODE_AFFINITY: Schema = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]},
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": _INT32, "preference": _NODE_TERM}],
}
_CONSTRAINT: Schema = {
    **dict.fromkeys(("topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"), _TEXT),
    "maxSkew": _INT32,
    "minDomains": _INT32,
    "labelSelector": _SELECTOR,
    "matchLabelKeys": [_TEXT],
}
ARGS: Final[Mapping[str, Mapping[str, Schema]]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": _INT32, "minCandidateNodesAbsolute": _INT32},
    "DynamicResources": {"filterTimeout": _DURATION, "bindingTimeout": _DURATION},
    "InterPodAffinity": {"hardPodAffinityWeight": _INT32, "ignorePreferredTermsOfExistingPods": _FLAG},
    "NodeAffinity": {"addedAffinity": _NODE_AFFINITY},
    "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
    "NodeResourcesFit": {
        "ignoredResources": [_TEXT],
        "ignoredResourceGroups": [_TEXT],
        "scoringStrategy": {"type": _TEXT, "resources": _RESOURCES, "requestedToCapacityRatio": {"shape": _SHAPE}},
    },
    "PodTopologySpread": {"defaultConstraints": [_CONSTRAINT], "defaultingType": _TEXT},
    "VolumeBinding": {"bindTimeoutSeconds": _INT64, "shape": _SHAPE},
}
"""Arguments of each plugin that has any."""
_LEADER_ELECTION: Schema = {
    "leaderElect": _FLAG,
    **dict.fromkeys(("leaseDuration", "renewDeadline", "retryPeriod"), _DURATION),
    **dict.fromkeys(("resourceLock", "resourceName", "resourceNamespace"), _TEXT),
}
_CLIENT: Schema = {**dict.fromkeys(("kubeconfig", "acceptContentTypes", "contentType"), _TEXT), "qps": _NUMBER, "burst": _INT32}
_TLS: Schema = {
    "insecure": _FLAG,
    **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"), _TEXT),
}
_EXTENDER: Schema = {
    **dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"), _TEXT),
    "httpTimeout": _DURATION,
    **dict.fromkeys(("enableHTTPS", "nodeCacheCapable", "ignorable"), _FLAG),
    "weight": _INT64,
    "tlsConfig": _TLS,
    "managedResources": [{"name": _TEXT, "ignoredByScheduler": _FLAG}],
}


def profile_fields(behavior: SchedulerBehavior) -> Mapping[str, Schema]:
    """Return the fields of a profile."""
    return {
        "schedulerName": _TEXT,
        "percentageOfNodesToScore": _INT32,
        "percentageOfPlacementsToScore": _INT32 if behavior.limits_placements else _LATER,
        "plugins": {
            **dict.fromkeys((*POINTS, "multiPoint"), _PLUGIN_SET),
            FEASIBILITY: _PLUGIN_SET if behavior.has_feasibility_point else _LATER,
        },
        "pluginConfig": [{"name": _TEXT, "args": _ANY}],
    }


def configuration_fields(behavior: SchedulerBehavior) -> Mapping[str, Schema]:
    """Return the fields of a configuration."""
    return {
        **dict.fromkeys(("apiVersion", "kind"), _TEXT),
        **dict.fromkeys(("parallelism", "percentageOfNodesToScore"), _INT32),
        "percentageOfPlacementsToScore": _INT32 if behavior.limits_placements else _LATER,
        **dict.fromkeys(("podInitialBackoffSeconds", "podMaxBackoffSeconds"), _INT64),
        **dict.fromkeys(("enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"), _FLAG),
        "leaderElection": _LEADER_ELECTION,
        "clientConnection": _CLIENT,
        "profiles": [profile_fields(behavior)],
        "extenders": [_EXTENDER],
    }


def points_of(behavior: SchedulerBehavior) -> tuple[str, ...]:
    """Return the extension points."""
    return (*POINTS, FEASIBILITY) if behavior.has_feasibility_point else POINTS


def checked(value: Any, schema: Schema, path: FieldPath, errors: list[FieldError]) -> Any:
    """Return *value* without nulls and without values of a wrong type, which are added to *errors*, as are unknown fields."""
    kind, want = _type_of(schema)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
        return _wrong(value, want, path, errors)
    if (isinstance(schema, int) and not -schema <= value < schema) or (schema == _DURATION and seconds(value) is None):
        return _wrong(value, want, path, errors)
    if isinstance(schema, list):
        return [checked(each, schema[0], path / index, errors) for index, each in enumerate(value)]
    if isinstance(schema, tuple):
        return {key: checked(each, schema[0], path / Key(key), errors) for key, each in value.items()}
    if not isinstance(schema, Mapping):
        return value
    errors += [field.forbidden(path / str(key), "unknown field") for key in value if key not in schema]
    later = [key for key, inner in schema.items() if inner == _LATER and key in value]
    errors += [field.forbidden(path / key, f"unknown field before Kubernetes {KUBERNETES_1_38.version}") for key in later]
    found = {
        key: checked(value[key], inner, path / key, errors)
        for key, inner in schema.items()
        if inner != _LATER and value.get(key) is not None
    }
    return {key: each for key, each in found.items() if each is not None}


def seconds(duration: str) -> float | None:
    """Return a *duration* such as ``1m30s`` in seconds; None if it is none."""
    try:
        return parse_duration(duration).nanoseconds / 10**9
    except Fault:
        return None


def _type_of(schema: Schema) -> tuple[Any, str]:
    """Return the Python type of values of *schema*, and the type in words."""
    match schema:
        case str():
            return {_TEXT: str, _DURATION: str, _FLAG: bool, _NUMBER: (int, float)}.get(schema, object), schema
        case int():
            return int, f"a whole number of {schema.bit_length()} bits"
        case list():
            return list, "a list"
        case _:
            return Mapping, "an object"


def _wrong(value: Any, want: str, path: FieldPath, errors: list[FieldError]) -> None:
    errors.append(field.type_invalid(path, value, f"must be {want}"))
