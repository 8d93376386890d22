"""Random objects, applied in random order with replacements and removals: a snapshot is that of the objects that are left."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.snapshot import ClusterSnapshot
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, cluster_of, leaf, node, pod
from tests.scheduler_core.plugins.device_objects import CLASS, DRIVER, device, device_class, device_slice, request, resource_claim

NODES, GROUPS = [f"n{number}" for number in range(4)], ["g", "h"]
KINDS = Counter({"Node": 5, "Pod": 10, "PodGroup": 3, "PriorityClass": 1, "PodDisruptionBudget": 1, "Namespace": 1, "Service": 1})
KINDS |= Counter({"PersistentVolumeClaim": 2, "PersistentVolume": 1, "StorageClass": 1, "Workload": 1})
DEVICE_KINDS = Counter({"DeviceClass": 1, "ResourceSlice": 2, "ResourceClaim": 2})


class Objects:
    """Random objects, by kind, namespace and name."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.present: dict[tuple[str, str, str], Json] = {}
        # Pods of v1alpha1 make most changes build a snapshot anew, and so do claims to devices.
        self.retired, self.devices = self.chance.random() < 0.3, self.chance.random() < 0.2
        more = (DEVICE_KINDS if self.devices else Counter()) + Counter(Workload=5 if self.retired else 0)
        self.kinds = [*(KINDS + more).elements()]
        for _ in range(25):
            self.put()

    def put(self) -> Json:
        """Add or replace an object."""
        kind = self.chance.choice(self.kinds)
        made: Json = getattr(self, f"a_{kind.lower()}")()
        self.present[self.key(made)] = made
        return made

    def take(self) -> tuple[str, str, str]:
        """Remove an object, or none if there is no such one."""
        key = self.chance.choice([*self.present, ("Pod", "default", "none")])
        self.present.pop(key, None)
        return key

    @staticmethod
    def key(made: Json) -> tuple[str, str, str]:
        return made["kind"], made["metadata"].get("namespace", ""), made["metadata"]["name"]

    def a_node(self) -> Json:
        chance = self.chance
        taints = [{"key": "a", "effect": chance.choice(["NoSchedule", "nonsense"])}] if chance.random() < 0.2 else []
        more = {"taints": taints, "unschedulable": True} if chance.random() < 0.2 else {"taints": taints}
        amounts = {"cpu": chance.choice(["4", "8", "x"] if chance.random() < 0.1 else ["4", "8"])}
        made = node(chance.choice(NODES), rack=chance.choice("ab"), **amounts)
        made["spec"] = {**made.get("spec", {}), **more}
        if chance.random() < 0.1:
            made["status"]["allocatable"]["example.com/gpu"] = "2"
        if chance.random() < 0.2:
            made["status"]["declaredFeatures"] = ["VolumeBindMountOptions"]
        return made

    def a_pod(self) -> Json:
        chance = self.chance
        if self.retired and chance.random() < 0.3:
            made = pod(f"p{chance.randrange(8)}", "", cpu="1")
            made["spec"]["workloadRef"] = {"name": "w", "podGroup": chance.choice("tu")}
            return made
        name, on = f"p{chance.randrange(8)}", chance.choice(["", "", *NODES, "unknown"])
        made = pod(name, chance.choice(["", *GROUPS]), cpu=chance.choice(["1", "2", "-1" if chance.random() < 0.1 else "1"]))
        made["spec"] |= {"nodeName": on} if on else {}
        if chance.random() < 0.2:
            made["spec"]["priorityClassName"] = "high"
        if chance.random() < 0.1:
            made["spec"]["containers"][0]["resources"]["requests"][f"example.com/{chance.choice(['gpu', 'nic'])}"] = "1"
        if self.devices and chance.random() < 0.3:
            made["spec"]["resourceClaims"] = [{"name": "r", "resourceClaimName": chance.choice(["k", "l"])}]
        if chance.random() < 0.15:
            made["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": f"c-{name}"}}]
        if chance.random() < 0.1:
            made["status"] = {**made.get("status", {}), "phase": "Succeeded"}
        if chance.random() < 0.1:
            made["status"] = {**made.get("status", {}), "nominatedNodeName": chance.choice(NODES)}
        return made

    def a_podgroup(self) -> Json:
        made = leaf(self.chance.choice(GROUPS), self.chance.choice([1, 2]), priority=self.chance.choice([None, 5]))
        if made["spec"].get("priority") is None:
            made["spec"].pop("priority", None)
        if self.chance.random() < 0.1:
            made["spec"] = "nonsense"
        made["metadata"].setdefault("namespace", "default")
        return made

    def a_workload(self) -> Json:
        if self.retired and self.chance.random() < 0.7:
            groups = [{"name": "t", "policy": {"gang": {"minCount": self.chance.choice([1, 2])}}}, {"name": "u", "policy": {"basic": {}}}]
            return {
                "apiVersion": "scheduling.k8s.io/v1alpha1",
                "kind": "Workload",
                "metadata": {"name": "w", "namespace": "default"},
                "spec": {"podGroups": groups[: self.chance.choice([1, 2])]},
            }
        spec: Json = {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"gang": {"minCount": self.chance.choice([1, 2])}}}]}
        return {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": "w", "namespace": "default"},
            "spec": spec if self.chance.random() < 0.8 else 3,
        }

    def a_priorityclass(self) -> Json:
        about = {"name": self.chance.choice(["high", "usual"])}
        return {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": about,
            "value": self.chance.choice([7, 9]),
            "globalDefault": about["name"] == "usual",
        }

    def a_poddisruptionbudget(self) -> Json:
        selector = {"matchLabels": {"app": self.chance.choice("xy")}}
        about = {"name": "b", "namespace": "default"}
        status = {"disruptionsAllowed": self.chance.randrange(3)}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": about,
            "spec": {"selector": selector},
            "status": status,
        }

    def a_namespace(self) -> Json:
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": self.chance.choice("xy")}}}

    def a_service(self) -> Json:
        about = {"name": "s", "namespace": "default"}
        return {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": {"selector": {"app": self.chance.choice("xy")}}}

    def a_storageclass(self) -> Json:
        mode = self.chance.choice(["Immediate", "WaitForFirstConsumer"])
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": "csi.example",
            "volumeBindingMode": mode,
        }

    def a_persistentvolumeclaim(self) -> Json:
        about = {"name": f"c-p{self.chance.randrange(8)}", "namespace": "default"}
        spec = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        if self.chance.random() < 0.5:
            spec |= {"volumeName": "v"}
            about |= {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about, "spec": spec}

    def a_deviceclass(self) -> Json:
        zone = self.chance.choice(["a", "b"])
        return device_class(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].zone == "{zone}"'}}])

    def a_resourceslice(self) -> Json:
        return device_slice(
            self.chance.choice(NODES[:2]), device("d", {"zone": self.chance.choice("ab")}), count=self.chance.choice([1, 2])
        )

    def a_resourceclaim(self) -> Json:
        made = resource_claim(self.chance.choice("kl"), request(device_class=self.chance.choice([CLASS, "none"])))
        return made if self.chance.random() < 0.9 else {**made, "spec": 3}

    def a_persistentvolume(self) -> Json:
        where = [{"key": "rack", "operator": "In", "values": [self.chance.choice("ab")]}]
        spec: Json = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": where}]}}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}


