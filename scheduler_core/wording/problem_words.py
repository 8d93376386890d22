"""Problems of the objects of a cluster in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from kubeapi.controllers import CONTROLLERS
from kubeapi.problem import ObjectLeftOut, ObjectUnreadable, Problem, SeveralApiGroups, SeveralObjects
from scheduler_core.causes import input_problems as inputs
from scheduler_core.causes.changes import SearchedRoots
from scheduler_core.causes.input_problems import Effect, InputProblem, LabelSource, UnmodelledSetting
from scheduler_core.model.names import Name
from scheduler_core.wording.changes import searched_text
from scheduler_core.wording.titles import label

_OBJECTS, _NAMED = 4, 3
"""Maximum numbers of objects, and of values and namespaces, that are named."""
_NOUNS = {
    "Node": "node",
    "Pod": "pod",
    "PodDisruptionBudget": "budget",
    "PodGroup": "group",
    "CompositePodGroup": "group",
    "PersistentVolumeClaim": "claim",
    "PersistentVolume": "volume",
    "StorageClass": "class",
    "Namespace": "namespace",
    "ResourceClaim": "claim",
    "ResourceClaimTemplate": "template",
    "ResourceSlice": "slice",
    "DeviceClass": "class",
    "DeviceTaintRule": "rule",
    "KubeSchedulerConfiguration": "configuration",
    **dict.fromkeys(CONTROLLERS, "controller"),
}
"""Kinds that are not called by their own name."""
_EFFECTS = {
    Effect.TAINT_LEFT_OUT: "the taint is left out",
    Effect.TOLERATES_NOTHING: "it tolerates nothing",
    Effect.CONSTRAINT_LEFT_OUT: "the constraint is left out",
    Effect.SELECTOR_MATCHES_NOTHING: "the selector matches nothing",
    Effect.TERM_MATCHES_NOTHING: "the term matches nothing",
}
_SOURCES = {
    LabelSource.NODE_SELECTOR: "node selector",
    LabelSource.NODE_AFFINITY: "node affinity",
    LabelSource.POD_AFFINITY: "pod affinity",
    LabelSource.POD_ANTI_AFFINITY: "pod anti-affinity",
    LabelSource.TOPOLOGY_SPREAD: "topology spread",
}
_SETTINGS = {
    UnmodelledSetting.EXTENDERS: "extenders are not called: not modelled",
    UnmodelledSetting.CANDIDATES: "all nodes are candidates of a preemption: a limit is not modelled",
    UnmodelledSetting.FILTER_TIMEOUT: "the time to find devices for a pod on a node is not limited: not modelled",
    UnmodelledSetting.CAPACITY_SCORE: "nodes are not scored by storage capacity: not modelled",
}


def problem_words(problem: Problem) -> str:
    """Return the message of a problem of the objects of a cluster, or of a limit of the search for remedies."""
    fact = problem.fact
    if isinstance(fact, InputProblem):
        return _input_words(fact, problem.names)
    if isinstance(fact, SearchedRoots):
        return searched_text(fact)
    raise TypeError(fact)


def object_words(problem: Problem) -> str:
    """Return what a problem is about: ``Kind name`` or ``Kind namespace/name``, several of these, or a place."""
    if isinstance(problem.fact, inputs.AttributeUnknown):
        return f"attribute {problem.fact.attribute}"
    return _first([*map(label, problem.names)], _OBJECTS) or problem.place


def _first(names: Sequence[str], most: int) -> str:
    """Return a list of *most* of *names*, and the number of the others."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _several_words(fact: SeveralObjects | SeveralApiGroups) -> str:
    if isinstance(fact, SeveralApiGroups):
        return f"is in the API groups {fact.used} and {fact.ignored}: the object of {fact.used} counts, the other one is ignored"
    return "is defined several times with different content; the one that sorts first as JSON is used"


