"""Affinity of pods to nodes and to other pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.meta import Int32, Struct
from kubeapi.redaction import Names
from kubeapi.selectors import LabelSelector, NodeSelector, NodeSelectorTerm


class PreferredSchedulingTerm(Struct, frozen=True, gc=False):
    """core/v1 PreferredSchedulingTerm: matching nodes score *weight* more."""

    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Struct, frozen=True, gc=False):
    """core/v1 NodeAffinity."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] | None = None


class PodAffinityTerm(Struct, frozen=True, gc=False):
    """core/v1 PodAffinityTerm: pods selected by label and namespace, in the same value of a node label."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: Names | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(Struct, frozen=True, gc=False):
    """core/v1 WeightedPodAffinityTerm: a preferred term."""

    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Struct, frozen=True, gc=False):
    """core/v1 PodAffinity and PodAntiAffinity, which have the same fields."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] | None = None


class Affinity(Struct, frozen=True, gc=False):
    """core/v1 Affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


def terms_between_pods(affinity: Affinity | None) -> Iterator[tuple[str, PodAffinityTerm]]:
    """Yield the terms of affinity and anti-affinity of a pod, required and preferred, with their field paths."""
    sides = (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)) if affinity is not None else ()
    for name, side in sides:
        required = side.required_during_scheduling_ignored_during_execution if side is not None else None
        for index, term in enumerate(required or ()):
            yield f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term
        preferred = side.preferred_during_scheduling_ignored_during_execution if side is not None else None
        for index, each in enumerate(preferred or ()):
            yield f"spec.affinity.{name}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm", each.pod_affinity_term
