"""Random situations of Kueue's quotas: queues, cohorts and flavors with their usage, and one Workload that waits.

A situation is what the program ``assets/kueue`` reads.  It is small enough to be read, and most of its quantities are multiples of few units, so
that many are just enough.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "team"
CPU, MEMORY, GPU, PODS, DISK = "cpu", "memory", "nvidia.com/gpu", "pods", "ephemeral-storage"
UNITS = {CPU: 500, MEMORY: 256, GPU: 1, PODS: 1, DISK: 256}
"""The step of the quantities of each resource: thousandths of a core, Mi, or pieces."""
_GROUPS: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((CPU,),),
    ((CPU, MEMORY),),
    ((GPU,),),
    ((CPU, MEMORY, PODS),),
    ((CPU, MEMORY), (GPU,)),
    ((CPU, PODS), (GPU,)),
    ((CPU, MEMORY, GPU),),
)
_FLAVORS = (("on-demand", "spot", "reserved"), ("h100", "a100", "l4"))
_COHORTS: tuple[Json, ...] = (
    {},
    {"all": ""},
    {"all": ""},
    {"all": "", "ml": "all", "web": "all"},
    {"all": "", "ml": "all", "vision": "ml", "web": "all"},
    {"all": "", "ml": "all", "vision": "ml", "speech": "ml"},
)
"""Parents of cohorts by their names."""
_POOL, _ZONE, _TAINT = "cloud/pool", "cloud/zone", "reserved-for"
_PRIORITIES = (0, 0, 10, 100)


def quantity(resource: str, amount: int) -> str:
    """Return *amount*, in the measure of UNITS, as people write it."""
    if resource == CPU:
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if resource in (MEMORY, DISK):
        return f"{amount // 1024}Gi" if amount % 1024 == 0 and amount else f"{amount}Mi" if amount else "0"
    return str(amount)


class QuotaDrawing:
    """One situation as it is drawn from *seed*."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.name = f"seed-{seed}"
        self.groups = self.random.choice(_GROUPS)
        self.flavors = [_FLAVORS[number][: self.random.randint(1, 3)] for number in range(len(self.groups))]
        self.parents: dict[str, str] = dict(self.random.choice(_COHORTS))
        self.queues: dict[str, Json] = {}
        self.cyclic = len(self.parents) > 1 and self._chance(0.02)
        """Whether the root is below another cohort.  Kueue has an endless recursion if a Workload has quota there."""

    def situation(self) -> Json:
        """Return the situation: its ``objects``, the waiting ``workload``, and the feature ``gates`` that are not as they are by default."""
        others = self.random.randint(1, 3) if self.parents else self.random.randint(0, 1)
        for name in ("mine", "theirs", "others", "more")[: 1 + others]:
            self.queues[name] = self._queue(name)
        objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {"team": "a"}}}]
        objects += [each for names in self.flavors for name in names if (each := self._flavor(name))]
        objects += [each for name in self.parents if (each := self._cohort(name))]
        objects += [*self.queues.values(), *self._checks(), *self._local_queues(), *self._limit_ranges()]
        for name in () if self.cyclic else self.queues:
            for number in range(self.random.choice((0, 1, 2, 2, 3))):
                objects.append(self._admitted(f"{name}-{number}", name))
        gates = {"PartialAdmission": False} if self._chance(0.03) else {}
        return {"name": self.name, "gates": gates, "objects": objects, "workload": self._workload()}

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _amount(self, resource: str, lowest: int = 0, highest: int = 10) -> int:
        return UNITS[resource] * self.random.randint(lowest, highest)

    def _flavor(self, name: str) -> Json | None:
        if self._chance(0.01):
            return None
        spec: Json = {}
        if self._chance(0.6):
            spec["nodeLabels"] = {_POOL: name} | ({_ZONE: self.random.choice("ab")} if self._chance(0.3) else {})
        if self._chance(0.2):
            effect = self.random.choice(("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"))
            spec["nodeTaints"] = [{"key": _TAINT, "value": self.random.choice(("batch", "web")), "effect": effect}]
            if self._chance(0.3):
                spec["tolerations"] = [{"key": _TAINT, "operator": "Exists"}]
        return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}

    def _resource_groups(self, limited: bool, rich: bool) -> list[Json]:
        """Quotas of all groups; *limited* says whether they may have limits, and *rich* how likely a quota is not zero."""
        result = []
        for resources, flavors in zip(self.groups, self.flavors, strict=True):
            names = [*flavors]
            if self._chance(0.15):
                self.random.shuffle(names)
            if len(names) > 1 and self._chance(0.15):
                names.pop()
            quotas = [{"name": name, "resources": [self._quota(each, limited, rich) for each in resources]} for name in names]
            result.append({"coveredResources": [*resources], "flavors": quotas})
        return result

    def _quota(self, resource: str, limited: bool, rich: bool) -> Json:
        nominal = self._amount(resource, 2 if rich else 0) if self._chance(0.85 if rich else 0.4) else 0
        result: Json = {"name": resource, "nominalQuota": quantity(resource, nominal)}
        if limited and self._chance(0.25):
            result["borrowingLimit"] = quantity(resource, self._amount(resource, 0, 6))
        if limited and self._chance(0.3):
            result["lendingLimit"] = quantity(resource, UNITS[resource] * self.random.randint(0, nominal // UNITS[resource]))
        return result

    def _cohort(self, name: str) -> Json | None:
        """The object of a cohort; a root without quotas may have none, as its name is enough."""
        parent = self.parents[name]
        spec: Json = {"parentName": parent} if parent else {}
        if not parent and self.cyclic:
            spec["parentName"] = self.random.choice([each for each in self.parents if each != name])
        if self._chance(0.45):
            spec["resourceGroups"] = self._resource_groups(bool(spec), rich=False)
        elif not parent and not spec and self._chance(0.6):
            return None
        return {"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}

    def _queue(self, name: str) -> Json:
        cohort = self.random.choice([*self.parents]) if self.parents and self._chance(0.95) else ""
        mine = name == "mine"
        spec: Json = {"namespaceSelector": self._selector() if mine else {}}
        if cohort:
            spec["cohortName"] = cohort
        if self._chance(0.97):
            spec["resourceGroups"] = self._resource_groups(bool(cohort), rich=True)
        if self._chance(0.03 if mine else 0.1):
            spec["stopPolicy"] = self.random.choice(("Hold", "HoldAndDrain"))
        if self._chance(0.75):
            spec["preemption"] = self._preemption()
        if self._chance(0.6):
            spec["flavorFungibility"] = self._fungibility()
        if mine and self._chance(0.05):
            only = {"onFlavors": [self.flavors[0][0]]} if self._chance(0.3) else {}
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": "capacity", **only}]}
        return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}

    def _selector(self) -> Json | None:
        if self._chance(0.9):
            return {}
        return self.random.choice(({"matchLabels": {"team": "a"}}, {"matchLabels": {"team": "b"}}, None))

    def _preemption(self) -> Json:
        result: Json = {}
        if self._chance(0.7):
            result["withinClusterQueue"] = self.random.choice(("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"))
        if self._chance(0.7):
            result["reclaimWithinCohort"] = self.random.choice(("Never", "LowerPriority", "Any", "Any"))
        if result.get("reclaimWithinCohort", "Never") != "Never" and self._chance(0.4):
            result["borrowWithinCohort"] = {"policy": self.random.choice(("LowerPriority", "LowerPriority", "Never"))}
            if self._chance(0.4):
                result["borrowWithinCohort"]["maxPriorityThreshold"] = self.random.choice((0, 10))
        return result

    def _fungibility(self) -> Json:
        result = {
            "whenCanBorrow": self.random.choice(("MayStopSearch", "TryNextFlavor")),
            "whenCanPreempt": self.random.choice(("MayStopSearch", "TryNextFlavor")),
        }
        if {*result.values()} == {"TryNextFlavor"} and self._chance(0.5):
            result["preference"] = self.random.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
        return result

    def _checks(self) -> list[Json]:
        if "admissionChecksStrategy" not in self.queues["mine"]["spec"] or self._chance(0.3):
            return []
        conditions = [condition("Active", self._chance(0.6), "Active")]
        spec = {"controllerName": "example.com/capacity"}
        return [
            {
                "apiVersion": API,
                "kind": "AdmissionCheck",
                "metadata": {"name": "capacity"},
                "spec": spec,
                "status": {"conditions": conditions},
            }
        ]

    def _local_queues(self) -> list[Json]:
        result = []
        for name in self.queues:
            metadata = {"name": f"lq-{name}", "namespace": NAMESPACE}
            spec: Json = {"clusterQueue": "gone" if name == "mine" and self._chance(0.01) else name}
            if name == "mine" and self._chance(0.02):
                spec["stopPolicy"] = self.random.choice(("Hold", "HoldAndDrain"))
            result.append({"apiVersion": API, "kind": "LocalQueue", "metadata": metadata, "spec": spec})
        return result

    def _limit_ranges(self) -> list[Json]:
        """A LimitRange as the API server stores it: it sets absent defaults from each other, and from the bounds."""
        if not self._chance(0.04):
            return []
        key, amount = self.random.choice((("defaultRequest", 500), ("default", 1000), ("max", 2000), ("min", 500)))
        bounds = {"max": ("max", "default", "defaultRequest"), "min": ("min", "defaultRequest"), "default": ("default", "defaultRequest")}
        limits = [{"type": "Container", **{each: {CPU: quantity(CPU, amount)} for each in bounds.get(key, (key,))}}]
        return [{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "r", "namespace": NAMESPACE}, "spec": {"limits": limits}}]

    def _admitted(self, name: str, queue: str) -> Json:
        """A Workload that has quota, or had it, or seems to; its usage need not agree with its pods, as only the assignment counts."""
        count = self.random.randint(1, 3)
        flavors, usage = {}, {}
        for group in self.queues[queue]["spec"].get("resourceGroups", ()):
            if len(self.groups) > 1 and self._chance(0.3):
                continue
            flavor = self.random.choice(group["flavors"])
            for each in group["coveredResources"]:
                flavors[each] = flavor["name"]
                usage[each] = quantity(each, count * (1 if each == PODS else self._amount(each, 0, 4)))
        assignment = {"name": "main", "count": count, "flavors": flavors, "resourceUsage": usage}
        conditions = [
            condition("QuotaReserved", True, "QuotaReserved", self._minute()),
            condition("Admitted", True, "Admitted", self._minute()),
        ]
        status: Json = {"admission": {"clusterQueue": queue, "podSetAssignments": [assignment]}, "conditions": conditions}
        spec: Json = {
            "queueName": f"lq-{queue}",
            "priority": self.random.choice(_PRIORITIES),
            "podSets": [{"name": "main", "count": count, "template": template([{}])}],
        }
        self._end(spec, status, count)
        metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "creationTimestamp": self._minute()}
        return {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec, "status": status}

    def _end(self, spec: Json, status: Json, count: int) -> None:
        """Let some of the admitted Workloads be ended, evicted or partly done."""
        draw = self.random.random()
        if draw < 0.03:
            status["conditions"].append(condition("Finished", True, "JobFinished"))
        elif draw < 0.05:
            spec["active"] = False
        elif draw < 0.08:
            status["conditions"][0]["status"] = "False"
        elif draw < 0.12:
            status["conditions"].append(condition("Evicted", True, "Preempted"))
        elif draw < 0.18 and count > 1:
            status["reclaimablePods"] = [{"name": "main", "count": 1}]

    def _minute(self) -> str:
        return f"2026-01-01T10:{self.random.randint(0, 59):02}:00Z"

    def _workload(self) -> Json:
        sets = 1 if self._chance(0.75) else self.random.randint(2, 3)
        spec: Json = {
            "queueName": "lq-none" if self._chance(0.01) else "lq-mine",
            "priority": self.random.choice((0, 10, 100, 100)),
            "podSets": [self._pod_set(name, sets) for name in ("main", "workers", "extra")[:sets]],
        }
        if self._chance(0.2):
            varied = self.random.choice(spec["podSets"])
            varied["minCount"] = self.random.randint(1, varied["count"])
        metadata = {"name": "waiting", "namespace": NAMESPACE, "uid": "uid-waiting", "creationTimestamp": self._minute()}
        return {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec}

    def _pod_set(self, name: str, sets: int) -> Json:
        """A set that asks only for 0 of a resource without quotas is not drawn: Kueue takes no later set into account, and may panic."""
        count = self.random.choice((1, 1, 2, 3, 4, 6))
        share = count * sets
        wanted = [each for resources in self.groups for each in resources if each != PODS and self._chance(0.85)]
        scale = self.random.choice((2, 3, 4, 6, 8, 10, 16))
        amounts = {each: UNITS[each] * max(1, self.random.randint(scale // 2, scale) // share) for each in wanted}
        if amounts and self._chance(0.04):
            amounts[self.random.choice((DISK, GPU, MEMORY))] = self.random.choice((0, 256))
        pods = template(self._containers({each: quantity(each, amount) for each, amount in amounts.items()}))
        self._vary_pod(pods["spec"])
        self._place(pods["spec"])
        return {"name": name, "count": count, "template": pods}

    def _containers(self, requests: Json) -> list[Json]:
        """Resources of the containers: requests, or limits in their stead, or limits that are too low."""
        draw = self.random.random()
        if draw < 0.12:
            return [{"limits": requests}]
        if draw < 0.14:
            return [{"requests": requests, "limits": dict.fromkeys(requests, "0")}]
        if draw < 0.2:
            return [{"requests": requests}, {"requests": self._covered({CPU: "300m", GPU: "1"})}]
        return [{"requests": requests}] if requests else [{}]

    def _vary_pod(self, spec: Json) -> None:
        draw = self.random.random()
        requests = self._covered({CPU: self.random.choice(("1", "2500m")), MEMORY: "1100M", GPU: "2"})
        if draw < 0.06:
            spec["initContainers"] = [{"name": "init", "image": "i", "resources": {"requests": requests}}]
        elif draw < 0.1:
            spec["initContainers"] = [{"name": "side", "image": "i", "restartPolicy": "Always", "resources": {"requests": requests}}]
        elif draw < 0.15:
            spec["overhead"] = self._covered({CPU: "250m", MEMORY: "120Mi"})

    def _covered(self, requests: Json) -> Json:
        """Return the requests of resources that the quotas cover, and seldom others."""
        covered = {each for resources in self.groups for each in resources}
        return {name: value for name, value in requests.items() if name in covered or self._chance(0.05)}

    def _place(self, spec: Json) -> None:
        """Tie the pods to nodes: by labels of flavors, of no flavor, or by an affinity."""
        names = [name for names in self.flavors for name in names]
        draw = self.random.random()
        if draw < 0.1:
            spec["nodeSelector"] = {_POOL: self.random.choice(names)}
        elif draw < 0.13:
            spec["nodeSelector"] = {_ZONE: self.random.choice("ab"), "disk": "ssd"}
        elif draw < 0.23:
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": self._terms(names)}}
            }
        if self._chance(0.3):
            operator: Json = {"operator": "Exists"} if self._chance(0.5) else {"value": self.random.choice(("batch", "web"))}
            spec["tolerations"] = [{"key": _TAINT, **operator}]

    def _terms(self, names: Sequence[str]) -> list[Json]:
        terms = []
        for _ in range(self.random.randint(1, 2)):
            operator = self.random.choice(("In", "In", "NotIn", "Exists", "DoesNotExist"))
            expression: Json = {"key": self.random.choice((_POOL, _POOL, _ZONE, "disk")), "operator": operator}
            if operator in ("In", "NotIn"):
                expression["values"] = [self.random.choice([*names, "a"])]
            terms.append({"matchExpressions": [expression]})
        return terms


def template(resources: Sequence[Json]) -> Json:
    """Return a template of pods whose containers have the given resources."""
    containers = [{"name": f"c{number}", "image": "i", **({"resources": each} if each else {})} for number, each in enumerate(resources)]
    return {"spec": {"containers": containers}}


def condition(kind: str, holds: bool, reason: str, time: str = "2026-01-01T12:00:00Z") -> Json:
    """Return a condition of an object's status."""
    return {"type": kind, "status": str(holds), "reason": reason, "message": "", "lastTransitionTime": time}