def _input_words(fact: InputProblem, names: tuple[Name, ...]) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of problem
    match fact:
        case ObjectUnreadable():
            return f"{fact.error}; the object is left out"
        case ObjectLeftOut():
            return f"{f'{fact.field}: ' if fact.field else ''}{fact.error}{_left_out(names)}"
        case inputs.KindNotServed():
            return f"the feature gate {fact.gate} is off: the API server does not serve this kind{_left_out(names)}"
        case inputs.NodeUnknown():
            return f'spec.nodeName is "{fact.node}", which is not among the nodes{_left_out(names)}'
        case SeveralObjects() | SeveralApiGroups():
            return _several_words(fact)
        case inputs.UnknownValue():
            return f'{fact.field} is "{fact.value}"; allowed: {", ".join(fact.allowed)}; {_EFFECTS[fact.effect]}'
        case inputs.InvalidField():
            return f"{fact.field}: {fact.detail}; {_EFFECTS[fact.effect]}"
        case inputs.FieldDropped():
            return f"{fact.field} is dropped: the feature gate {fact.gate} is off"
        case inputs.PriorityClassUnknown():
            return f'spec.priorityClassName is "{fact.priority_class}", which does not exist; priority 0 is used'
        case inputs.TemplateDiffers():
            listed, be = ", ".join(fact.differing_fields), "is" if len(fact.differing_fields) == 1 else "are"
            return f"{listed} {be} not as in template {fact.template}; the values of the group count"
        case inputs.NominatedNodeUnknown():
            return f'status.nominatedNodeName is "{fact.node}", which is not among the nodes; the nomination is ignored'
        case inputs.PoolIncomplete() | inputs.DeviceRepeated() | inputs.MorePoolsUnusable():
            return _pool_words(fact)
        case inputs.SettingNotModelled():
            return f"{fact.field}: {_SETTINGS[fact.setting]}"
        case inputs.PluginNotModelled():
            return f"{fact.field}: {fact.plugin} is not a default plugin of kube-scheduler 1.37 and is not modelled"
        case inputs.ArgumentsNotModelled():
            return f"{fact.field}: arguments of {fact.plugin or 'a plugin without name'} are not modelled"
        case inputs.PluginStaysEnabled():
            return f"{fact.field}: {fact.plugin} stays enabled at {fact.extension_point}: a profile without it is not modelled"
        case inputs.PartlyScored():
            return _scored_words(fact)
        case inputs.NamespacesUnknown():
            listed = _first(fact.namespaces, _NAMED)
            return f"{fact.field} needs the labels of all namespaces with pods; there is no Namespace {listed}: add it to the objects"
    return _label_words(fact)


def _left_out(names: Iterable[Name]) -> str:
    kind = next((each.kind for each in names), "object")
    return f"; the {_NOUNS.get(kind, kind)} is left out"


def _pool_words(fact: inputs.PoolIncomplete | inputs.DeviceRepeated | inputs.MorePoolsUnusable) -> str:
    match fact:
        case inputs.PoolIncomplete():
            why = f"is incomplete: {fact.slices} of {fact.of_slices} slices of generation {fact.generation} exist"
        case inputs.DeviceRepeated():
            why = f"is invalid: its slices have device {fact.device} more than once"
        case inputs.MorePoolsUnusable():
            return f"{fact.pools:,} more {'pool is' if fact.pools == 1 else 'pools are'} incomplete or invalid"
    return f"pool {fact.pool_name} {why}; kube-scheduler allocates no device of the pool"


def _scored_words(fact: inputs.PartlyScored) -> str:
    prefix = f"{fact.field}: " if fact.field else ""
    if fact.nodes is None or fact.scored is None:
        return (
            f"{prefix}every feasible node is scored; of a domain or cluster with more than {fact.whole} nodes kube-scheduler scores a part, "
            "which depends on timing"
        )
    return (
        f"{prefix}every feasible node is scored; of {fact.nodes:,} nodes kube-scheduler scores {fact.scored:,} feasible ones, which depend on "
        f"timing; a domain of up to {fact.whole} nodes is scored whole"
    )


_LabelProblem = (
    inputs.TopologyKeyUnknown
    | inputs.LabelUnknown
    | inputs.ResourceUnknown
    | inputs.KeyInOtherCase
    | inputs.ValueInOtherCase
    | inputs.AttributeUnknown
    | inputs.SeveralDomains
    | inputs.AttributeIsNoLevel
)


def _label_words(fact: _LabelProblem) -> str:  # noqa: PLR0911 - as above
    match fact:
        case inputs.TopologyKeyUnknown():
            return f'no node has the topology key "{fact.key}"; did you mean "{fact.similar}"?'
        case inputs.LabelUnknown():
            return f'no node has the label {_required(fact)} of its {_SOURCES[fact.required_by]}; did you mean "{fact.similar}"?'
        case inputs.ResourceUnknown():
            return f'no node has the resource "{fact.resource}"; did you mean "{fact.similar}"?'
        case inputs.KeyInOtherCase():
            return f'the label "{fact.node_key}" is not the topology key "{fact.key}": they differ in case'
        case inputs.ValueInOtherCase():
            return f'the label {fact.key} is "{fact.value}" here and "{fact.other_value}" on node {fact.other_node}: they are two domains'
        case inputs.AttributeUnknown():
            hint = f'; did you mean "{fact.similar}"?' if fact.similar else ""
            return f"no device has this attribute, so no node is in a domain of this level{hint}"
        case inputs.SeveralDomains():
            listed = _first(fact.values, _NAMED)
            return f"its devices have {len(fact.values)} values of {fact.attribute} ({listed}); the node is in no domain of this level"
        case inputs.AttributeIsNoLevel():
            return (
                f'no node has the topology key "{fact.key}", but devices have this attribute: --device-topology {fact.key} makes it a level'
            )
    assert_never(fact)


def _required(fact: inputs.LabelUnknown) -> str:
    if not fact.values:
        return f'"{fact.key}"'
    return f"{fact.key}={fact.values[0]}" if len(fact.values) == 1 else f"{fact.key} with one of the values {', '.join(fact.values)}"
