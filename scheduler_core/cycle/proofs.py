"""Certificates for the roots of a cycle that were proved to have no placement: each of the cluster as it stood in that root's turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, queued
from scheduler_core.exact.certificate.certificate import certificate
from scheduler_core.exact.certificate.refutation import TooLongError, UnprovenError
from scheduler_core.exact.step_budget import StepsSpentError
from scheduler_core.loading.feature_gates import gated
from scheduler_core.model.decision import Decision, Status
from scheduler_core.model.entity import Entity
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.state import PlacementState


def certificates(snapshot: ClusterSnapshot, decisions: Sequence[Decision], options: CycleOptions) -> Iterator[dict[str, Any]]:
    """For each decision whose search said ``infeasible``: its root, what roots before it were given, and the proof.

    Instead of a proof there is a reason where none can be written.  *decisions* are those of one cycle.
    """
    snapshot = gated(snapshot, options.gates)
    for number, decision in enumerate(decisions):
        if decision.search.outcome == "infeasible":
            then = Effects(snapshot.nodes, attempted(decisions[:number], snapshot, options)).apply(snapshot)
            # The order no longer matters, and names roots that have been placed.
            root = next(entity for entity in queued(then, dataclasses.replace(options, order=())) if entity.name == decision.root)
            yield {"root": dataclasses.asdict(root.name), **_proof(then, root, options, decision=decision, before=snapshot)}


def _proof(then: ClusterSnapshot, root: Entity, options: CycleOptions, *, decision: Decision, before: ClusterSnapshot) -> dict[str, Any]:
    """The proof, of the empty cluster where the decision says that no eviction can help; or why there is none."""
    state = PlacementState.from_snapshot(then, options.placing, options.ignore)
    state.nominations.release_lower_priority(root.priority)
    request = Greedy(state).request(root)
    hopeless = decision.status is Status.UNRESOLVABLE
    for empty in (True, False) if hopeless else (False,):
        told: dict[str, Any] = {"beside": {} if empty else _beside(before, then, root), "empty": empty}
        try:
            return {**told, "proof": certificate(state, request, options.budget, empty=empty)}
        except TooLongError:
            told["reason"] = "the proof is too long to be written down"
        except StepsSpentError:
            told["reason"] = f"the proof was not found within {options.budget} steps"
        except UnprovenError:
            told["reason"] = "it has to do with more than a certificate tells, such as pods of several shapes that fill nodes badly"
    return told


def _beside(snapshot: ClusterSnapshot, then: ClusterSnapshot, root: Entity) -> dict[str, str]:
    """The nodes of pods that did not run in *snapshot* and take room from *root*: placed meanwhile, or promised."""
    own = {pod.key for leaf in root.leaves() for pod in leaf.waiting}
    names = snapshot.nodes.names
    return {
        pod.key: names[pod.node if pod.node >= 0 else pod.nominated]
        for before, pod in zip(snapshot.pods, then.pods, strict=True)
        if before.node < 0 and pod.key not in own and (pod.node >= 0 or (pod.nominated >= 0 and pod.priority >= root.priority))
    }
