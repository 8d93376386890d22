"""Topologies and ResourceFlavors of Kueue in the input: the levels that annotations can name, and the nodes of a flavor with a topology.

Source: Kueue 0.17.0, ``pkg/cache/scheduler/tas_flavor_snapshot.go``, ``pkg/cache/scheduler/tas_flavor.go``.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.decode import Json, section
from kubeapi.kueue import PODSET
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Positions
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_annotations import Layer, TopologyRequest
from workloadbuilder.blueprint import copied

_KUEUE = "kueue.x-k8s.io"
_HOST = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_MAIN = "main"


def errors_of_levels(request: TopologyRequest, known: Known) -> Iterator[FieldError]:
    """Yield an error if no Topology in the input has the levels of *request* in its order; nothing if there is no Topology."""
    topologies = _topologies(known)
    if not request or not topologies:
        return
    listed = "; ".join(f"Topology {name} has {', '.join(levels)}" for name, levels in topologies.items())
    labels = _labels(request)
    for label in labels:
        if not any(label.topology in levels for levels in topologies.values()):
            yield field.invalid(label.path, label.topology, f"no requested topology level: {listed}")
            return
    if not any(_has_levels(request, levels) for levels in topologies.values()):
        above = " above ".join(each.topology for each in labels)
        yield field.invalid(labels[-1].path, labels[-1].topology, f"no Topology has {above}: {listed}")


def on_flavor(plan: PodPlan, request: TopologyRequest, known: Known) -> PodPlan:
    """Return *plan* on the nodes of the only flavor in the input whose Topology has the levels of *request*: labels, levels, tolerations.

    With several such flavors Kueue decides, so that nothing is added.
    """
    topologies = _topologies(known)
    flavors = [
        spec
        for spec in _flavors(known)
        if (levels := topologies.get(_text(spec.get("topologyName")))) is None or _has_levels(request, levels)
    ]
    if not request or len(flavors) != 1:
        return plan
    levels = topologies.get(_text(flavors[0].get("topologyName")), ())
    labels = {key: value for key, value in section(flavors[0], "nodeLabels").items() if isinstance(value, str)}
    listed = flavors[0].get("tolerations")
    tolerations = [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, Mapping)]

    def make(positions: Positions, number: int) -> dict[str, Json]:
        pod = plan.make(positions, number)
        spec = pod["spec"]
        pod["metadata"]["labels"] = {PODSET: plan.part or _MAIN, **section(section(pod, "metadata"), "labels")}
        require_levels(spec, levels)
        if labels:
            spec["nodeSelector"] = {**section(spec, "nodeSelector"), **labels}
        if tolerations:
            own = spec.get("tolerations")
            spec["tolerations"] = [*(own if isinstance(own, list) else ()), *map(copied, tolerations)]
        return pod

    return dataclasses.replace(plan, make=make)


def require_levels(spec: dict[str, Json], levels: Sequence[str]) -> None:
    """Keep a pod with the specification *spec* off nodes without the label of one of *levels*: they are in no domain of their Topology.

    Every node has the label of its host.  Source: ``NodeMatchesFlavor``.
    """
    exist = [{"key": each, "operator": "Exists"} for each in levels if each != _HOST]
    if not exist:
        return
    affinity = section(spec, "affinity")
    of_nodes = section(affinity, "nodeAffinity")
    terms = section(of_nodes, _REQUIRED).get("nodeSelectorTerms")
    own = [each for each in (terms if isinstance(terms, list) else ()) if isinstance(each, Mapping)] or [{}]
    listed = [{**each, "matchExpressions": [*_list(each, "matchExpressions"), *exist]} for each in own]
    spec["affinity"] = {**affinity, "nodeAffinity": {**of_nodes, _REQUIRED: {"nodeSelectorTerms": listed}}}


def _list(content: Mapping[str, Json], name: str) -> Sequence[Json]:
    value = content.get(name)
    return value if isinstance(value, list) else ()


def _labels(request: TopologyRequest) -> list[Layer]:
    """Return the node labels of a request, from the top down; the podset counts as a slice without a size."""
    return [*([Layer(request.required, 0, request.path)] if request.required else []), *request.layers]


def _has_levels(request: TopologyRequest, levels: Sequence[str]) -> bool:
    """Return whether *levels* have the labels of a request from the top down; the largest slices can have the level of their podset."""
    labels = [each.topology for each in _labels(request)]
    if not all(each in levels for each in labels):
        return False
    at, largest = [levels.index(each) for each in labels], len(labels) - len(request.layers)
    pairs = enumerate(itertools.pairwise(at), 1)
    return all(above < below or (above == below and index == largest) for index, (above, below) in pairs)


def _flavors(known: Known) -> list[Mapping[str, Json]]:
    """Return the specifications of the ResourceFlavors with a topology."""
    specs = (section(each, "spec") for each in known.list_kind(_KUEUE, "ResourceFlavor"))
    return [each for each in specs if _text(each.get("topologyName"))]


def _topologies(known: Known) -> dict[str, tuple[str, ...]]:
    """Return the node labels of the levels of the Topologies that ResourceFlavors name, or of all if none names one."""
    named = {_text(each.get("topologyName")) for each in _flavors(known)}
    listed = {_text(section(each, "metadata").get("name")): _levels(each) for each in known.list_kind(_KUEUE, "Topology")}
    return {name: levels for name, levels in listed.items() if levels and (not named or name in named)}


def _levels(topology: Json) -> tuple[str, ...]:
    levels = section(topology, "spec").get("levels")
    labels = (each.get("nodeLabel") for each in (levels if isinstance(levels, list) else ()) if isinstance(each, Mapping))
    return tuple(each for each in labels if isinstance(each, str) and each)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
