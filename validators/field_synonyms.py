"""Fields by the names that other projects, drafts and retired versions give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeapi.decode import Json

_GANG = ("minCount", "minGroupCount", "schedulingPolicy.gang.minCount", "schedulingPolicy.gang.minGroupCount")
_TOPOLOGY = ("schedulingConstraints.topology", "schedulingConstraints")
_GROUP = ("podGroupName", "schedulingGroup.podGroupName")

_NAMES: Mapping[str, tuple[str, ...]] = {
    "policy": ("schedulingPolicy",),
    "gang": ("schedulingPolicy.gang",),
    "basic": ("schedulingPolicy.basic",),
    **dict.fromkeys(("minMember", "minMembers", "minAvailable", "minPods", "minReplicas", "minCount", "minimum"), _GANG),
    **dict.fromkeys(("minSubGroup", "minSubGroups", "minGroups", "minGroupCount"), _GANG[1:]),
    **dict.fromkeys(("level", "levels", "topologyKey", "topologyLevel", "label", "labelKey", "nodeLabel"), ("key",)),
    "topology": _TOPOLOGY,
    **dict.fromkeys(("constraints", "networkTopology", "topologyConstraint", "topologyConstraints"), ("topology", *_TOPOLOGY)),
    **dict.fromkeys(("disruption", "disruptionPolicy", "preemptionMode"), ("disruptionMode",)),
    **dict.fromkeys(("parent", "parentGroup", "parentName", "parentRef", "parentPodGroup"), ("parentCompositePodGroupName",)),
    **dict.fromkeys(("podGroup", "podGroupRef", "group", "groupName"), _GROUP),
    **dict.fromkeys(("podGroups", "podSets"), ("podGroupTemplates",)),
    **dict.fromkeys(("subGroups", "compositePodGroups", "groups"), ("compositePodGroupTemplates",)),
    "podGroupTemplateRef": ("workloadRef",),
    **dict.fromkeys(("workload", "name"), ("workloadName",)),
    **dict.fromkeys(("template", "podGroupTemplate", "podGroupTemplateName"), ("templateName",)),
    **dict.fromkeys(("priorityClass", "priorityClassRef"), ("priorityClassName",)),
}
"""Paths of the field from the object that has the wrong name, the likeliest first."""


_WRAPPERS = frozenset({"source"})
"""Fields that retired versions had around fields of the object: ``source`` of the claims of a pod, until Kubernetes 1.30."""


def moved_out(name: str, holder: Mapping[str, Json], known: Sequence[str]) -> str:
    """Return the field inside the field *name* of *holder* that now belongs to *holder* itself, which has the *known* fields; else empty."""
    value = holder[name] if name in _WRAPPERS else None
    return next((each for each in value if each in known and each not in holder), "") if isinstance(value, Mapping) else ""


def other_names(name: str, parent: Json, schema: Json) -> str:
    """Return the path of the field that *name* means, from the object with the schema *parent*; empty if there is none."""
    return next((path for path in _NAMES.get(name, ()) if _exists(path.split("."), parent, schema)), "")


def _exists(path: list[str], part: Json, schema: Json) -> bool:
    for name in path:
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        part = part.get("properties", {}).get(name)
        if part is None:
            return False
    return True
