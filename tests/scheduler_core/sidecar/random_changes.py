"""Random changes of a watched cluster: what those of devices and of volumes have in common."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.scheduler_core.builders import Json
from tests.scheduler_core.sidecar.histories import Watched


class RandomChanges:
    """Random changes of a small cluster; a subclass makes the scene.

    Attributes:
        nodes: names of the nodes.
        scene: the server and the store.

    """

    nodes: Sequence[str] = ()
    scene: Watched

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def node(self, name: str) -> Json:
        """Return a node with random content."""
        raise NotImplementedError

    def names(self, kind: str) -> list[tuple[str, str, str]]:
        return sorted(name for name in self.scene.server.objects if name[0] == kind)

    def any_of(self, kind: str) -> Json | None:
        names = self.names(kind)
        return self.scene.server.objects[self.chance.choice(names)] if names else None

    def bind_pod(self) -> None:
        if (each := self.any_of("Pod")) is not None:
            self.scene.happens({**each, "spec": {**each["spec"], "nodeName": self.chance.choice(self.nodes)}})

    def change_node(self) -> None:
        chance, there = self.chance, self.names("Node")
        if there and chance.random() < 0.3:
            self.scene.happens(chance.choice(there))
        self.scene.happens(*(self.node(each) for each in self.nodes if chance.random() < 0.4))
