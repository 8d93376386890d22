"""Random clusters with affinity terms, other namespaces, owners of pods and taints, and random profiles for them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.cluster.groups import LABEL
from tests.cluster.kubelet import pod
from tests.cluster.random_clusters import FEATURES as OTHERS
from tests.cluster.random_clusters import HOSTNAME, ZONE, Drawing
from tests.cluster.resources import Manifest
from tests.cluster.scheduler_configs import Json, valid_profile

FEATURES = ("required", "preferred", "apart", "avoided", "namespaces", "owner", "taints")
"""Features about other pods and about nodes; clusters have some of these, and can have those with volumes too."""
TEAM = {"team": "own"}
"""Labels of the namespace of the root."""
_KEYS = (HOSTNAME, ZONE, LABEL)
_OWNERS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}
FILTERS = (
    *(
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeZone",
    ),
    *("VolumeBinding", "PodTopologySpread", "InterPodAffinity"),
)
SCORES = ("PodTopologySpread", "InterPodAffinity", "NodeAffinity", "TaintToleration", "ImageLocality", "NodeResourcesBalancedAllocation")


class AffinityDrawing(Drawing):
    """One cluster whose pending pods have terms about other pods, also of another namespace, or an owner."""

    drawn_from: Sequence[str] = FEATURES

    def __init__(self, seed: int, namespace: str, features: Sequence[str] | None = None, scheduler: str = "default-scheduler") -> None:
        super().__init__(seed, namespace, features, scheduler)
        if features is None and self.random.random() < 0.5:
            self.features = tuple(sorted({*self.features, self.random.choice(OTHERS)}))
        self.other = f"{namespace}-other"

    def _nodes(self) -> None:
        super()._nodes()
        for each in self.nodes if "taints" in self.features else ():
            if self.random.random() < 0.5:
                effect = self.random.choice(("NoSchedule", "PreferNoSchedule"))
                each["spec"] = {"taints": [{"key": self.random.choice("ab"), "value": "x", "effect": effect}]}
        if "owner" in self.features:
            self._own_pods()
        if "namespaces" in self.features:
            metadata = {"name": self.other, "labels": {"team": self.random.choice(("own", "other"))}}
            self.shared.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            for number in range(self.random.randint(1, 4)):
                on = self.random.choice(self.nodes)["metadata"]["name"]
                # Pods of the other namespace are no victims.
                spec = {"nodeName": on, "schedulerName": self.scheduler, **self._priority()}
                labels = {"app": self.random.choice("ab")}
                self.present.append(pod(f"o{number}", self.other, spec=spec, labels=labels, cpu=f"{self.random.randint(100, 900)}m"))

    def _lodger(self, on: str, name: str) -> Manifest:
        made = super()._lodger(on, name)
        if "avoided" in self.features and self.random.random() < 0.3:
            kind = self.random.choice(("required", "preferred"))
            made["spec"]["affinity"] = {"podAntiAffinity": self._terms(kind)}
        return made

    def _own_pods(self) -> None:
        """A controller whose pods kube-scheduler spreads by default: it is the owner of the root's pods."""
        kind = self.random.choice(sorted(_OWNERS))
        labels, plain = {"app": "a"}, kind == "ReplicationController"
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}}
        spec: Manifest = {"replicas": 0, "selector": labels if plain else {"matchLabels": labels}, "template": template}
        if kind == "StatefulSet":
            spec["serviceName"] = "a"
        metadata = {"name": "owner", "namespace": self.namespace}
        self.present.append({"apiVersion": _OWNERS[kind], "kind": kind, "metadata": metadata, "spec": spec})
        self.owner = {"apiVersion": _OWNERS[kind], "kind": kind, "name": "owner", "uid": "no-uid", "controller": True}

    def _pods(self, groups: list[Manifest]) -> list[Manifest]:
        made = super()._pods(groups)
        sides: Manifest = {}
        for feature, side, kind in (
            ("required", "podAffinity", "required"),
            ("preferred", "podAffinity", "preferred"),
            ("apart", "podAntiAffinity", self.random.choice(("required", "preferred"))),
        ):
            if feature in self.features:
                sides[side] = sides.get(side, {}) | self._terms(kind)
        key = self.random.choice("ab")
        for each in made:
            if sides:
                each["spec"]["affinity"] = sides
            if "taints" in self.features:
                each["spec"]["tolerations"] = [{"key": key, "operator": "Exists"}]
            if "owner" in self.features:
                each["metadata"]["ownerReferences"] = [self.owner]
        return made

    def _terms(self, kind: str) -> Manifest:
        """Return the terms of one side of an affinity: required or preferred ones."""
        term: Manifest = {"topologyKey": self.random.choice(_KEYS), "labelSelector": {"matchLabels": {"app": self.random.choice("ab")}}}
        if "namespaces" in self.features:
            term["namespaceSelector"] = (
                {"matchLabels": {"team": self.random.choice(("own", "other"))}} if self.random.random() < 0.8 else {}
            )
        if kind == "required":
            return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        weighted = {"weight": self.random.randint(1, 100), "podAffinityTerm": term}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}


