"""Wording of rejections by other pods: host ports, affinity, anti-affinity and topology spread, with the domains and labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from scheduler_core.causes.other_pods import (
    AffinityConflict,
    AffinityRule,
    ExceededSkew,
    HostPortsInUse,
    OtherPodsCause,
    SpreadExceeded,
    SpreadLabelsMissing,
)
from scheduler_core.model.selector_clause import SelectorClause
from scheduler_core.wording import phrases
from scheduler_core.wording.nouns import SHOWN, level, listed, plural, preposition
from scheduler_core.wording.titles import expression_text


def pod_rule_words(cause: OtherPodsCause) -> str:
    """Return *cause* in words: ``2 of 3 nodes are excluded by its pod affinity: no pod with app=db is in zones z1 and z2``."""
    match cause:
        case HostPortsInUse():
            ports = listed([f"{port}/{protocol}" for protocol, port in cause.ports])
            noun = "host port" if len(cause.ports) == 1 else "host ports"
            return f"{phrases.verb(cause.nodes, 'has', 'have')} {noun} {ports} in use"
        case AffinityConflict():
            return f"{phrases.verb(cause.nodes, 'is', 'are')} excluded by {_affinity(cause)}"
        case SpreadLabelsMissing():
            labels = f"the label{'' if len(cause.keys) == 1 else 's'} {listed(cause.keys)} of its topology spread"
            return f"no node has {labels}" if cause.absent else f"{phrases.verb(cause.nodes, 'lacks', 'lack')} {labels}"
        case SpreadExceeded():
            spread = listed([_spread(each) for each in cause.constraints])
            return f"{phrases.verb(cause.nodes, 'is', 'are')} excluded by its topology spread: {spread}"
    assert_never(cause)


def _affinity(conflict: AffinityConflict) -> str:
    selected, noun, several = _selector(conflict.selector), level(conflict.key), len(conflict.values) > 1
    where = f"{(several and plural(noun)) or noun} {listed(conflict.values)}" if conflict.values else f"a {noun}"
    match conflict.affinity_rule:
        case AffinityRule.ANTI_AFFINITY:
            return f"its pod anti-affinity: {where} {'have' if several else 'has'} a pod with {selected}"
        case AffinityRule.EXISTING_ANTI_AFFINITY:
            return f"the anti-affinity to {selected} of pods {preposition(conflict.key)} {where}"
        case AffinityRule.AFFINITY if conflict.absent:
            return f"its pod affinity: no node has the label {conflict.key}"
        case AffinityRule.AFFINITY if conflict.everywhere:
            return f"its pod affinity: no {noun} has a pod with {selected}"
        case AffinityRule.AFFINITY:
            return f"its pod affinity: no pod with {selected} is {preposition(conflict.key)} {where}"
    assert_never(conflict.affinity_rule)


def _spread(skew: ExceededSkew) -> str:
    """Return a constraint in words, with the number of pods by domain."""
    ordered = [f"{value} {count}" for value, count in skew.counts]
    if len(ordered) > SHOWN:
        counts = [count for _, count in skew.counts]
        ordered = [f"from {min(counts)} to {max(counts)}"]
    return f"maxSkew {skew.max_skew} by {level(skew.key)}, pods with {_selector(skew.selector)}: {', '.join(ordered)}"


def _selector(clauses: Iterable[SelectorClause]) -> str:
    """Return the selected labels as kubectl writes them: ``app=web``, ``tier in (a, b)``."""
    return ",".join(sorted(expression_text(each.key, each.operator, sorted(each.values)) for each in clauses)) or "any label"