def comparable(snapshot: ClusterSnapshot) -> Json:
    """Return what placement reads of *snapshot*; rows by name, without those of resources that no node has and no pod requests."""
    table = snapshot.nodes
    rows = {name: table.allocatable[row].tolist() for row, name in enumerate(table.resources)}
    requested = {table.resources[row] for pod in snapshot.pods for row, _ in pod.shape.charges}

    def shape(each: Json) -> Json:
        named = [[(table.resources[row], amount) for row, amount in each[part]] for part in ("requests", "unchecked")]
        return {**each, "serial": 0, "requests": sorted(named[0]), "unchecked": sorted(named[1])}

    pods = [msgspec.to_builtins(each) for each in snapshot.pods]
    return {
        "nodes": [table.names, table.labels, table.taints, table.unschedulable.tolist(), table.kept],
        "rows": {name: amounts for name, amounts in rows.items() if any(amounts) or name in requested},
        "pods": [{**each, "shape": shape(each["shape"])} for each in pods],
        "groups": [snapshot.groups, dict(snapshot.priorities), snapshot.budgets],
        "others": [snapshot.namespaces, snapshot.volumes.claims, snapshot.volumes.volumes, snapshot.volumes.classes],
        "known": {
            kind: sorted(each.metadata.name for each in snapshot.known.list_kind(kind) or ())
            for kind in ("Node", "PodGroup", "Workload", "PriorityClass")
        },
        "desired": dict(snapshot.desired),
        "devices": repr(snapshot.devices and (snapshot.devices.slices, snapshot.devices.claims, snapshot.devices.resources)),
        "problems": snapshot.problems,
    }


@pytest.mark.parametrize("seed", range(sampled(400, share=8)))
def test_a_snapshot_is_that_of_the_objects_that_are_left(seed):
    objects = Objects(seed)
    first = [*objects.present.values()]
    cluster = cluster_of(first)
    untouched = comparable(cluster.snapshot())
    for _ in range(3):
        fork = cluster.fork()
        before = dict(objects.present)
        for _ in range(objects.chance.randrange(1, 4)):
            if objects.chance.random() < 0.3:
                fork.remove(*objects.take())
            else:
                fork.apply(objects.put())
        want, result = comparable(load([*objects.present.values()])), comparable(fork.snapshot())
        if not fork.builds_anew:
            del want["problems"], result["problems"]
        assert want == result
        # What a fork changes, the cluster does not see.
        assert untouched == comparable(cluster.snapshot())
        objects.present = before


def test_most_changes_share_the_snapshot_before():
    built = Counter[bool]()
    for seed in range(100):
        objects = Objects(1000 + seed)
        cluster = cluster_of([*objects.present.values()])
        cluster.apply(objects.put())
        built[cluster.builds_anew] += 1
    assert min(built.values()) > 20, built