def placing_profile(seed: int) -> Json:
    """Return a profile p{seed} for the cluster drawn from *seed*, of which everything is modelled."""
    chance, prefix = random.Random(f"profile {seed}"), f"s{seed}"
    profile = valid_profile(chance, profile_name(seed))
    args, sets = {each["name"]: each["args"] for each in profile["pluginConfig"]}, profile["plugins"]
    if chance.random() < 0.5:
        args["PodTopologySpread"] = {"defaultingType": "List", "defaultConstraints": [_constraint(chance)]}
    if chance.random() < 0.5:
        args["NodeAffinity"] = {"addedAffinity": _added(chance, prefix)}
    if chance.random() < 0.3:
        args["InterPodAffinity"]["ignorePreferredTermsOfExistingPods"] = True
    known = {each["name"] for each in (*sets["score"]["enabled"], *sets["score"]["disabled"])}
    sets["score"]["enabled"] += [
        {"name": each, "weight": chance.randint(1, 9)} for each in SCORES if each not in known and chance.random() < 0.3
    ]
    if chance.random() < 0.4:
        sets["filter"] = {"disabled": [{"name": each} for each in chance.sample(FILTERS, chance.randint(1, 2))]}
    if chance.random() < 0.3:
        placing = [{"name": each, "weight": chance.randint(1, 9)} for each in ("NodeResourcesFit", "PodGroupPodsCount")]
        sets["placementScore"] = {"enabled": placing} if chance.random() < 0.5 else {"disabled": [chance.choice(placing)]}
    for point in ("postFilter", "podGroupPostFilter"):
        if chance.random() < 0.1:
            sets[point] = {"disabled": [{"name": "DefaultPreemption"}]}
    if chance.random() < 0.2:
        # Its score must not be enabled elsewhere: kube-scheduler fails without preScore.
        named = {each["name"] for each in sets["score"]["enabled"]}
        without = [each for each in ("ImageLocality", "NodeResourcesBalancedAllocation", "InterPodAffinity") if each not in named]
        sets["multiPoint"] = {"disabled": [{"name": each} for each in without[:1]]}
    return {**profile, "pluginConfig": [{"name": plugin, "args": each} for plugin, each in args.items()]}


def profile_name(seed: int) -> str:
    """Return the schedulerName of the profile for the cluster drawn from *seed*."""
    return f"profile-{seed}"


def _constraint(chance: random.Random) -> Json:
    action = chance.choice(("ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"))
    return {"maxSkew": chance.randint(1, 3), "topologyKey": chance.choice(_KEYS), "whenUnsatisfiable": action}


def _added(chance: random.Random, prefix: str) -> Json:
    """Return an added affinity: one rack is excluded, or nodes of a zone are preferred, or both."""
    excluded = {"matchExpressions": [{"key": LABEL, "operator": "NotIn", "values": [f"{prefix}-r{chance.randint(0, 2)}"]}]}
    preference = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"{prefix}-z{chance.randint(0, 1)}"]}]}
    both: Json = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [excluded]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": chance.randint(1, 100), "preference": preference}],
    }
    return both if chance.random() < 0.4 else dict([chance.choice(list(both.items()))])
