"""Causes about other pods: host ports, affinity, anti-affinity and topology spread, with the domains and labels."""

from __future__ import annotations

import dataclasses
import enum

from scheduler_core.causes.node_count import NodeCount
from scheduler_core.model.selector_clause import SelectorClause


@dataclasses.dataclass(frozen=True, slots=True)
class HostPortsInUse:
    """Nodes where a host port of the pod, as protocol and number, is in use."""

    ports: tuple[tuple[str, int], ...]
    nodes: NodeCount


class AffinityRule(enum.StrEnum):
    """Rule about the pods in a topology domain."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    EXISTING_ANTI_AFFINITY = "existing-anti-affinity"
    """Anti-affinity of pods in the domain to the pod."""


@dataclasses.dataclass(frozen=True, slots=True)
class AffinityConflict:
    """Domains that affinity excludes because they have no matching pod, or anti-affinity because they have one.

    Attributes:
        rule: the rule.
        key: topology key of the domains.
        selector: labels of the pods that match; empty for any.
        domains: values of *key*, sorted; empty if the nodes do not have the label.
        everywhere: True if no examined domain has a matching pod.

    """

    rule: AffinityRule
    key: str
    selector: tuple[SelectorClause, ...]
    domains: tuple[str, ...]
    everywhere: bool
    nodes: NodeCount


@dataclasses.dataclass(frozen=True, slots=True)
class ExceededSkew:
    """Topology spread constraint that one more pod violates, with the number of matching pods by domain."""

    skew: int
    key: str
    selector: tuple[SelectorClause, ...]
    pods: tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadExceeded:
    """Nodes that topology spread constraints exclude."""

    constraints: tuple[ExceededSkew, ...]
    nodes: NodeCount


OtherPodsCause = HostPortsInUse | AffinityConflict | SpreadExceeded
