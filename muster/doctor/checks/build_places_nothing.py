"""A sidecar places the pods of the groups that mode build creates."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.built_groups import builders
from muster.doctor.components import SERVE, SIDECAR, Component, components
from muster.doctor.finding import Check, Result, error
from muster.doctor.world import World

GATE, SCHEDULER, DEFAULT_NAME = "gate", "scheduler", "muster"
_MODES = {GATE: "ungate", SCHEDULER: "place"}


def check(world: World) -> Iterator[Result]:
    """Yield a result for each sidecar that builds groups for pods that nothing places."""
    placed_by = [each.option("--placed-by", GATE) for each in components(world, SERVE)] or [GATE]
    running = [each for each in components(world, SIDECAR) if each.replicas]
    for component in builders(world):
        for mode in sorted({_MODES[each] for each in placed_by if each in _MODES}):
            if not any(mode in each.modes for each in running):
                message = f"builds groups, and no sidecar runs the mode {mode}, which places their pods"
                yield error(component.item, "", message, _command(component, mode))


def _command(component: Component, mode: str) -> str:
    return component.set_command("--mode", ",".join(sorted({*component.modes, mode})))


CHECK = Check(
    id="build-places-nothing",
    why="The pods of the groups keep the scheduling gate muster.dev/placement, or the scheduler name, and stay pending.",
    examine=check,
)
