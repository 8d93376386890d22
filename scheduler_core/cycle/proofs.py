"""Certificates for the roots of a cycle that are proved to have no placement, each for the cluster state at that root's attempt."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from kubeapi.base_structs import as_dict
from scheduler_core.causes.searches import ProofNotFound, ProofObstacle
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, queued
from scheduler_core.exact.certificate.certificate import certificate
from scheduler_core.exact.certificate.refutation import TooLongError, UnprovenError
from scheduler_core.exact.step_budget import StepsSpentError
from scheduler_core.loading.feature_gates import apply_feature_gates
from scheduler_core.model.decision import Decision
from scheduler_core.model.entity import Entity
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.state import PlacementState


def certificates(snapshot: ClusterSnapshot, decisions: Sequence[Decision], options: CycleOptions) -> Iterator[dict[str, Any]]:
    """Return, for each decision with search outcome ``infeasible``, its root, the pods placed before it, and the proof.

    If no proof can be written, the reason is given instead, as a ``ProofMissing``.  *decisions* are those of one cycle.
    """
    snapshot = apply_feature_gates(snapshot, options.gates, options.ignored)
    for number, decision in enumerate(decisions):
        if decision.search.outcome == "infeasible":
            at_attempt = Effects(snapshot.nodes, attempted(decisions[:number], snapshot, options)).apply(snapshot)
            # The requested order no longer matters, and contains roots that are placed already.
            root = next(entity for entity in queued(at_attempt, dataclasses.replace(options, order=())) if entity.name == decision.root)
            yield {"root": as_dict(root.name), **_proof(at_attempt, root, options, decision=decision, before=snapshot)}


def _proof(
    snapshot: ClusterSnapshot, root: Entity, options: CycleOptions, *, decision: Decision, before: ClusterSnapshot
) -> dict[str, Any]:
    """Return the proof, or why there is none; for the empty cluster if the decision says that no eviction can help."""
    state = PlacementState.from_snapshot(snapshot, options.effective_placing, options.ignore)
    state.nominations.release_for(root)
    request = Greedy(state).request(root)
    hopeless = decision.status is Status.UNRESOLVABLE
    for empty in (True, False) if hopeless else (False,):
        result: dict[str, Any] = {"beside": {} if empty else _other_pods(before, snapshot, root), "empty": empty}
        try:
            return {**result, **certificate(state, request, options.budget, empty=empty)}
        except TooLongError:
            result["reason"] = ProofObstacle.TOO_LONG
        except StepsSpentError:
            result["reason"] = ProofNotFound(options.budget)
        except UnprovenError:
            shapes = {pod.shape for leaf in root.leaves() for pod in leaf.waiting}
            limited = any(row in snapshot.nodes.limit_rows for shape in shapes for row, _ in shape.requests)
            needed = ProofObstacle.VOLUMES if limited or any(shape.volumes for shape in shapes) else ProofObstacle.OTHER_FACTS
            result["reason"] = ProofObstacle.DEVICES if any(shape.devices for shape in shapes) else needed
    return result


def _other_pods(snapshot: ClusterSnapshot, at_attempt: ClusterSnapshot, root: Entity) -> dict[str, str]:
    """Return the nodes of pods that did not run in *snapshot* but take capacity from *root*: placed meanwhile, or nominated."""
    own = {pod.key for leaf in root.leaves() for pod in leaf.waiting}
    names = snapshot.nodes.names
    return {
        pod.key: names[pod.node if pod.node >= 0 else pod.nominated]
        for before, pod in zip(snapshot.pods, at_attempt.pods, strict=True)
        if before.node < 0 and pod.key not in own and (pod.node >= 0 or (pod.nominated >= 0 and pod.priority >= root.priority))
    }
