"""Wording of causes why nodes refuse a pod."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import assert_never

from kubeapi.selectors import NodeSelectorTerm, Requirement
from scheduler_core.causes.device_refusals import DeviceRefusal
from scheduler_core.causes.domains import AttemptFailed, NodeCause, PodRule, Relaxable
from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.causes.node_states import (
    Cordoned,
    NodeAffinityMismatch,
    NodesRefused,
    NodeStateCause,
    PodRefused,
    UntoleratedTaint,
    UnusableCapacity,
)
from scheduler_core.causes.other_pods import OtherPodsCause
from scheduler_core.causes.resources import ResourceCause
from scheduler_core.causes.volume_causes import VolumeCause
from scheduler_core.model.devices import CANNOT_ALLOCATE, UNAVAILABLE
from scheduler_core.wording import phrases
from scheduler_core.wording.device_words import device_words
from scheduler_core.wording.filter_words import filter_words
from scheduler_core.wording.kube_scheduler import attempt_words
from scheduler_core.wording.nouns import SHOWN, VALUES, any_of, counted, listed
from scheduler_core.wording.pod_rule_words import pod_rule_words
from scheduler_core.wording.resource_words import resource_words
from scheduler_core.wording.titles import expression_text, taint_text
from scheduler_core.wording.truncation import cut
from scheduler_core.wording.volume_words import volume_words

_OF_KUBERNETES = "node.kubernetes.io/"
"""Prefix of the taints that Kubernetes sets by the conditions of a node."""
_OF_NODES = "node(s) "
"""Beginning of kube-scheduler's reasons that it counts by node."""
_VERBS = {"exceed": ("exceeds", "exceed"), "were": ("was", "were"), "unavailable": ("is unavailable", "are unavailable")}
"""First words of such reasons that depend on the number of nodes, with the verb for one and for several."""
_OF_DEVICES = {CANNOT_ALLOCATE: "without devices for a claim", UNAVAILABLE: "cannot use the devices of a claim"}
_PRESENT = frozenset({"In", "Exists", "Gt", "Lt"})
"""Operators that a node without the label does not match."""
_LONGEST = 180
"""Characters of the labels and expressions in a clause, so that a line has its end."""
_RULES = {
    PodRule.SPREAD: "its topology spread constraints were dropped",
    PodRule.AFFINITY: "its pod affinity were dropped",
    PodRule.ANTI_AFFINITY: "its pod anti-affinity were dropped",
    PodRule.EXISTING_ANTI_AFFINITY: "the anti-affinity of other pods were ignored",
    PodRule.ALL: "all rules between pods were dropped",
}


def node_words(cause: NodeCause | AttemptFailed) -> str:
    """Return *cause* in words: ``2 of 3 nodes are cordoned``."""
    if isinstance(cause, ResourceCause):
        return resource_words(cause)
    if isinstance(cause, OtherPodsCause):
        return pod_rule_words(cause)
    if isinstance(cause, VolumeCause):
        return volume_words(cause)
    if isinstance(cause, DeviceRefusal):
        return device_words(cause)
    return attempt_words(cause.reason) if isinstance(cause, AttemptFailed) else _state_words(cause)


def _state_words(cause: NodeStateCause) -> str:  # noqa: PLR0911 - one case for each kind of cause
    match cause:
        case Cordoned():
            has = "has" if cause.nodes.count == 1 else "have"
            return f"{phrases.verb(cause.nodes, 'is', 'are')} cordoned{_further_taints(cause, has)}"
        case NodeAffinityMismatch():
            unmet = _unmet(cause)
            return f"{phrases.no_match(cause.nodes)} its {_selection(cause)}{f': {unmet}' if unmet else ''}"
        case UntoleratedTaint():
            return f"{phrases.verb(cause.nodes, 'has', 'have')} the untolerated taint {taint_text(cause.taint)}{_further_taints(cause)}"
        case NodesRefused(plugin=""):
            predicate = _predicate(cause)
            return f"{phrases.some_of(cause.nodes)} {predicate}" if predicate else filter_words(cause.reason)
        case NodesRefused():
            return f"{phrases.verb(cause.nodes, 'is', 'are')} refused by plugin {cause.plugin}: {filter_words(cause.reason)}"
        case UnmodelledField():
            return filter_words(cause)
        case PodRefused():
            return cause.reason
    assert_never(cause)


def _further_taints(cause: Cordoned | UntoleratedTaint, has: str = "") -> str:
    """Return the further taints of the nodes of *cause*: `` and also has the untolerated taint a=b:NoSchedule``, without a verb if it is empty."""
    if not cause.further_taints:
        return ""
    noun = f"{has} the untolerated taint{'s' if len(cause.further_taints) > 1 else ''} " if has else ""
    taints = listed([taint_text(each.taint) for each in cause.further_taints], VALUES)
    which = "also" if all(each.nodes.count == cause.nodes.count for each in cause.further_taints) else "some of them also"
    return f" and {which} {noun}{taints}"


