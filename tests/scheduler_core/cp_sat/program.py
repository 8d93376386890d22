"""Integer program of one root of groups.

Pods of one shape are equal, and so are nodes of one cell for the constraints of groups.  The variables are the number of pods of
a shape on each node, and the number of a leaf's pods of a shape in each cell.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tests.scheduler_core.cp_sat.cells import Cell, amounts_of, cells, most, shapes
from tests.scheduler_core.oracle.algorithm import queued
from tests.scheduler_core.oracle.brute import satisfied
from tests.scheduler_core.oracle.model import Cluster, Group, Node, Pod
from tests.scheduler_core.oracle.preempt import Unit

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

PATIENCE = 100.0
"""Limit of the solver for one question, in deterministic time (about seconds)."""


class Undecided(RuntimeError):
    """The solver reached its time limit."""


def total(summands: Iterable[cp_model.LinearExprT]) -> cp_model.LinearExprT:
    """Return the sum, a constant if there is no summand."""
    # With pandas it takes half a second, in each process that collects tests.
    from ortools.sat.python import cp_model

    return sum(summands, cp_model.LinearExpr.constant(0))


class Program:
    """Program of the placements of *root*, in which any of *candidates* may be preempted.

    Attributes:
        placed: the number of new pods.
        leaves: variable for the preemption of a candidate, by the key of its first pod.

    """

    def __init__(self, cluster: Cluster, root: Group, candidates: list[Unit]) -> None:
        from ortools.sat.python import cp_model

        self.model, self.solver = cp_model.CpModel(), cp_model.CpSolver()
        self.leaves = {unit.pods[0].key: self.model.new_bool_var(f"{unit.name} leaves") for unit in candidates}
        self._cluster, self._root = cluster, root
        self._gone = {pod.key: self.leaves[unit.pods[0].key] for unit in candidates for pod in unit.pods}
        self._cells = cells(cluster, root)
        self._shapes = shapes(cluster, root)
        self._kinds = list({id(shape): shape for each in self._shapes.values() for shape in each}.values())
        self._on: dict[tuple[int, str], cp_model.IntVar] = {}
        self._room: Counter[tuple[int, int]] = Counter()
        for number, cell in enumerate(self._cells):
            for node in cell.nodes:
                self._fill(node, number)
        self._in: dict[tuple[str, int, int], cp_model.IntVar] = {}
        self._active = {group.name: self.model.new_bool_var(f"{group.name} gets pods") for group in root.walk()}
        self._domains: dict[str, dict[str, cp_model.IntVar]] = {}
        self._require(root, [])
        self._join()
        self.placed = total(self._in.values())
        self.model.add(self.placed >= 1)

    def solve(self) -> bool:
        """Solve; return true if there is a solution, which the solver then holds.

        Raises:
            Undecided: the solver took too long.

        """
        from ortools.sat.python import cp_model

        parameters = self.solver.parameters
        parameters.num_workers, parameters.random_seed, parameters.max_deterministic_time = 1, 0, PATIENCE
        # Without all constraints in the relaxation a crowded tree may not be refuted at all.
        parameters.linearization_level = 2
        status = self.solver.solve(self.model)
        if status == cp_model.OPTIMAL:
            return True
        if status == cp_model.INFEASIBLE:
            return False
        raise Undecided(f"{self._root.name}: {self.solver.status_name(status)}")

    def assignments(self) -> dict[str, str]:
        """Return the node of each pod in the last solution."""
        result = {}
        names = {
            (leaf.name, kind): iter(
                [pod.key for pod, its in zip(queued(leaf, self._cluster), self._shapes[leaf.name], strict=True) if its is shape]
            )
            for leaf in self._root.leaves()
            for kind, shape in enumerate(self._kinds)
        }
        for kind, (number, cell) in itertools.product(range(len(self._kinds)), enumerate(self._cells)):
            slots = iter([node.name for node in cell.nodes for _ in range(self._value(self._on.get((kind, node.name))))])
            for leaf in self._root.leaves():
                for _ in range(self._value(self._in.get((leaf.name, kind, number)))):
                    result[next(names[leaf.name, kind])] = next(slots)
        return result

    def _value(self, variable: cp_model.IntVar | None) -> int:
        return 0 if variable is None else self.solver.value(variable)

    def _fill(self, node: Node, cell: int) -> None:
        """Constrain the new pods on *node*, given the pods that stay."""
        running = self._cluster.on(node.name)
        staying = [pod for pod in running if pod.key not in self._gone]
        capacity = {kind: most(shape, node, staying) for kind, shape in enumerate(self._kinds)}
        here = {kind: self.model.new_int_var(0, size, f"{kind} on {node.name}") for kind, size in capacity.items() if size > 0}
        for kind, variable in here.items():
            self._on[kind, node.name] = variable
            self._room[kind, cell] += capacity[kind]
            self._keep_ports(kind, here, running)
        if len(here) > 1 or len(staying) < len(running):
            for resource in sorted({name for kind in here for name in self._kinds[kind].amounts}):
                self._within(node, resource, here, running)

    def _within(self, node: Node, resource: str, here: dict[int, cp_model.IntVar], running: list[Pod]) -> None:
        """Constrain requests of *resource* to the capacity left; if it is exceeded already, no new pod requests it."""
        wanting = {kind: self._kinds[kind].amounts[resource] for kind in here if resource in self._kinds[kind].amounts}
        used = {pod.key: amounts_of(pod).get(resource, 0) for pod in running}
        freed = total(amount * self._gone[key] for key, amount in used.items() if key in self._gone)
        free = node.allocatable.get(resource, 0) - sum(used.values())
        fits = sum(amount * here[kind] for kind, amount in wanting.items()) <= freed + free
        if free >= 0:
            self.model.add(fits)
        else:
            expected = self.model.new_bool_var(f"{resource} wanted on {node.name}")
            self.model.add(fits).only_enforce_if(expected)
            self.model.add(sum(here[kind] for kind in wanting) == 0).only_enforce_if(~expected)

    def _keep_ports(self, kind: int, here: dict[int, cp_model.IntVar], running: list[Pod]) -> None:
        shape = self._kinds[kind]
        for pod in running:
            if pod.key in self._gone and shape.clashes(pod):
                self.model.add(here[kind] == 0).only_enforce_if(~self._gone[pod.key])
        for other in range(kind):
            if other in here and shape.clashes(self._kinds[other].pod):
                self.model.add(here[kind] + here[other] <= 1)

    def _require(self, group: Group, above: list[Group]) -> None:
        """Constrain *group* and everything below it, if it gets pods."""
        active = self._active[group.name]
        self.model.add_implication(active, self._active[above[-1].name] if above else active)
        if group.topology:
            self._confine(group)
        if group.kind == "PodGroup":
            new = self._members(group, [*above, group])
            self.model.add(len(self._cluster.running(group)) + new >= group.minimum).only_enforce_if(active)
            return
        for child in group.children:
            self._require(child, [*above, group])
        # A child that what runs satisfies counts without anything new.
        met = [1 if satisfied(child, self._cluster) else self._active[child.name] for child in group.children]
        self.model.add(total(met) >= group.minimum).only_enforce_if(active)

    def _confine(self, group: Group) -> None:
        """Constrain *group* to one domain, that of its running members."""
        values = {cell.values[group.topology] for cell in self._cells} - {None}
        nodes = [self._cluster.nodes.get(self._cluster.where[pod.key]) for pod in self._cluster.running(group)]
        pins = {None if node is None else node.labels.get(group.topology) for node in nodes}
        if len(pins) > 1 or None in pins:
            values = set()
        elif pins:
            values &= pins
        chosen = {value: self.model.new_bool_var(f"{group.name} in {value}") for value in sorted(values, key=str)}
        self.model.add(total(chosen.values()) == self._active[group.name])
        self._domains[group.name] = chosen

    def _members(self, leaf: Group, chain: list[Group]) -> cp_model.LinearExprT:
        """Return the number of new pods of *leaf*, which are in the domains of the groups of *chain*."""
        counts = Counter(self._kinds.index(shape) for shape in self._shapes[leaf.name])
        for kind, count in counts.items():
            for number, cell in enumerate(self._cells):
                if size := min(count, self._room[kind, number]):
                    self._put(leaf, chain, (kind, number, size), cell)
            self.model.add(total(self._of(leaf, kind)) <= count)
        return total(variable for kind in counts for variable in self._of(leaf, kind))

    def _put(self, leaf: Group, chain: list[Group], what: tuple[int, int, int], cell: Cell) -> None:
        kind, number, size = what
        gates = [self._domains[group.name].get(str(cell.values[group.topology])) for group in chain if group.topology]
        open_ = [gate for gate in gates if gate is not None]
        if len(open_) == len(gates):
            variable = self._in[leaf.name, kind, number] = self.model.new_int_var(0, size, f"{leaf.name}: {kind} in {number}")
            for gate in [*open_, self._active[leaf.name]]:
                self.model.add(variable <= size * gate)

    def _of(self, leaf: Group, kind: int) -> list[cp_model.IntVar]:
        result = (self._in.get((leaf.name, kind, number)) for number in range(len(self._cells)))
        return [variable for variable in result if variable is not None]

    def _join(self) -> None:
        """Constrain nodes of each cell to take as many pods of a shape as leaves have there."""
        for kind, (number, cell) in itertools.product(range(len(self._kinds)), enumerate(self._cells)):
            in_use = [self._on[kind, node.name] for node in cell.nodes if (kind, node.name) in self._on]
            given = [self._in[leaf.name, kind, number] for leaf in self._root.leaves() if (leaf.name, kind, number) in self._in]
            self.model.add(total(in_use) == total(given))
