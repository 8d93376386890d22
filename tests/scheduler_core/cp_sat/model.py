"""Exact answers about roots of groups by CP-SAT: feasibility, the largest placement, the fewest victims.

Each root is examined alone, with the running pods and as if no other root were pending.  Roots that no cycle would try (``ready`` and
``invalid`` of the oracle) and pods without a group are left out.  A placement must satisfy what ``brute.violations`` checks: the
minimum of every group above a new pod counted with what runs, one domain for each constrained group, the filters on every node.
Nominations are no constraints.  All functions raise ``program.Undecided`` if the solver takes too long.
"""

from __future__ import annotations

import dataclasses

from tests.scheduler_core.cp_sat import victims
from tests.scheduler_core.cp_sat.program import Program
from tests.scheduler_core.oracle.cycle import invalid, ready, roots
from tests.scheduler_core.oracle.model import Cluster, Group, Objects, read


@dataclasses.dataclass(frozen=True)
class Fewest:
    """Fewest victims for a root."""

    cost: tuple[int, ...]
    """Cost, as ``victims.cost`` returns it."""
    victims: tuple[str, ...]
    """Keys of the pods of one such set, sorted."""

    @property
    def nobody(self) -> bool:
        """Return true if a placement exists without preemption."""
        return not self.victims


def feasible(objects: Objects) -> dict[str, bool]:
    """Return for each root, by name, if it has a placement: at least one new pod, and every minimum that it needs."""
    return {name: result is not None for name, result in placements(objects).items()}


def placements(objects: Objects) -> dict[str, dict[str, str] | None]:
    """Return a placement of each root by name: node by pod; None if there is none."""
    cluster = read(objects)
    programs = {root.name: Program(cluster, root, []) for root in roots_to_try(cluster)}
    return {name: program.assignments() if program.solve() else None for name, program in programs.items()}


def most_pods(objects: Objects) -> dict[str, int]:
    """Return the largest number of pending pods of each root that can be placed at once; 0 without a placement."""
    cluster = read(objects)
    result = {}
    for root in roots_to_try(cluster):
        program = Program(cluster, root, [])
        program.model.maximize(program.placed)
        result[root.name] = round(program.solver.objective_value) if program.solve() else 0
    return result


def fewest_victims(objects: Objects) -> dict[str, Fewest | None]:
    """Return the fewest victims with which each root has a placement, none if it has one already; None if preemption does not help.

    Candidates are the preemption units of a lower priority than the root's; a root that must not preempt has none.
    Terminating pods count like others.
    """
    cluster = read(objects)
    return {root.name: _fewest(cluster, root) for root in roots_to_try(cluster)}


def roots_to_try(cluster: Cluster) -> list[Group]:
    """Return the roots that a cycle would try."""
    return [root.group for root in roots(cluster) if root.group is not None and ready(root, cluster) and not invalid(root, cluster)]


def _fewest(cluster: Cluster, root: Group) -> Fewest | None:
    below = victims.candidates(cluster, root)
    program = Program(cluster, root, below)
    figures = []
    for goal in victims.goals(program.model, below, program.leaves, cluster.budgets):
        program.model.minimize(goal)
        if not program.solve():
            return None
        figures.append(round(program.solver.objective_value))
        program.model.add(goal == figures[-1])
    leaving = [pod.key for unit in below if program.solver.boolean_value(program.leaves[unit.pods[0].key]) for pod in unit.pods]
    return Fewest(tuple(figures), tuple(sorted(leaving)))
