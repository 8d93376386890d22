"""Random situations of Kueue's topologies: a ClusterQueue whose flavor has one, its nodes, and one Workload that asks for domains of it."""

from __future__ import annotations

import random

from tests.cluster.random_quotas import API, CPU, GPU, NAMESPACE, Json, condition, template

BLOCK, RACK, HOST = "cloud/block", "cloud/rack", "kubernetes.io/hostname"
_LEVELS = ((BLOCK, RACK, HOST), (BLOCK, RACK, HOST), (BLOCK, RACK), (RACK, HOST))
_POOL = {"cloud/pool": "gpu"}


class TopologyDrawing:
    """One situation as it is drawn from *seed*.  There is mostly enough quota, so that the nodes decide."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.name = f"seed-{seed}"
        self.levels = self.random.choice(_LEVELS)
        self.nodes: list[Json] = []

    def situation(self) -> Json:
        """Return the situation: its ``objects`` and the waiting ``workload``."""
        self._draw_nodes()
        levels = [{"nodeLabel": each} for each in self.levels]
        flavors = [_object("ResourceFlavor", "gpu", nodeLabels=_POOL, **({} if self._chance(0.03) else {"topologyName": "fabric"}))]
        if self._chance(0.3):
            flavors.insert(self.random.randint(0, 1), _object("ResourceFlavor", "plain"))
        quotas = [
            {
                "name": flavor["metadata"]["name"],
                "resources": [{"name": GPU, "nominalQuota": self._quota()}, {"name": CPU, "nominalQuota": "900"}],
            }
            for flavor in flavors
        ]
        groups = [{"coveredResources": [GPU, CPU], "flavors": quotas}]
        objects: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
        if not self._chance(0.04):
            objects.append(_object("Topology", "fabric", levels=levels))
        objects += [*flavors, _object("ClusterQueue", "mine", namespaceSelector={}, resourceGroups=groups)]
        objects.append(_object("LocalQueue", "lq-mine", NAMESPACE, clusterQueue="mine"))
        objects += [*self.nodes, *(self._admitted(number) for number in range(self.random.choice((0, 0, 1, 2))))]
        return {"name": self.name, "gates": {}, "objects": objects, "workload": self._workload()}

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _quota(self) -> str:
        return "900" if self._chance(0.85) else str(self.random.randint(2, 12))

    def _draw_nodes(self) -> None:
        for block in range(self.random.randint(1, 3)):
            for rack in range(self.random.randint(1, 3)):
                for host in range(self.random.randint(1, 3)):
                    self.nodes.append(self._node(f"b{block}", f"b{block}r{rack}", f"b{block}r{rack}h{host}"))

    def _node(self, block: str, rack: str, name: str) -> Json:
        labels = {**_POOL, BLOCK: block, RACK: rack, HOST: name}
        spec: Json = {}
        ready = True
        draw = self.random.random()
        if draw < 0.04:
            del labels[self.random.choice(self.levels[:-1])]
        elif draw < 0.08:
            spec["taints"] = [{"key": "repair", "effect": self.random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))}]
        elif draw < 0.1:
            spec["unschedulable"] = True
        elif draw < 0.12:
            ready = False
        elif draw < 0.16:
            labels["cloud/pool"] = "cpu"
        allocatable = {GPU: str(self.random.choice((2, 4, 4, 8))), CPU: str(self.random.choice((6, 16, 32))), "pods": "110"}
        status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": str(ready)}]}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    def _admitted(self, number: int) -> Json:
        """A Workload with one pod or few in one domain of the lowest level; with hosts in the topology only they are named."""
        labels = self.random.choice(self.nodes)["metadata"]["labels"]
        levels = [HOST] if self.levels[-1] == HOST else [*self.levels]
        count = self.random.randint(1, 3)
        values = [{"universal": labels.get(each, "b0")} for each in levels]
        domains = {"levels": levels, "slices": [{"domainCount": 1, "valuesPerLevel": values, "podCounts": {"universal": count}}]}
        usage = {GPU: str(count), CPU: str(count)}
        assignment = {
            "name": "main",
            "count": count,
            "flavors": {GPU: "gpu", CPU: "gpu"},
            "resourceUsage": usage,
            "topologyAssignment": domains,
        }
        conditions = [condition("QuotaReserved", True, "QuotaReserved"), condition("Admitted", True, "Admitted")]
        pods = {"name": "main", "count": count, "template": _pods({GPU: "1", CPU: "1"}), "topologyRequest": {"unconstrained": True}}
        made = _object("Workload", f"running-{number}", NAMESPACE, queueName="lq-mine", podSets=[pods])
        made["metadata"]["uid"] = f"uid-{number}"
        made["status"] = {"admission": {"clusterQueue": "mine", "podSetAssignments": [assignment]}, "conditions": conditions}
        return made

    def _workload(self) -> Json:
        count = self.random.choice((1, 2, 3, 4, 6, 8, 12, 16))
        request = self._request(count)
        pod_sets = [self._pod_set("workers", count, request)]
        if self._chance(0.25):
            if self._chance(0.5) and "podSetSliceSize" not in request and "unconstrained" not in request and request:
                request["podSetGroupName"] = "ring"
                pod_sets.insert(self.random.randint(0, 1), self._pod_set("leader", 1, dict(request)))
            else:
                count = self.random.choice((1, 2, 4))
                pod_sets.append(self._pod_set("extra", count, self._request(count)))
        made = _object("Workload", "waiting", NAMESPACE, queueName="lq-mine", podSets=pod_sets)
        made["metadata"]["uid"] = "uid-waiting"
        return made

    def _pod_set(self, name: str, count: int, request: Json) -> Json:
        requests = {GPU: str(self.random.choice((1, 1, 2, 4))), CPU: str(self.random.choice((1, 2, 6)))}
        pods = _pods(requests)
        if self._chance(0.15):
            pods["spec"]["tolerations"] = [{"key": "repair", "operator": "Exists"}]
        if self._chance(0.06):
            pods["spec"]["nodeSelector"] = {self.levels[0]: "b0"}
        return {"name": name, "count": count, "template": pods, **({"topologyRequest": request} if request else {})}

    def _request(self, count: int) -> Json:
        """A request of a topology for *count* pods.  The size of slices divides it: Kueue leaves the rest without a place."""
        draw = self.random.random()
        level = self.random.choice(self.levels)
        request: Json = (
            {"required": level} if draw < 0.5 else {"preferred": level} if draw < 0.7 else {"unconstrained": True} if draw < 0.8 else {}
        )
        if draw < 0.03:
            request = {"required": "cloud/row"}
        if 0.03 < draw < 0.85 and self._chance(0.35):
            request["podSetSliceRequiredTopology"] = self.random.choice(self.levels)
            request["podSetSliceSize"] = self.random.choice([size for size in (1, 2, 3, 4, 6) if count % size == 0])
        return request


def _pods(requests: Json) -> Json:
    return template([{"requests": requests, "limits": requests}])


def _object(kind: str, name: str, namespace: str = "", **spec: object) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}
