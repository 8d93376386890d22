"""Hard trees by seed, as API objects, most of them around a planted placement.

Running pods take all capacity except that of the planted placement and the slack.  So the tree has a placement, and with no
slack hardly a second one.  The same arguments make the same objects.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from typing import Any

from tests.scheduler_core.cp_sat import raw
from tests.scheduler_core.cp_sat.raw import Amounts, Machine
from tests.scheduler_core.oracle.model import Objects

ZONE, BLOCK, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/block", "topology.kubernetes.io/rack"
REGION = "topology.kubernetes.io/region"
KEYS = {1: (RACK,), 2: (ZONE, RACK), 3: (ZONE, BLOCK, RACK), 4: (REGION, ZONE, BLOCK, RACK)}
"""Topology keys of the groups of a tree from the root down, by depth."""
WIDTHS = {1: (), 2: ((2, 8),), 3: ((2, 4), (1, 4)), 4: ((2, 2), (2, 2), (1, 4))}
"""Minimum and maximum number of children of a group, from the root down; at most 16 leaves."""
DOMAINS = {1: (), 2: ((2, 5),), 3: ((2, 3), (2, 3)), 4: ((2, 2), (2, 2), (2, 3))}
"""Number of domains inside a domain, from that of the root down."""
SHAPES: tuple[Amounts, ...] = (
    {"cpu": 1000, "memory": 1024},
    {"cpu": 2000, "memory": 2048},
    {"cpu": 1000, "memory": 12288},
    {"cpu": 3000, "memory": 1024},
    {"cpu": 500, "memory": 512, raw.GPU: 1},
)
"""Requests of the pods; a node takes eight pods of the first kind."""


@dataclasses.dataclass(frozen=True)
class Make:
    """Parameters of an instance.

    Attributes:
        slack: free capacity in addition to the planted pods, in percent.
        optional: true if each leaf has a quarter more pods than its minimum.
        depth: levels, 1 to 4.
        shapes: number of kinds of pods, 1 to 3.
        nodes: approximate number of nodes; by default as many as needed.
        decoys: number of other domains with the same free capacity as the planted one, partly fragmented.
        spare: child groups beyond a minGroupCount, for which no capacity is reserved.
        running: true if some members run already.
        pools: true if each shape requires its own nodes.
        loose: true if some groups have no constraint, and some leaves a basic policy.
        moved: capacity, in pods, that is moved to another rack; then there may be no placement.
        short: capacity, in pods, that is removed.
        largest: the largest minCount.
        filler: the priority of the pods that fill the nodes; pods below ``raw.URGENT`` can be preempted.

    """

    slack: int = 0
    optional: bool = False
    depth: int = 2
    shapes: int = 1
    nodes: int = 0
    decoys: int = 0
    spare: int = 0
    running: bool = False
    pools: bool = False
    loose: bool = False
    moved: int = 0
    short: int = 0
    largest: int = 12
    filler: int = 1000

    @property
    def planted(self) -> bool:
        """Return true if a placement certainly exists."""
        return not self.moved and not self.short


def instance(seed: int, make: Make = Make()) -> Objects:
    """Return one tree, called ``t``, with its cluster."""
    return _Instance(random.Random(f"{seed} {make}"), make).objects()


def drawn(seed: int) -> Make:
    """Draw the parameters of an instance."""
    chance = random.Random(seed)
    return Make(
        slack=chance.choice((0, 0, 0, 5, 10, 20)),
        optional=chance.random() < 0.4,
        depth=chance.choice((1, 2, 2, 2, 3, 4)),
        shapes=chance.choice((1, 1, 2, 3)),
        nodes=chance.choice((0, 0, 0, 60, 200)),
        decoys=chance.choice((0, 0, 1, 2)),
        spare=chance.choice((0, 0, 0, 1, 2)),
        running=chance.random() < 0.2,
        pools=chance.random() < 0.2,
        loose=chance.random() < 0.2,
        moved=chance.choice((0, 0, 0, 0, 1, 2, 4)),
        short=chance.choice((0, 0, 0, 0, 0, 1, 2)),
        filler=chance.choice((1000, 1000, 0)),
    )


def crowded(seed: int) -> Objects:
    """Return a small tree, mostly with too little capacity, among pods that can be preempted.

    These are preempted one by one or as a group, and some are under a disruption budget.
    """
    chance = random.Random(seed)
    kind = Make(depth=chance.choice((1, 2, 2, 3)), shapes=chance.choice((1, 2)), decoys=chance.choice((0, 1)), largest=4, filler=0)
    lacking = dataclasses.replace(kind, moved=chance.choice((0, 1, 2)), short=chance.choice((1, 2, 4, 8)))
    objects = instance(seed, dataclasses.replace(lacking, spare=chance.choice((0, 0, 1)), optional=chance.random() < 0.2))
    return objects + [raw.budget(app, chance.randrange(3)) for app in "ab" if chance.random() < 0.3]


def pressed(seed: int) -> Objects:
    """Return a tree of any kind with too little capacity among preemptible pods, some under a disruption budget."""
    chance = random.Random(f"pressed {seed}")
    lacking = {"moved": chance.choice((0, 1, 2)), "short": chance.choice((1, 2, 4)), "filler": 0}
    sizes = {"nodes": chance.choice((0, 0, 20)), "largest": chance.choice((3, 4, 6)), "shapes": chance.choice((1, 2, 3))}
    odd = {"loose": chance.random() < 0.5, "running": chance.random() < 0.4}
    objects = instance(seed, dataclasses.replace(drawn(seed), **lacking, **sizes, **odd))
    return objects + [raw.budget(app, chance.randrange(3)) for app in "ab" if chance.random() < 0.3]


@dataclasses.dataclass(eq=False)
class _Domain:
    """Domain: a rack with its nodes, or a domain of racks."""

    labels: dict[str, str]
    below: list[_Domain] = dataclasses.field(default_factory=list)
    nodes: list[Machine] = dataclasses.field(default_factory=list)

    def racks(self) -> Iterator[_Domain]:
        if not self.below:
            yield self
        for each in self.below:
            yield from each.racks()


class _Instance:
    def __init__(self, chance: random.Random, make: Make) -> None:
        self.chance, self.make = chance, make
        self.keys = KEYS[make.depth]
        self.shapes = chance.sample(range(len(SHAPES)), make.shapes) if make.shapes > 1 else [0]
        self.machines: list[Machine] = []
        self.home = self.filled()
        self.tree = self.group("t", 0, self.home)

    def objects(self) -> Objects:
        """Return all objects in the order of their creation."""
        self.leave_slack()
        for _ in range(self.make.decoys):
            self.decoy()
        for number in range(self.make.moved + self.make.short):
            self.take(elsewhere=number < self.make.moved)
        for _ in range(self.make.spare):
            self.spare()
        resources = sorted({name for shape in self.shapes for name in SHAPES[shape]})
        nodes = [raw.node(each, resources) for each in self.machines]
        return nodes + raw.tree(self.tree) + raw.fillers(self.machines, resources, self.make.filler, self.chance)

    def domain(self, level: int, labels: dict[str, str]) -> _Domain:
        """Create one domain of the key of *level*, with all domains inside it."""
        widths = DOMAINS[self.make.depth]
        key = self.keys[level]
        labels = {**labels, key: f"{key.rpartition('/')[2]}-{self.chance.getrandbits(32):08x}"}
        created = _Domain(labels)
        if level < len(widths):
            created.below = [self.domain(level + 1, labels) for _ in range(self.chance.randint(*widths[level]))]
        return created

    def filled(self) -> _Domain:
        """Create a domain for the root, with its share of the nodes."""
        created = self.domain(0, {})
        racks = list(created.racks())
        for number in range(self.make.nodes // (1 + self.make.decoys)):
            self.machine(racks[number % len(racks)], self.chance.choice(self.shapes))
        return created

    def machine(self, rack: _Domain, pool: int) -> Machine:
        labels = {**rack.labels, raw.POOL: f"pool-{pool}"} if self.make.pools else rack.labels
        created = Machine(f"n{len(self.machines):03d}", labels)
        self.machines.append(created)
        rack.nodes.append(created)
        return created

    def group(self, name: str, level: int, home: _Domain) -> raw.Planned:
        """Create a group of *level* with everything below it, planted in *home*."""
        widths = WIDTHS[self.make.depth]
        confined = not self.make.loose or self.chance.random() < 0.7
        created = raw.Planned(name, self.keys[level] if confined else "", second=self.chance.randrange(60))
        if level == len(widths):
            self.fill(created, home)
            return created
        for number in range(self.chance.randint(*widths[level])):
            created.children.append(self.group(f"{name}-{number}", level + 1, self.chance.choice(home.below)))
        created.minimum = len(created.children) if confined else self.chance.choice((0, len(created.children)))
        return created

    def fill(self, leaf: raw.Planned, rack: _Domain | None) -> None:
        """Create pods for *leaf*, with capacity for its minimum in *rack*."""
        leaf.minimum = self.chance.randint(1, self.make.largest)
        own = self.shapes if self.chance.random() < 0.3 else [self.chance.choice(self.shapes)]
        running = self.chance.randrange(leaf.minimum) if rack and self.make.running and self.chance.random() < 0.5 else 0
        for number in range(leaf.minimum):
            shape, on = self.chance.choice(own), ""
            if rack and number < running:
                node = self.node_for(shape, rack)
                node.held.update(SHAPES[shape])
                on = node.name
            elif rack:
                self.plant(shape, rack)
                leaf.room.append(shape)
            leaf.pods.append((self.spec(shape), on))
        leaf.pods += [(self.spec(self.chance.choice(own)), "") for _ in range((leaf.minimum + 2) // 4 if self.make.optional else 0)]
        if self.make.loose and self.chance.random() < 0.3:
            leaf.minimum = 0

    def spec(self, shape: int) -> dict[str, Any]:
        return raw.spec(SHAPES[shape], f"pool-{shape}" if self.make.pools else "")

    def plant(self, shape: int, rack: _Domain) -> None:
        """Reserve capacity for a pod of *shape* in *rack*."""
        self.node_for(shape, rack).kept.update(SHAPES[shape])

    def node_for(self, shape: int, rack: _Domain) -> Machine:
        """Return a node of *rack* with capacity for a pod of *shape*."""
        mine = [node for node in rack.nodes if not self.make.pools or node.labels[raw.POOL] == f"pool-{shape}"]
        fitting = [node for node in mine if node.fits(SHAPES[shape])]
        if not fitting or (not self.make.nodes and self.chance.random() < 0.2):
            fitting = [self.machine(rack, shape)]
        return self.chance.choice(fitting)

    def leave_slack(self) -> None:
        """Add capacity that no group needs."""
        racks, there = list(self.home.racks()), [shape for group in self.tree.walk() for shape in group.room]
        for _ in range(round(len(there) * self.make.slack / (100 - self.make.slack))):
            self.plant(self.chance.choice(there), self.chance.choice(racks))

    def decoy(self) -> None:
        """Add the same capacity in another domain, partly fragmented."""
        racks = list(self.filled().racks())
        for leaf in self.tree.walk():
            rack = self.chance.choice(racks) if self.chance.random() < 0.7 else None
            for shape in leaf.room:
                self.plant(shape, rack or self.chance.choice(racks))

    def take(self, *, elsewhere: bool) -> None:
        """Remove capacity for one pod from the planted domain; with *elsewhere* add it to another rack."""
        racks = list(self.home.racks())
        shape = SHAPES[self.chance.choice([shape for group in self.tree.walk() for shape in group.room])]
        giving = [(rack, node) for rack in racks for node in rack.nodes if all(node.kept[name] >= amount for name, amount in shape.items())]
        if not giving:
            return
        rack, node = self.chance.choice(giving)
        node.kept.subtract(shape)
        if elsewhere:
            others = [each for each in racks if each is not rack] or list(self.domain(0, {}).racks())
            self.plant(SHAPES.index(shape), self.chance.choice(others))

    def spare(self) -> None:
        """Add a leaf that its parent does not require."""
        parents = [group for group in self.tree.walk() if group.children and not group.children[0].children]
        if parents:
            parent = self.chance.choice(parents)
            created = raw.Planned(f"{parent.name}-{len(parent.children)}", self.keys[-1], self.chance.randrange(60))
            self.fill(created, None)
            parent.children.append(created)