def closed_nodes(cause: NodeStateCause) -> str:
    """Return the nodes that pods cannot use, with the cause: ``2 nodes, cordoned``."""
    match cause:
        case UntoleratedTaint():
            return f"{counted(cause.nodes.count, 'node')} with the taint {taint_text(cause.taint)}"
        case Cordoned():
            return f"{counted(cause.nodes.count, 'node')}, cordoned"
        case NodeAffinityMismatch():
            return f"{counted(cause.nodes.count, 'node')}, not selected by the pods"
        case NodesRefused():
            why, predicate = filter_words(cause.reason), "" if cause.plugin else _predicate(cause)
            why = f"refused by plugin {cause.plugin}: {why}" if cause.plugin else _OF_DEVICES.get(why, why)
            return f"{counted(cause.nodes.count, 'node')}{f' that {predicate}' if predicate else f', {why}'}"
        case UnmodelledField():
            return filter_words(cause)
        case PodRefused():
            return cause.reason
    assert_never(cause)


def _predicate(cause: NodesRefused) -> str:
    """Return the rest of a sentence about the nodes, if the reason is one that kube-scheduler counts by node; empty for others."""
    reason = filter_words(cause.reason)
    if cause.plugin or not reason.startswith(_OF_NODES):
        return ""
    first, _, others = reason.removeprefix(_OF_NODES).partition(" ")
    return f"{_VERBS.get(first, (first, first))[cause.nodes.count > 1]} {others}"


def unusable_words(cause: UnusableCapacity) -> str:
    """Return why a node takes no new pod: ``cordoned``, ``not-ready``, ``no pod slots left``."""
    if cause.cordoned:
        return "cordoned"
    if cause.taints:
        return ", ".join(key.removeprefix(_OF_KUBERNETES) for key in cause.taints)
    return f"no {' and '.join('pod slots' if each == 'pods' else each for each in cause.exhausted)} left"


def without_filter(dropped: Relaxable) -> str:
    """Return the condition that *dropped* does not hold, such as ``the taint a=b:NoSchedule on 1 of 4 nodes were tolerated``."""
    match dropped:
        case Cordoned():
            return f"{phrases.some_of(dropped.nodes)} were uncordoned"
        case NodeAffinityMismatch():
            unmet = _unmet(dropped)
            refused = f"{phrases.no_match(dropped.nodes)}{f' ({unmet})' if unmet else ''}"
            return f"its {_selection(dropped)}, which {refused}, were dropped"
        case UntoleratedTaint() if dropped.taint.key.startswith(_OF_KUBERNETES):
            # It is gone when the node is well again; pods are not made to tolerate it.
            return f"{phrases.some_of(dropped.nodes)} were without the taint {taint_text(dropped.taint)}"
        case UntoleratedTaint():
            return f"the taint {taint_text(dropped.taint)} on {phrases.some_of(dropped.nodes)} were tolerated"
        case UnmodelledField():
            return "it were ignored"
        case PodRule():
            return _RULES[dropped]
    assert_never(dropped)


def _selection(mismatch: NodeAffinityMismatch) -> str:
    """Return how a pod selects nodes: ``node selector gpu=h100``, ``node affinity zone in (a, b)``; without terms if the reason names some."""
    labels = [f"{key}={value}" for key, value in mismatch.node_selector]
    terms = [] if _unmet(mismatch) else [_term(each) for each in mismatch.node_selector_terms]
    pairs, either = cut(listed(labels, _number_named(labels)), _LONGEST), cut(any_of(terms, _number_named(terms, VALUES)), _LONGEST)
    selections = (f"node selector {pairs}" if pairs else "", f"node affinity {either}".rstrip() if mismatch.node_affinity else "")
    return " and ".join(filter(None, selections))


def _term(term: NodeSelectorTerm) -> str:
    """Return a term, whose parts must all match, as kubectl writes it: ``zone=a,disk=ssd``."""
    return ",".join(map(_requirement, (*(term.match_expressions or ()), *(term.match_fields or ())))) or "without expressions"


def _requirement(requirement: Requirement) -> str:
    return expression_text(requirement.key, requirement.operator, requirement.values or ())


def _unmet(mismatch: NodeAffinityMismatch) -> str:
    """Return what no node has: ``no node has label zone in (a, b)``; of a whole selection, which is named already, only that."""
    if len(mismatch.node_selector) == len(mismatch.unmet_requirements) and not mismatch.node_affinity:
        return "no node has any of these labels" if len(mismatch.node_selector) > 1 else ""
    stated: dict[str, list[str]] = {}
    for each in mismatch.unmet_requirements:
        is_label = each.operator in _PRESENT and each.key != "metadata.name"
        stated.setdefault("no node has label" if is_label else "no node matches", []).append(_requirement(each))
    parts = (f"{lead} {any_of(requirements, _number_named(requirements, VALUES))}" for lead, requirements in stated.items())
    return cut(", and ".join(parts), _LONGEST)


def _number_named(texts: Sequence[str], most: int = SHOWN) -> int:
    """Return how many of *texts*, at most *most* and at least 1, are short enough together to be named in one clause."""
    return max(1, sum(length <= _LONGEST for length in itertools.accumulate(map(len, texts[:most]))))
