"""Claims of a pod to allocate on a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from scheduler_core.model.devices import ClaimSpec, ExtendedSpec
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.devices.chosen_devices import NamedSpec


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FreshClaims:
    """Claims of a pod to allocate on a node.

    Attributes:
        positions: their positions among the claims of the pod.
        resources: extended resources that devices provide on the node.
        specs: their specifications.

    """

    positions: tuple[int, ...]
    resources: tuple[str, ...]
    specs: Sequence[NamedSpec]


class FreshSpecs:
    """Specifications of claims, which depend on the node if they are for extended resources."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._extended: dict[tuple[ExtendedSpec, tuple[str, ...]], ClaimSpec | None] = {}

    def on(self, pod: PodRecord, among: Sequence[int], node: int) -> FreshClaims:
        """Return the claims of *pod* at the positions *among* to allocate on *node*, -1 for any.

        Devices provide only those extended resources that the node lacks.
        """
        specs: list[NamedSpec] = []
        positions: list[int] = []
        resources = tuple(name for name, mask in self._nodes.backed.items() if mask[node]) if node >= 0 else ()
        for position in among:
            need = pod.shape.devices[position]
            spec = need.spec if need.extended is None else self._extended_spec(need.extended, resources)
            if spec is not None:
                specs.append(NamedSpec(pod.device_claims[position].label, spec))
                positions.append(position)
        return FreshClaims(tuple(positions), resources, specs)

    def _extended_spec(self, extended: ExtendedSpec, resources: tuple[str, ...]) -> ClaimSpec | None:
        at = extended, resources
        if at not in self._extended:
            self._extended[at] = extended.spec(resources)
        return self._extended[at]
