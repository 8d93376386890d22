"""Volumes of a decision: one for each claim of the placed pods that waited for its first consumer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.model.decision import VolumeChoice
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.volumes import ClaimName
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.assumed_volumes import PROVISIONED, Pick, VolumePicks, volumes_beyond_requests


class VolumeChoices:
    """Volumes that the decisions of a cycle have chosen; *pods* are those of the snapshot."""

    def __init__(self, state: PlacementState, pods: Iterable[PodRecord]) -> None:
        self._state = state
        self._pods = pods
        self._picks: VolumePicks | None = None

    def choose(self, pods: Sequence[tuple[PodRecord, int]], planned: Mapping[ClaimName, int]) -> tuple[dict[str, VolumeChoice], list[str]]:
        """Count and return the volumes that the placed *pods* take, in their order, and return the names of pods whose volumes are not available.

        Claims in *planned* take the volumes there, unless rows count them and the options are sparing.
        """
        storage, names = self._state.nodes.storage, self._state.nodes.names
        if storage is None:
            return {}, []
        pods = [each for each in pods if each[0].delayed_claims and each[0].shape.profile.filters("VolumeBinding")]
        if not pods:
            return {}, []
        if self._picks is None:
            self._picks = VolumePicks(storage, self._pods, sparing=self._state.options.sparing)
        self._picks.planned = {**planned, **self._picks.counted_choice(pods)} if self._state.options.sparing else planned
        chosen: dict[str, VolumeChoice] = {}
        given: set[int] = set()
        taken: list[tuple[Pick, int]] = []
        without: list[str] = []
        for pod, node in pods:
            shared = {need.request.shared for need in pod.shape.volumes if need.request is not None}
            counted = {claim for claim in shared if self._picks.selected_node(claim) >= 0}
            picks = self._picks.assign(pod, node, again=given)
            if not picks:
                without.append(pod.name)
            for pick in picks:
                given.add(pick.volume)
                if pick.volume == PROVISIONED and pick.request.shared not in counted and not pick.request.selected_node:
                    self._state.provisioned[pick.request.storage_class, node] += pick.request.size or 0
                volume = self._picks.storage.volumes[pick.volume].name if pick.volume >= 0 else ""
                taken.append((pick, node))
                chosen[f"{pod.namespace}/{pick.claim}"] = VolumeChoice(volume, "" if volume else names[node])
        if self._state.options.sparing:
            self._state.ledger.take_beyond(volumes_beyond_requests(taken, self._state.nodes))
        return dict(sorted(chosen.items())), without
