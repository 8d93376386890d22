"""Random clusters, each with one pending gang, tree or pod, for the comparison of `simulate` with the real kube-scheduler.

Sizes are odd and differ from node to node, so that few nodes have equal scores: kube-scheduler draws lots among those.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

from tests.cluster import volumes
from tests.cluster.groups import LABEL, composite, pod_group
from tests.cluster.kubelet import node, pod
from tests.cluster.resources import Manifest
from tests.cluster.volumes import AT_ONCE, DELAYED, STATIC, claim, mount, storage_class, volume

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
VOLUMES = ("bound", "zonal", "delayed", "static", "capacity", "ephemeral", "immediate", "limits", "once")
SPREAD = ("service", "soft", "hard")
FEATURES = (*VOLUMES, *SPREAD)
"""What a cluster may have: at most three of them at once."""


@dataclasses.dataclass(frozen=True)
class RandomCluster:
    """Objects of a cluster: ``shared`` ones without a namespace, ``present`` ones, and at last the root with its pods."""

    features: tuple[str, ...]
    shared: list[Manifest]
    present: list[Manifest]
    groups: list[Manifest]
    pods: list[Manifest]
    allocations: dict[str, Manifest] = dataclasses.field(default_factory=dict)
    """Allocation of each claim to devices that running pods use, by the name of the claim and of the pod."""

    @property
    def root(self) -> Manifest:
        """The root: a group, or the only pod."""
        return self.groups[0] if self.groups else self.pods[0]


class Drawing:
    """One cluster as it is drawn from *seed*."""

    drawn_from: Sequence[str] = FEATURES

    def __init__(self, seed: int, namespace: str, features: Sequence[str] | None = None, scheduler: str = "default-scheduler") -> None:
        self.random = random.Random(seed)
        self.namespace, self.scheduler, self.prefix = namespace, scheduler, f"s{seed}"
        chosen = features if features is not None else self.random.sample(self.drawn_from, self.random.randint(1, 3))
        self.features = tuple(sorted(chosen))
        self.shared: list[Manifest] = []
        self.present: list[Manifest] = []
        self.nodes: list[Manifest] = []
        self.urgent = f"{self.prefix}-urgent" if self.random.random() < 0.4 else ""
        if self.urgent:
            metadata = {"name": self.urgent}
            self.shared.append({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 1000})
        self.claims: list[Manifest] = []

    def cluster(self) -> RandomCluster:
        """Return the drawn cluster."""
        self._nodes()
        for each in ("delayed", "static", "capacity", "immediate", "service"):
            if each in self.features:
                getattr(self, f"_{each}")()
        groups = self._groups()
        pods = self._pods(groups)
        self.present[:0] = self.claims
        return RandomCluster(self.features, [*self.nodes, *self.shared], self.present, groups, pods)

    def _nodes(self) -> None:
        for rack in range(self.random.randint(2, 3)):
            for number in range(self.random.randint(1, 3)):
                name = f"{self.prefix}-r{rack}-{number}"
                labels = {LABEL: f"{self.prefix}-r{rack}", ZONE: f"{self.prefix}-z{rack % 2}"}
                made = node(name, labels, cpu=f"{self.random.randint(35, 99) * 100 + self.random.randint(1, 99)}m")
                made["status"]["allocatable"]["memory"] = made["status"]["capacity"]["memory"] = f"{self.random.randint(9000, 33000)}Mi"
                self.nodes.append(made)
                if "limits" in self.features and self.random.random() < 0.7:
                    driver = {"name": volumes.DRIVER, "nodeID": name, "allocatable": {"count": self.random.randint(1, 3)}}
                    spec = {"drivers": [driver]}
                    self.shared.append({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": spec})
                for lodger in range(self.random.randint(0, 2)):
                    self.present.append(self._lodger(name, f"x{rack}-{number}-{lodger}"))

    def _lodger(self, on: str, name: str) -> Manifest:
        spec: Manifest = {"nodeName": on, "schedulerName": self.scheduler, "terminationGracePeriodSeconds": 3000}
        cpu, memory = self.random.randint(300, 2900), self.random.randint(300, 6000)
        if "limits" in self.features and self.random.random() < 0.5:
            spec["volumes"] = [mount(self._bound(f"c-{name}", {HOSTNAME: [on]}))]
        return pod(name, self.namespace, spec=spec, labels={"app": self.random.choice("ab")}, cpu=f"{cpu}m", memory=f"{memory}Mi")

    def _name(self, suffix: str) -> str:
        return f"{self.prefix}-{suffix}"

    def _delayed(self) -> None:
        """A class whose volumes are made on the selected node, sometimes only in one zone."""
        zone = [{"matchLabelExpressions": [{"key": ZONE, "values": [self._name("z0")]}]}]
        self.shared.append(storage_class(self._name("delayed"), volumes.DRIVER, DELAYED, zone if self.random.random() < 0.4 else ()))

    def _static(self) -> None:
        """Local volumes of random sizes on some of the nodes."""
        self.shared.append(storage_class(self._name("static"), STATIC, DELAYED))
        for each in self.nodes:
            name = each["metadata"]["name"]
            for number in range(self.random.choice((0, 1, 1, 2, 3))):
                size = self.random.randint(3, 60)
                self.shared.append(
                    volume(f"{name}-pv{number}", self._name("static"), size, nodes={HOSTNAME: [name]}, driver="local.example.com")
                )

    def _capacity(self) -> None:
        """A class of a driver that publishes the capacity of each rack."""
        driver = f"{self.prefix}.csi.example.com"
        spec = {"attachRequired": False, "storageCapacity": True}
        self.shared.append({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver}, "spec": spec})
        self.shared.append(storage_class(self._name("capacity"), driver, DELAYED))
        for rack in sorted({each["metadata"]["labels"][LABEL] for each in self.nodes}):
            if self.random.random() < 0.8:
                self.present.append(
                    {
                        "apiVersion": "storage.k8s.io/v1",
                        "kind": "CSIStorageCapacity",
                        "metadata": {"name": f"capacity-{rack}", "namespace": self.namespace},
                        "storageClassName": self._name("capacity"),
                        "nodeTopology": {"matchLabels": {LABEL: rack}},
                        "capacity": f"{self.random.randint(5, 90)}Gi",
                    }
                )

    def _service(self) -> None:
        """A Service that matches the root's pods, and some others: kube-scheduler spreads them by default."""
        spec = {"selector": {"app": "a"}, "ports": [{"port": 80}], "clusterIP": "None"}
        self.present.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": self.namespace}, "spec": spec})

    def _immediate(self) -> None:
        """A class whose claims should be bound already."""
        self.shared.append(storage_class(self._name("immediate"), volumes.DRIVER, AT_ONCE))

    def _bound(
        self, name: str, nodes: dict[str, list[str]] | None = None, labels: dict[str, str] | None = None, mode: str = "ReadWriteOnce"
    ) -> str:
        """Add a volume, and a claim that asks for it; return the claim's name."""
        size = self.random.randint(1, 50)
        made = self._name(f"pv-{name}")
        self.shared.append(volume(made, "", size, nodes=nodes, labels=labels, reference=(self.namespace, name), mode=mode))
        self.claims.append(claim(name, self.namespace, "", size, volume=made, mode=mode))
        return name

    def _groups(self) -> list[Manifest]:
        shape = self.random.choice(("pod", "gang", "gang", "rack", "rack", "rack", "tree"))
        if shape == "pod":
            return []
        if shape == "tree" and "static" not in self.features:
            key = self.random.choice(("", LABEL, ZONE))
            root = composite("root", self.namespace, minimum=2, key=key, **self._priority())
            keys = [self.random.choice(("", LABEL)) for _ in range(2)]
            leaves = [pod_group(f"g{i}", self.namespace, minimum=2, key=keys[i], parent="root", **self._priority()) for i in range(2)]
            return [root, *leaves]
        key = "" if shape == "gang" else self.random.choice((LABEL, LABEL, ZONE))
        return [pod_group("g0", self.namespace, minimum=self.random.randint(2, 4), key=key, **self._priority())]

    def _priority(self) -> Manifest:
        return {"priorityClassName": self.urgent} if self.urgent else {}

    def _spread(self) -> Manifest:
        result = []
        for each, action in (("soft", "ScheduleAnyway"), ("hard", "DoNotSchedule")):
            if each in self.features:
                key = self.random.choice((HOSTNAME, ZONE, LABEL))
                selector = {"matchLabels": {"app": "a"}}
                result.append(
                    {"maxSkew": self.random.randint(1, 2), "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}
                )
        return {"topologySpreadConstraints": result} if result else {}

    def _pods(self, groups: list[Manifest]) -> list[Manifest]:
        cpu, memory = self.random.randint(400, 2500), self.random.randint(300, 4000)
        shared = self._shared_claims()
        leaves = [each for each in groups if each["kind"] == "PodGroup"]
        common = {"schedulerName": self.scheduler, **self._priority(), **self._spread()}
        counts = [(each["metadata"]["name"], each["spec"]["schedulingPolicy"]["gang"]["minCount"]) for each in leaves] or [("", 1)]
        return [
            pod(
                f"{group or 'p'}-{number}",
                self.namespace,
                group=group,
                spec={**common, "volumes": [*map(mount, shared), *self._own(f"{group or 'p'}-{number}")]},
                labels={"app": "a"},
                cpu=f"{cpu}m",
                memory=f"{memory}Mi",
            )
            for group, count in counts
            for number in range(count)
        ]

    def _shared_claims(self) -> list[str]:
        """Claims that all pods of the root use: bound ones."""
        result = []
        if "bound" in self.features and self.random.random() < 0.5:
            racks = sorted({each["metadata"]["labels"][LABEL] for each in self.nodes})
            chosen = self.random.sample(racks, self.random.randint(1, len(racks)))
            result.append(self._bound("dataset", self.random.choice((None, {LABEL: chosen})), mode="ReadWriteMany"))
        if "zonal" in self.features:
            result.append(self._bound("zonal", labels={ZONE: self._name(f"z{self.random.randint(0, 1)}")}))
        if "once" in self.features and self.random.random() < 0.5:
            result.append(self._bound("once", mode="ReadWriteOncePod"))
        return result

    def _own(self, pod_name: str) -> list[Manifest]:
        """Claims of one pod, with the same sizes for all pods."""
        result = []
        for each in ("delayed", "static", "capacity"):
            if each in self.features:
                size = 1 + hash_of(self.prefix, each) % 30
                self.claims.append(claim(f"{each}-{pod_name}", self.namespace, self._name(each), size))
                result.append(mount(f"{each}-{pod_name}"))
        if "immediate" in self.features and hash_of(self.prefix, "immediate") % 3 == 0:
            self.claims.append(claim(f"immediate-{pod_name}", self.namespace, self._name("immediate"), 5))
            result.append(mount(f"immediate-{pod_name}"))
        if "bound" in self.features and self.random.random() < 0.6:
            nodes = sorted(each["metadata"]["name"] for each in self.nodes)
            local = self.random.sample(nodes, self.random.randint(1, len(nodes)))
            result.append(mount(self._bound(f"own-{pod_name}", {HOSTNAME: local})))
        if "ephemeral" in self.features and {"delayed", "capacity"} & set(self.features):
            storage = self._name("delayed" if "delayed" in self.features else "capacity")
            spec = claim("", "", storage, 4)["spec"]
            result.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
        return result


def hash_of(*parts: str) -> int:
    """A number that is the same for the same *parts*, in each process."""
    return random.Random("/".join(parts)).randrange(1 << 30)
