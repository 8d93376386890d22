"""Wording of the reasons why greedy placement may have missed a placement, with the sections of the KEPs about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from scheduler_core.causes.missed_placements import (
    Dependency,
    DependentPods,
    FeasibilityChecks,
    GreedyLimit,
    KeptPlacements,
    OptionalPods,
    UnequalPods,
    UnexaminedDomains,
    UnsharedClaims,
)
from scheduler_core.wording.nouns import counted, level, listed
from scheduler_core.wording.sentences import Clause, Sentence

_DEPENDENCIES = {
    Dependency.TAKEN_VOLUMES: "the volumes that they take",
    Dependency.TAKEN_DEVICES: "the devices that they take",
    Dependency.SPREAD: "topology spread constraints",
    Dependency.AFFINITY: "pod affinity",
    Dependency.SHARED_VOLUMES: "volumes that they share",
    Dependency.ANTI_AFFINITY: "pod anti-affinity",
    Dependency.OTHER_ANTI_AFFINITY: "the anti-affinity of other pods",
    Dependency.OTHER_PLUGIN: "a plugin that kube-scheduler does not have",
}


def greedy_sentence(limits: Sequence[GreedyLimit]) -> Sentence:
    """Return why greedy may have missed a placement: *limits*, at least one."""
    return Sentence("The greedy algorithm may have missed a placement", tuple(Clause(_limit(each)) for each in dict.fromkeys(limits)))


def _limit(limit: GreedyLimit) -> str:  # noqa: PLR0911 - one case for each kind of cause
    match limit:
        case UnequalPods():
            return f"the pods of group {limit.group.name} are not equal (KEP-4671, Algorithm Limitations: heterogeneous pod groups)"
        case DependentPods():
            rules = listed([_DEPENDENCIES[rule] for rule in limit.dependencies])
            section = "KEP-4671, Algorithm Limitations: inter-pod dependencies"
            return f"the pods of group {limit.group.name} depend on other pods through {rules} ({section})"
        case UnexaminedDomains():
            more = f"{counted(limit.number, f'more {level(limit.key)}')} for {limit.group.name}"
            return f"{more} {'was' if limit.number == 1 else 'were'} not examined"
        case UnsharedClaims():
            claims = listed([f"claim {each.label}" for each in limit.claims])
            allocated = f"which {'is' if len(limit.claims) == 1 else 'are'} not allocated"
            return f"kube-scheduler does not let groups of one tree share {claims}, {allocated}"
        case OptionalPods():
            pods = listed([f"{counted(extra, 'optional pod')} of group {group.name}" for group, extra in limit.extra_pods])
            return f"{pods} took capacity before its siblings were placed (KEP-6012, Resource stealing under greedy evaluation)"
        case KeptPlacements():
            keep = "keeps its placement" if len(limit.groups) == 1 else "keep their placements"
            names = listed([group.name for group in limit.groups])
            return f"{names} {keep}, although a sibling may need the capacity (KEP-6012, No-Backtracking)"
        case FeasibilityChecks():
            return "a plugin decides what is feasible"
    assert_never(limit)
