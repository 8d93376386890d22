"""Random scheduler configurations, valid and not."""

from __future__ import annotations

import random
from typing import Any

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37
from scheduler_core.loading.configuration.fields import POINTS
from scheduler_core.loading.configuration.plugin_sets import plugins_of

Json = dict[str, Any]
GPU = "example.com/gpu"
_PLUGINS = plugins_of(KUBERNETES_1_37)
"""The same for all versions, so that they are told the same configurations."""
_RESOURCES = ("cpu", "memory", GPU, "ephemeral-storage", "unknown")


def configuration(*profiles: Json, **more: Any) -> Json:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [*profiles], **more}


def any_configuration(chance: random.Random) -> Json:
    """Return a configuration with one profile; about every second one has an error."""
    profile: Json = {"schedulerName": "default-scheduler"}
    if chance.random() < 0.5:
        points = {*chance.sample((*POINTS, "multiPoint"), chance.randint(1, 4)), chance.choice(["multiPoint", "score", "filter"])}
        profile["plugins"] = {point: _plugin_set(chance, point) for point in sorted(points)}
    else:
        profile["pluginConfig"] = [each for make in _ARGS if chance.random() < 0.35 and (each := make(chance))]
    more: Json = {}
    for name, values in (("percentageOfNodesToScore", (-1, 0, 50, 101)), ("podInitialBackoffSeconds", (0, 1, 20)), ("parallelism", (0, 4))):
        if chance.random() < 0.1:
            more[name] = chance.choice(values)
    if chance.random() < 0.05:
        more["unknown"] = 1
    return configuration(profile, **more)


def valid_profile(chance: random.Random, name: str) -> Json:
    """Return a valid profile with a scoring strategy, weights and disabled scores."""
    resources = [{"name": each, "weight": chance.randint(1, 9)} for each in chance.sample(_RESOURCES[:3], chance.randint(1, 3))]
    strategy: Json = {"type": chance.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]), "resources": resources}
    if strategy["type"] == "RequestedToCapacityRatio":
        uses = sorted(chance.sample(range(101), chance.randint(1, 4)))
        strategy["requestedToCapacityRatio"] = {"shape": [{"utilization": use, "score": chance.randint(0, 10)} for use in uses]}
    weights = [{"name": each, "weight": chance.randint(1, 5)} for each in chance.sample(_SCORES, 2)]
    balanced = [{"name": each} for each in chance.sample(_RESOURCES[:3], chance.randint(2, 3))]
    added = {"weight": 5, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}}
    args = {
        "NodeResourcesFit": {"scoringStrategy": strategy},
        "NodeResourcesBalancedAllocation": {"resources": balanced},
        "InterPodAffinity": {"hardPodAffinityWeight": chance.choice([0, 1, 50])},
        "NodeAffinity": {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [added]}} if chance.random() < 0.3 else {},
    }
    return {
        "schedulerName": name,
        "plugins": {"score": {"enabled": weights, "disabled": [{"name": chance.choice(_SCORES)}] if chance.random() < 0.5 else []}},
        "pluginConfig": [{"name": plugin, "args": each} for plugin, each in args.items()],
    }


_SCORES = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration", "NodeAffinity", "InterPodAffinity")


def _plugin_set(chance: random.Random, point: str) -> Json:
    names = [name for name, points in _PLUGINS.items() if point == "multiPoint" or point in points or chance.random() < 0.01]
    found: Json = {}
    if names and chance.random() < 0.6:
        found["enabled"] = [{"name": each} for each in chance.sample(names, min(len(names), chance.randint(1, 3)))]
        for each in found["enabled"]:
            if chance.random() < 0.6:
                each["weight"] = chance.choice([0, 1, 3, 50])
        found["enabled"] += found["enabled"][:1] if chance.random() < 0.05 else []
    if names and chance.random() < 0.6:
        several = chance.sample(names, min(len(names), chance.randint(1, 2)))
        found["disabled"] = [{"name": each} for each in (["*"] if chance.random() < 0.35 else several)]
    return found


def _resources(chance: random.Random, weights: tuple[int, ...]) -> list[Json]:
    return [{"name": each, "weight": chance.choice(weights)} for each in chance.sample(_RESOURCES, chance.randint(1, 3))]


def _fit(chance: random.Random) -> Json:
    kind = chance.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "RequestedToCapacityRatio", "Other"])
    strategy: Json = {"type": kind, "resources": _resources(chance, (0, 1, 5, 100, 101, -1) if chance.random() < 0.3 else (0, 1, 5, 100))}
    if (kind == "RequestedToCapacityRatio") is not (chance.random() < 0.1):
        uses = sorted(chance.sample((0, 10, 50, 100, 101), chance.randint(0, 3)))
        strategy["requestedToCapacityRatio"] = {"shape": [{"utilization": use, "score": chance.choice((0, 3, 10, 11))} for use in uses]}
    args: Json = {"scoringStrategy": strategy} if chance.random() < 0.8 else {}
    if chance.random() < 0.3:
        args["ignoredResources"] = [chance.choice(("a/b", "a b", GPU))]
        args["ignoredResourceGroups"] = [chance.choice(("a.com", "a/b", ""))] if chance.random() < 0.5 else []
    return {"name": "NodeResourcesFit", "args": args}


def _spread(chance: random.Random) -> Json:
    constraints = [
        {
            "maxSkew": chance.choice((0, 1, 1)),
            "topologyKey": chance.choice(("zone", "zone", "rack", "a b", "")),
            "whenUnsatisfiable": chance.choice(("DoNotSchedule", "ScheduleAnyway", "Other")),
        }
        for _ in range(chance.randint(0, 2))
    ]
    return {
        "name": "PodTopologySpread",
        "args": {"defaultingType": chance.choice(("List", "List", "System", "X")), "defaultConstraints": constraints},
    }


def _node_affinity(chance: random.Random) -> Json:
    requirement: Json = {"key": chance.choice(("a", "a", "a b")), "operator": chance.choice(("In", "Exists", "Gt", "Other"))}
    if chance.random() < 0.6:
        requirement["values"] = [chance.choice(("x", "1"))]
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {"name": "NodeAffinity", "args": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


_ARGS = (
    _fit,
    _spread,
    _node_affinity,
    lambda chance: {"name": "NodeResourcesBalancedAllocation", "args": {"resources": _resources(chance, (0, 1, 1, 1, 2))}},
    lambda chance: {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": chance.choice((0, 1, 100, 101, -1))}},
    lambda chance: {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": chance.choice((0, 10, 101))}},
    lambda chance: {
        "name": "DynamicResources",
        "args": {chance.choice(("filterTimeout", "bindingTimeout")): chance.choice(("0", "-1s", "500ms", "1m0.5s", "5s", "5", ""))},
    },
    lambda chance: {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": chance.choice((-1, 0, 5))}},
)
