"""Random clusters with devices, each with one pending gang, tree or pod that claims some of them.

Devices are published by ResourceSlices as a driver would; claims of running pods are allocated before the root is created.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.cluster.groups import LABEL
from tests.cluster.kubelet import pod
from tests.cluster.random_clusters import Drawing, RandomCluster, hash_of
from tests.cluster.resources import Manifest

API = "resource.k8s.io/v1"
CLAIMS = ("exact", "all", "first", "match", "distinct", "selector", "admin", "consumable", "partition", "extended")
"""Features that give each pod a claim of its own, or an extended resource."""
SHARED = ("shared", "group", "given")
"""Features that give the pods of the root, or of each PodGroup, a claim together; a given one is allocated already."""
CLUSTER = ("taints", "rules", "by-device", "used", "missing", "pools", "drivers")
"""Features of the published devices."""
FEATURES = (*CLAIMS, *SHARED, *CLUSTER)
COUNTED = ("exact", "selector", "extended", "taints", "rules", "used", "missing", "pools", "drivers")
"""Features with which devices can be interchangeable."""
NAMESPACE_LABELS = {"resource.kubernetes.io/admin-access": "true"}
_TIME = "2026-08-01T00:00:00Z"


class DeviceDrawing(Drawing):
    """One cluster with devices as it is drawn from *seed*."""

    drawn_from = FEATURES

    def __init__(self, seed: int, namespace: str, features: Any = None, scheduler: str = "default-scheduler") -> None:
        super().__init__(seed, namespace, features, scheduler)
        if not {*CLAIMS, *SHARED} & {*self.features}:
            self.features = tuple(sorted((*self.features, self.random.choice(("exact", "match", "selector")))))
        self.driver = f"{self.prefix}.gpu.example.com"
        self.allocations: dict[str, Manifest] = {}
        self._published: list[tuple[str, Manifest]] = []
        self._driver_of: dict[str, str] = {}
        """Driver of each node's devices."""

    def cluster(self) -> RandomCluster:
        """Return the drawn cluster."""
        self._nodes()
        fabric = f"device.driver == 'fabric.{self.driver}'"
        classes = [("gpu", [f"device.driver.endsWith('{self.driver}')", f"!({fabric})"]), ("fabric", [fabric])]
        for name, selectors in classes:
            spec: Manifest = {"selectors": [{"cel": {"expression": each}} for each in selectors]}
            if name == "gpu" and "extended" in self.features and hash_of(self.prefix, "implicit") % 3:
                spec["extendedResourceName"] = f"{self.prefix}.example.com/gpu"
            self.shared.append({"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": self._name(name)}, "spec": spec})
        for number, each in enumerate(self.nodes):
            self._publish(number, each["metadata"]["name"])
        self._fabric()
        if "rules" in self.features:
            self._rule()
        if "used" in self.features:
            self._use()
        if "given" in self.features:
            self._give()
        self._templates()
        groups = self._groups()
        leaves = [each for each in groups if each["kind"] == "PodGroup"]
        if "group" in self.features:
            for each in leaves:
                each["spec"]["resourceClaims"] = [{"name": "fabric", "resourceClaimTemplateName": "fabric"}]
        pods = self._pods(groups)
        for each in pods:
            self._claim(each, in_group=bool(leaves))
        return RandomCluster(self.features, [*self.nodes, *self.shared], [*self.claims, *self.present], groups, pods, self.allocations)

    def _publish(self, number: int, node: str) -> None:
        """Publish the devices of a node, sometimes in two slices."""
        count = self.random.randint(0, 6) if "partition" not in self.features else 3
        devices = [self._device(each) for each in range(count)]
        if "missing" in self.features and devices and self.random.random() < 0.2:
            del devices[-1]["attributes"]["model"]
        self._published += [(node, each) for each in devices]
        self._driver_of[node] = f"b.{self.driver}" if "drivers" in self.features and self.random.random() < 0.4 else self.driver
        cuts = [devices] if count < 2 or "partition" in self.features or self.random.random() < 0.7 else [devices[:1], devices[1:]]
        slices: list[Manifest] = [{"devices": each} for each in cuts]
        if "partition" in self.features:
            counters = {"memory": {"value": f"{self.random.choice((40, 60, 80))}Gi"}}
            slices.append({"sharedCounters": [{"name": "set", "counters": counters}]})
        generations = [len(slices)] * len(slices)
        if "pools" in self.features and self.random.random() < 0.4:
            # A slice is missing, or a name is twice in the pool, or some slices are of an older generation.
            change = self.random.choice(("missing", "twice", "old"))
            if change != "missing":
                slices.append({"devices": [self._device(0 if change == "twice" else 7)]})
            generations = [len(slices) + (change == "missing")] * len(slices) if change != "old" else [*generations, 0]
        for part, (spec, count) in enumerate(zip(slices, generations, strict=True)):
            metadata = {"name": f"{self.prefix}-{self.random.randint(0, 9)}-{number}-{part}"}
            pool = {"name": self._pool(node), "generation": 1 if count else 0, "resourceSliceCount": count or 1}
            body = {"driver": self._driver_of[node], "pool": pool, **self._reach(node, spec), **spec}
            self.shared.append({"apiVersion": API, "kind": "ResourceSlice", "metadata": metadata, "spec": body})

    def _pool(self, node: str) -> str:
        """Return the pool of a node; its name is not that of the node, so that nodes can be renamed."""
        return f"{self.prefix}-pool-{[each['metadata']['name'] for each in self.nodes].index(node)}"

    def _reach(self, node: str, spec: Manifest) -> Manifest:
        if "by-device" not in self.features or not spec.get("devices"):
            return {"nodeName": node}
        rack = next(each for each in self.nodes if each["metadata"]["name"] == node)["metadata"]["labels"][LABEL]
        near = {"nodeSelectorTerms": [{"matchExpressions": [{"key": LABEL, "operator": "In", "values": [rack]}]}]}
        for each in spec["devices"]:
            each.update(self.random.choice(({"nodeName": node}, {"nodeName": node}, {"nodeSelector": near}, {"allNodes": True})))
        return {"perDeviceNodeSelection": True}

    def _device(self, number: int) -> Manifest:
        size = self.random.choice((20, 40, 80))
        result: Manifest = {
            "name": f"gpu-{number}",
            "attributes": {
                "model": {"string": self.random.choice(("a100", "h100"))},
                "numa": {"int": self.random.randint(0, 1)},
                "driverVersion": {"version": self.random.choice(("1.2.3", "2.0.0"))},
            },
            "capacity": {"memory": {"value": f"{size}Gi"}},
        }
        if "consumable" in self.features:
            result["allowMultipleAllocations"] = True
            if self.random.random() < 0.5:
                ranged = {"validRange": {"min": "4Gi", "step": "4Gi", "max": f"{size}Gi"}}
                policy = self.random.choice((ranged, {"validValues": ["8Gi", "16Gi"]}))
                result["capacity"]["memory"]["requestPolicy"] = {"default": "8Gi", **policy}
        if "partition" in self.features:
            used = {"memory": {"value": f"{self.random.choice((20, 30, 40))}Gi"}}
            result["consumesCounters"] = [{"counterSet": "set", "counters": used}]
        if "taints" in self.features and self.random.random() < 0.3:
            effect = self.random.choice(("NoSchedule", "NoExecute", "None"))
            result["taints"] = [{"key": "example.com/unhealthy", "value": "yes", "effect": effect, "timeAdded": _TIME}]
        return result

    def _fabric(self) -> None:
        """Publish a device for each rack that all its nodes reach; in some clusters one rack has none."""
        racks = sorted({each["metadata"]["labels"][LABEL] for each in self.nodes})
        for number, rack in enumerate(racks):
            if self.random.random() < 0.8:
                selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": LABEL, "operator": "In", "values": [rack]}]}]}
                devices = [{"name": f"channel-{each}"} for each in range(self.random.randint(1, 2))]
                pool = {"name": f"{self.prefix}-fabric-{number}", "generation": 1, "resourceSliceCount": 1}
                body = {"driver": f"fabric.{self.driver}", "pool": pool, "nodeSelector": selector, "devices": devices}
                metadata = {"name": pool["name"]}
                self.shared.append({"apiVersion": API, "kind": "ResourceSlice", "metadata": metadata, "spec": body})

    def _rule(self) -> None:
        """Taint some devices by a rule."""
        for number, (node, device) in enumerate(self._published):
            if self.random.random() < 0.2:
                whole = {"driver": self._driver_of[node], "pool": self._pool(node), "device": device["name"]}
                selector = {name: each for name, each in whole.items() if self.random.random() < 0.8}
                taint = {"key": "example.com/maintenance", "effect": self.random.choice(("NoSchedule", "NoExecute", "None"))}
                spec = {"deviceSelector": selector, "taint": taint}
                self.shared.append(
                    {"apiVersion": API, "kind": "DeviceTaintRule", "metadata": {"name": self._name(f"rule-{number}")}, "spec": spec}
                )

    def _use(self) -> None:
        """Let running pods have some of the devices of their nodes."""
        for node, device in self._published:
            if self.random.random() < 0.4:
                name = f"used-{node}-{device['name']}"
                self.present.append(self._holder(name, node))
                self.claims.append(self._object("ResourceClaim", name, {"devices": {"requests": [self._request("gpu", "gpu")]}}))
                given: Manifest = {"request": "gpu", "driver": self._driver_of[node], "pool": self._pool(node), "device": device["name"]}
                if device.get("allowMultipleAllocations"):
                    share = f"{hash_of(name):08x}-0000-4000-8000-000000000000"
                    given |= {"shareID": share, "consumedCapacity": {"memory": self.random.choice(("4Gi", "8Gi", "16Gi"))}}
                on = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
                allocation = {"devices": {"results": [given]}, "nodeSelector": on, "allocationTimestamp": _TIME}
                self.allocations[name] = allocation

    def _give(self) -> None:
        """Let the root's pods share a claim that is allocated to a device of one rack, and that a running pod uses."""
        node = self.random.choice(self.nodes)["metadata"]
        rack = node["labels"][LABEL]
        published = {each["metadata"]["name"]: each["spec"] for each in self.shared if each["kind"] == "ResourceSlice"}
        fabric = next((each for each in published.values() if _is_of(each, rack)), None)
        pool = fabric["pool"]["name"] if fabric is not None else "elsewhere"
        self.present.append(self._holder("given", node["name"]))
        self.claims.append(self._object("ResourceClaim", "given", {"devices": {"requests": [self._request("gpu", "fabric")]}}))
        given = {"request": "gpu", "driver": f"fabric.{self.driver}", "pool": pool, "device": "channel-0"}
        near = {"nodeSelectorTerms": [{"matchExpressions": [{"key": LABEL, "operator": "In", "values": [rack]}]}]}
        self.allocations["given"] = {"devices": {"results": [given]}, "nodeSelector": near, "allocationTimestamp": _TIME}

    def _holder(self, name: str, node: str) -> Manifest:
        """Return a running pod with the claim of its name."""
        spec = {
            "nodeName": node,
            "schedulerName": self.scheduler,
            "terminationGracePeriodSeconds": 3000,
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        }
        return pod(name, self.namespace, spec=spec, cpu="10m", memory="10Mi")

    def _object(self, kind: str, name: str, spec: Manifest) -> Manifest:
        return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": self.namespace}, "spec": spec}

    def _request(self, name: str, device_class: str, **more: Any) -> Manifest:
        return {"name": name, "exactly": {"deviceClassName": self._name(device_class), **more}}

    def _templates(self) -> None:
        """Create a template for each feature, and the claim that all pods share."""
        for name in CLAIMS:
            if name in self.features and name != "extended":
                self.claims.append(self._object("ResourceClaimTemplate", name, {"spec": {"devices": self._devices(name)}}))
        of_rack = self.random.random() < 0.6
        devices = {"requests": [self._request("gpu", "fabric" if of_rack else "gpu")]}
        if "shared" in self.features:
            self.claims.append(self._object("ResourceClaim", "shared", {"devices": devices}))
        if "group" in self.features:
            self.claims.append(self._object("ResourceClaimTemplate", "fabric", {"spec": {"devices": devices}}))

    def _devices(self, feature: str) -> Manifest:
        more: Manifest = {}
        if "taints" in self.features and self.random.random() < 0.5:
            more["tolerations"] = [{"key": "example.com/unhealthy", "operator": "Exists"}]
        count = self.random.choice((1, 1, 2))
        if feature == "first":
            alternatives = [*self._alternatives(more)]
            self.random.shuffle(alternatives)
            return {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}
        if feature in ("match", "distinct"):
            constraint = {f"{feature}Attribute": f"{self.driver}/{self.random.choice(('numa', 'numa', 'model'))}"}
            split = self.random.random() < 0.5
            requests = (
                [self._request(each, "gpu", **more) for each in ("a", "b")] if split else [self._request("a", "gpu", count=2, **more)]
            )
            return {"requests": requests, "constraints": [constraint]}
        more |= {
            "exact": {"count": count},
            "all": {"allocationMode": "All"},
            "selector": {"selectors": [{"cel": {"expression": self._selector()}}], "count": count},
            "admin": {"adminAccess": True, "count": count},
            "consumable": {"capacity": {"requests": {"memory": f"{self.random.choice((3, 8, 14, 20))}Gi"}}} if count == 1 else {},
            "partition": {"count": count},
        }[feature]
        return {"requests": [self._request("gpu", "gpu", **more)]}

    def _alternatives(self, more: Manifest) -> Iterator[Manifest]:
        own = {"deviceClassName": self._name("gpu"), **more}
        yield {"name": "model", **own, "selectors": [{"cel": {"expression": self._selector()}}]}
        yield {"name": "two", **own, "count": 2}
        yield {"name": "any", **own}

    def _selector(self) -> str:
        attributes, capacity = f'device.attributes["{self.driver}"]', f'device.capacity["{self.driver}"]'
        return self.random.choice(
            (
                f'{attributes}.model == "h100"',
                f"{attributes}.numa in [0, 2] || {attributes}.model.startsWith('h')",
                f'{capacity}.memory.compareTo(quantity("40Gi")) >= 0',
                f'{attributes}.driverVersion.isGreaterThan(semver("1.5.0"))',
                f'has({attributes}.model) && {attributes}.model != "a100"',
            )
        )

    def _claim(self, each: Manifest, *, in_group: bool) -> None:
        """Give a pod of the root its claims, in the same order for all pods."""
        own = [{"name": name, "resourceClaimTemplateName": name} for name in CLAIMS if name in self.features and name != "extended"]
        shared: list[Manifest] = []
        if "shared" in self.features:
            shared.append({"name": "shared", "resourceClaimName": "shared"})
        if "given" in self.features:
            shared.append({"name": "given", "resourceClaimName": "given"})
        if "group" in self.features and in_group:
            shared.append({"name": "fabric", "resourceClaimTemplateName": "fabric"})
        claims = [*own, *shared]
        if claims:
            each["spec"]["resourceClaims"] = claims
        if "extended" in self.features:
            implicit = f"deviceclass.resource.kubernetes.io/{self._name('gpu')}"
            resource = f"{self.prefix}.example.com/gpu" if hash_of(self.prefix, "implicit") % 3 else implicit
            amount = str(1 + hash_of(self.prefix, "extended") % 2)
            resources = each["spec"]["containers"][0]["resources"]
            resources["requests"][resource] = amount
            resources.setdefault("limits", {})[resource] = amount


class CountedDrawing(DeviceDrawing):
    """One cluster whose devices are mostly interchangeable on each node, so that `simulate` counts them like other resources."""

    drawn_from = COUNTED


def _is_of(spec: Manifest, rack: str) -> bool:
    """Return whether a slice is that of the fabric of *rack*."""
    terms = spec.get("nodeSelector", {}).get("nodeSelectorTerms", ())
    return any(rack in expression["values"] for each in terms for expression in each["matchExpressions"])
