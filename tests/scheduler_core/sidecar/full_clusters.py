"""Random clusters that are full, and roots of several priorities that come to them."""

from __future__ import annotations

import random

from tests.scheduler_core.builders import composite, leaf, node, pod
from tests.scheduler_core.sidecar.histories import Json

LOW, MIDDLE, HIGH, TOP = 10, 50, 100, 1000


class FullCluster:
    """One cluster.

    Attributes:
        cpu: capacity of each node.
        present: nodes, and what runs there.
        arrivals: the roots that come, each with its groups and pods.

    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.cpu = chance.choice((4, 6, 8))
        names = [(f"r{rack}-{number}", f"r{rack}") for rack in range(chance.randint(1, 3)) for number in range(chance.randint(1, 4))]
        objects = [node(name, cpu=str(self.cpu), rack=rack) for name, rack in names]
        free = {name: self.cpu for name, _ in names}
        for number in range(chance.randint(0, 3)):
            objects += self._running_gang(f"low{number}", free)
        for name, left in free.items():
            while left > 0 and chance.random() < 0.9:
                cpu = min(left, chance.randint(1, 3))
                left -= cpu  # noqa: PLW2901
                objects.append(pod(f"fill-{len(objects)}", cpu=str(cpu), on=name, priority=chance.choice((0, LOW))))
        roots = [self._root(f"h{number}", HIGH, "tree", "tree", "gang", "pod") for number in range(chance.randint(1, 2))]
        for name, priority in (("m", MIDDLE), ("l", LOW)):
            roots += [self._root(f"{name}{number}", priority, "tree", "gang", "pod") for number in range(chance.randint(0, 2))]
        self.present = objects
        self.arrivals = roots if chance.random() < 0.7 else [*roots, self._root("t", TOP, "tree", "gang", "pod")]

    def _running_gang(self, name: str, free: dict[str, int]) -> list[Json]:
        cpu, mode = self.chance.randint(1, 3), self.chance.choice(("all", "single"))
        where = []
        for _ in range(self.chance.randint(1, 4)):
            if fitting := [each for each, left in free.items() if left >= cpu]:
                where.append(self.chance.choice(fitting))
                free[where[-1]] -= cpu
        running = [pod(f"{name}-{number}", name, str(cpu), on=on, priority=LOW) for number, on in enumerate(where)]
        return [leaf(name, len(where), priority=LOW, disruptionMode={mode: {}}), *running] if running else []

    def _root(self, name: str, priority: int, *shapes: str) -> list[Json]:
        chance, shape = self.chance, self.chance.choice(shapes)
        cpu = str(chance.choice((1, 2, 3, self.cpu // 2, self.cpu)))
        if shape == "pod":
            return [pod(name, cpu=cpu, priority=priority)]
        if shape == "gang":
            size = chance.randint(1, 6)
            mode = {chance.choice(("all", "single")): {}}
            least = chance.choice((size, size, max(1, size - 1)))
            group = leaf(name, least, chance.choice(("", "rack")), priority=priority, disruptionMode=mode)
            return [group, *(pod(f"{name}-{number}", name, cpu, priority=priority) for number in range(size))]
        objects = [composite(name, chance.choice((0, 1, 2, 2, 2)), chance.choice(("", "", "rack")), priority=priority)]
        for below in (f"{name}a", f"{name}b"):
            size = chance.randint(1, 6)
            objects.append(leaf(below, size, chance.choice(("", "rack")), name, priority=priority))
            objects += [pod(f"{below}-{number}", below, cpu, priority=priority) for number in range(size)]
        return objects
