"""Causes about other pods: host ports, affinity, anti-affinity and topology spread, with the domains and labels."""

from __future__ import annotations

import enum
from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.model.selector_clause import SelectorClause


class HostPort(NamedTuple):
    """Port of a node."""

    protocol: str
    port: int


class HostPortsInUse(Record, frozen=True):
    """Nodes where a host port of the pod is in use."""

    ports: tuple[HostPort, ...]
    nodes: NodeCount


class AffinityRule(enum.StrEnum):
    """Rule about the pods in a topology domain."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    EXISTING_ANTI_AFFINITY = "existing-anti-affinity"
    """Anti-affinity of pods in the domain to the pod."""


class AffinityConflict(Record, frozen=True):
    """Domains that affinity excludes because they have no matching pod, or anti-affinity because they have one.

    Attributes:
        affinity_rule: the rule.
        key: topology key of the domains.
        selector: labels of the pods that match; empty for any.
        values: values of *key*, sorted; empty if the nodes do not have the label.
        everywhere: True if no examined domain has a matching pod.
        absent: True if no node of the cluster has the label *key*.

    """

    affinity_rule: AffinityRule
    key: str
    selector: tuple[SelectorClause, ...]
    values: tuple[str, ...]
    everywhere: bool
    nodes: NodeCount
    absent: bool = False


class DomainPods(NamedTuple):
    """Number of matching pods in a domain, which is given by its value of the topology key."""

    value: str
    pods: int


class ExceededSkew(Record, frozen=True):
    """Topology spread constraint that one more pod violates, with the number of matching pods by domain."""

    max_skew: int
    key: str
    selector: tuple[SelectorClause, ...]
    counts: tuple[DomainPods, ...]


class SpreadExceeded(Record, frozen=True):
    """Nodes that topology spread constraints exclude."""

    constraints: tuple[ExceededSkew, ...]
    nodes: NodeCount


class SpreadLabelsMissing(Record, frozen=True):
    """Nodes without one of the labels *keys* by which topology spread constraints form domains; *absent* if no node of the cluster has it."""

    keys: tuple[str, ...]
    absent: bool
    nodes: NodeCount


OtherPodsCause = HostPortsInUse | AffinityConflict | SpreadExceeded | SpreadLabelsMissing
