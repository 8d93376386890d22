"""Claims that wait for their first consumer: volumes that pods take one after the other, and an exhaustive search for volumes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from tests.scheduler_core.oracle.fit import matches, term_matches
from tests.scheduler_core.oracle.model import Cluster, Node, Objects, Pod, flat

GIB = 2**30
PROVISIONED = ""
SELECTED = "volume.kubernetes.io/selected-node"


@dataclasses.dataclass
class Found:
    """Volume of each claim, PROVISIONED without one, and the score of the node."""

    volumes: dict[str, str]
    score: int


class Volumes:
    """Volumes and claims of raw objects; sizes are in Gi."""

    def __init__(self, objects: Objects) -> None:
        def named(kind: str) -> dict[str, dict[str, Any]]:
            return {one["metadata"]["name"]: one for one in flat(objects) if one["kind"] == kind}

        self.claims, self.volumes, self.classes = named("PersistentVolumeClaim"), named("PersistentVolume"), named("StorageClass")
        self.capacities, self.drivers = named("CSIStorageCapacity"), named("CSIDriver")

    def on_node(self, pod: Pod, node: Node, cluster: Cluster, where: Mapping[str, str], again: set[str]) -> Found | None:
        """Return the volumes of *pod* on *node* after the pods in *where*, in their order; None if it has none there.

        The pods in *again* are reserved a second time: they hold no volumes, only the nodes that they select.
        """
        taken: dict[str, str] = {}
        selected: dict[str, str] = {}
        for key, name in where.items():
            if key in cluster.pods and "nodeName" not in cluster.pods[key].spec and key != pod.key:
                found = self._find(cluster.pods[key], cluster.nodes[name], taken, selected)
                self._keep(found, name, {} if key in again else taken, selected)
        return self._find(pod, node, taken, selected)

    def possible(self, cluster: Cluster, new: Mapping[str, str]) -> bool:
        """Return whether all claims of the pods *new* can have volumes, each for the node of its pod."""
        nodes: dict[str, set[str]] = {}
        for key, name in new.items():
            for claim in claims_of(cluster.pods[key]):
                nodes.setdefault(claim, set()).add(name)
        return any(True for _ in self._assignments(sorted(nodes.items()), cluster, set()))

    def _assignments(self, claims: list[tuple[str, set[str]]], cluster: Cluster, taken: set[str]) -> Iterator[None]:
        if not claims:
            yield
            return
        (claim, names), rest = claims[0], claims[1:]
        nodes = [cluster.nodes[name] for name in sorted(names)]
        selected = self._annotation(claim)
        if selected and names != {selected}:
            return
        if len(nodes) == 1 and self._provisions(claim, nodes[0]):
            yield from self._assignments(rest, cluster, taken)
        for volume in () if selected else self.volumes:
            if volume not in taken and all(self._suits(volume, claim, node) for node in nodes):
                yield from self._assignments(rest, cluster, taken | {volume})

    def _find(self, pod: Pod, node: Node, taken: Mapping[str, str], selected: Mapping[str, str]) -> Found | None:
        volumes: dict[str, str] = {}
        claims = sorted(claims_of(pod), key=self._size)
        for claim in claims:
            chosen = selected.get(claim) or self._annotation(claim)
            if chosen:
                if chosen != node.name or not self._provisions(claim, node):
                    return None
                volumes[claim] = PROVISIONED
                continue
            owned = next((volume for volume, owner in taken.items() if owner == claim), "")
            free = sorted((self._capacity(each), each) for each in self.volumes if each not in taken and each not in volumes.values())
            fitting = [each for _, each in free if self._suits(each, claim, node)]
            if owned:
                if not self._suits(owned, claim, node):
                    return None
                fitting = [owned]
            if not fitting and not self._provisions(claim, node):
                return None
            volumes[claim] = fitting[0] if fitting else PROVISIONED
        return Found(volumes, self._score(volumes, node))

    def _keep(self, found: Found | None, node: str, taken: dict[str, str], selected: dict[str, str]) -> None:
        for claim, volume in found.volumes.items() if found else ():
            if volume == PROVISIONED:
                selected[claim] = node
            else:
                taken[volume] = claim

    def _score(self, volumes: Mapping[str, str], node: Node) -> int:
        static = {claim: volume for claim, volume in volumes.items() if volume != PROVISIONED}
        sums: dict[str, list[int]] = {}
        for claim, volume in (static or volumes).items():
            capacity = self._capacity(volume) if static else self._figure(claim, node)
            if capacity is not None:
                total = sums.setdefault(self._class(claim), [0, 0])
                total[0] += self._size(claim)
                total[1] = total[1] + capacity if static else capacity
        scores = [0 if not most or size > most else 100 - size * 100 // most for size, most in sums.values()]
        return math.floor(sum(scores) / len(scores) + 0.5) if scores else 0

    def _suits(self, volume: str, claim: str, node: Node) -> bool:
        spec, metadata = self.volumes[volume]["spec"], self.volumes[volume]["metadata"]
        terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
        wanted = (self.claims[claim]["spec"].get("selector") or {}).get("matchLabels") or {}
        return (
            spec["storageClassName"] == self._class(claim)
            and self._capacity(volume) >= self._size(claim)
            and all((metadata.get("labels") or {}).get(key) == value for key, value in wanted.items())
            and (terms is None or any(term_matches(term, node) for term in terms))
        )

    def _provisions(self, claim: str, node: Node) -> bool:
        storage_class = self.classes[self._class(claim)]
        if storage_class["provisioner"] == "kubernetes.io/no-provisioner":
            return False
        terms = storage_class.get("allowedTopologies") or []
        allowed = [all(node.labels.get(each["key"]) in each["values"] for each in term["matchLabelExpressions"]) for term in terms]
        driver = self.drivers.get(storage_class["provisioner"])
        measured = driver is not None and driver["spec"]["storageCapacity"]
        return (not terms or any(allowed)) and (not measured or self._figure(claim, node) is not None)

    def _figure(self, claim: str, node: Node) -> int | None:
        """Return the first capacity that is enough for the claim."""
        if self.classes[self._class(claim)]["provisioner"] not in self.drivers:
            return None
        for _, one in sorted(self.capacities.items()):
            labels = [{"key": key, "operator": "In", "values": [value]} for key, value in one["nodeTopology"]["matchLabels"].items()]
            enough = gibibytes(one["capacity"]) >= self._size(claim)
            if one["storageClassName"] == self._class(claim) and enough and all(matches(each, node.labels) for each in labels):
                return gibibytes(one["capacity"])
        return None

    def _annotation(self, claim: str) -> str:
        return str((self.claims[claim]["metadata"].get("annotations") or {}).get(SELECTED, ""))

    def _class(self, claim: str) -> str:
        return str(self.claims[claim]["spec"]["storageClassName"])

    def _size(self, claim: str) -> int:
        return gibibytes(self.claims[claim]["spec"]["resources"]["requests"]["storage"])

    def _capacity(self, volume: str) -> int:
        return gibibytes(self.volumes[volume]["spec"]["capacity"]["storage"])


def claims_of(pod: Pod) -> list[str]:
    return [each["persistentVolumeClaim"]["claimName"] for each in pod.spec.get("volumes") or [] if "persistentVolumeClaim" in each]


def gibibytes(text: str) -> int:
    return int(text.removesuffix("Gi"))
