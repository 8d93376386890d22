"""The truth about roots of groups, by CP-SAT: is there a placement, how large can one be, who must leave for one.

A root is judged by itself, beside what runs and as if no other root waited.  Roots that no cycle would try (``ready`` and
``invalid`` of the oracle) and pods without a group are left out.  A placement must hold to what ``brute.violations`` checks: the
minimum of every group above a new pod counted with what runs, one domain for each constrained group, the filters on every node.
Nominations are promises and no constraints.  All functions raise ``program.Undecided`` where the solver takes too long.
"""

from __future__ import annotations

import dataclasses

from tests.scheduler_core.cp_sat import victims
from tests.scheduler_core.cp_sat.program import Program
from tests.scheduler_core.oracle.cycle import invalid, ready, roots
from tests.scheduler_core.oracle.model import Cluster, Group, Objects, read


@dataclasses.dataclass(frozen=True)
class Fewest:
    """The least that must leave for a root."""

    cost: tuple[int, ...]
    """As ``victims.cost`` has it."""
    victims: tuple[str, ...]
    """Keys of some such pods, in order."""

    @property
    def nobody(self) -> bool:
        """Whether there is a placement as things stand."""
        return not self.victims


def feasible(objects: Objects) -> dict[str, bool]:
    """Whether each root, by name, has a placement: one new pod at least, and every minimum that it needs."""
    return {name: found is not None for name, found in placements(objects).items()}


def placements(objects: Objects) -> dict[str, dict[str, str] | None]:
    """Some placement of each root, by its name: node by pod; None if there is none."""
    cluster = read(objects)
    programs = {root.name: Program(cluster, root, []) for root in tried(cluster)}
    return {name: program.assignments() if program.solve() else None for name, program in programs.items()}


def most_pods(objects: Objects) -> dict[str, int]:
    """How many of its waiting pods each root can have placed at once; 0 where it has no placement."""
    cluster = read(objects)
    found = {}
    for root in tried(cluster):
        program = Program(cluster, root, [])
        program.model.maximize(program.placed)
        found[root.name] = round(program.solver.objective_value) if program.solve() else 0
    return found


def fewest_victims(objects: Objects) -> dict[str, Fewest | None]:
    """The least that must leave so that each root has a placement, nobody where it has one as it is; None if nothing helps.

    Candidates are the preemption units of a lower priority than the root's; a root that may not preempt has none.  Pods that are
    leaving already count like others.
    """
    cluster = read(objects)
    return {root.name: _fewest(cluster, root) for root in tried(cluster)}


def tried(cluster: Cluster) -> list[Group]:
    """The roots that a cycle would try."""
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
