"""Independent checker of certificates: it reads the raw objects and shares no code with their author.

A state is a set of groups, each with its allowed nodes; all must be satisfied together.  A rule checks that a proof shows that a
state has no solution.  ``scheduler_core.exact.certificate.certificate`` documents rules and measures.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

from tests.scheduler_core.exact.certificate.counted_devices import CountedDevices
from tests.scheduler_core.exact.certificate.counted_volumes import CountedVolumes

Json = dict[str, Any]
State = frozenset[tuple[str, frozenset[str]]]
LARGEST = 200_000


def accepts(objects: list[Json], certificate: Json) -> bool:
    """Return true if *certificate* is well-formed and proves its claim."""
    try:
        checker = Checker(objects, certificate)
        return checker.refutes(certificate["proof"], frozenset({(checker.tree[0], frozenset(checker.free))}))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return False


def at(value: Any, *path: str) -> Any:
    """Return the value at *path*; an empty object if there is none."""
    for name in path:
        value = (value or {}).get(name)
    return value or {}


def asked(amounts: Json) -> Counter[str]:
    """Return a quantity in thousandths, rounded up."""
    found = Counter[str]()
    for name, text in amounts.items():
        number = str(text).rstrip("numkKMGTPEi")
        power = "num kMGTPE".index(str(text)[len(number) :][:1].replace("K", "k") or " ") - 3
        found[name] = math.ceil(Fraction(number) * 1000 * Fraction(1024 if str(text).endswith("i") else 1000) ** power)
    return found


def takes(spec: Json) -> Counter[str]:
    """Return requests: the maximum of running and starting containers, or the pod-level request; plus overhead."""
    running, most = Counter[str](), Counter[str]()
    for number, each in enumerate([*at(spec, "initContainers"), *at(spec, "containers")]):
        own = asked({**at(each, "resources", "limits"), **at(each, "resources", "requests")})
        most |= running + own
        running += own if number >= len(at(spec, "initContainers")) or at(each, "restartPolicy") == "Always" else Counter()
    limits, requests = (asked(at(spec, "resources", field)) for field in ("limits", "requests"))
    return Counter({**limits, **most, **requests, "pods": 1000}) + asked(at(spec, "overhead"))


def admits(node: Json, spec: Json) -> bool:
    """Return true if the node may admit the pod; tolerations match every taint of their key, and numeric operators always match."""
    labels, keys = at(node, "metadata", "labels"), {each.get("key", "") for each in at(spec, "tolerations")}
    taints = {each["key"] for each in at(node, "spec", "taints") if each["effect"] != "PreferNoSchedule"}
    taints |= {"node.kubernetes.io/unschedulable"} if at(node, "spec", "unschedulable") else set()
    fits = []
    for term in at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"):
        told = [(each["operator"], labels.get(each["key"]), at(each, "values")) for each in at(term, "matchExpressions")]
        told += [(each["operator"], node["metadata"]["name"], at(each, "values")) for each in at(term, "matchFields")]
        lacks = {("In", False), ("NotIn", True)}, {("Exists", True), ("DoesNotExist", False)}
        fits.append(not any((word, one in many) in lacks[0] or (word, one is None) in lacks[1] for word, one, many in told))
    return (not fits or any(fits)) and labels.items() >= at(spec, "nodeSelector").items() and ("" in keys or taints <= keys)


class Checker:
    """Root with its free resources.  A measure is a bundle of resources: a pod measures how many bundles it takes."""

    def __init__(self, objects: list[Json], certificate: Json) -> None:
        told, able = certificate["root"], dict[str, frozenset[str]]()
        named = {(each["kind"], at(each, "metadata", "namespace") or "default", each["metadata"]["name"]): each for each in objects}
        nodes = {name: each for (kind, _, name), each in named.items() if kind == "Node"}
        volumes, devices = CountedVolumes(named, certificate), CountedDevices(named, certificate)
        self.specs = {f"{kind}/{name}": at(each, "spec") for (kind, space, name), each in named.items() if space == told["namespace"]}
        self.labels = {name: at(each, "metadata", "labels") | {"": ""} | devices.levels(name) for name, each in nodes.items()}
        self.free = {name: asked(at(each, "status", "allocatable") or at(each, "status", "capacity")) for name, each in nodes.items()}
        self.free = {name: each | volumes.has(nodes[name]) | devices.has(nodes[name]) for name, each in self.free.items()}
        self.key = {name: [*at(spec, "schedulingConstraints", "topology"), {"key": ""}][0]["key"] for name, spec in self.specs.items()}
        self.children, self.running, self.waiting = ({name: list[Any]() for name in self.specs} for _ in range(3))
        for name, spec in self.specs.items():
            self.children.get(f"CompositePodGroup/{spec.get('parentCompositePodGroupName')}", []).append(name)
        self.tree, self.proved = self.below(f"{told['kind']}/{told['name']}"), dict[object, State]()
        for (kind, space, name), pod in named.items():
            if kind == "Pod" and at(pod, "status", "phase") not in ("Succeeded", "Failed"):
                spec, owner, more = pod["spec"], at(pod, "spec", "schedulingGroup", "podGroupName"), volumes.takes(pod) + devices.takes(pod)
                group = f"PodGroup/{owner}" if owner else f"Pod/{name}"
                own = space == told["namespace"] and group in self.tree
                node = spec.get("nodeName") or ("" if own else certificate["beside"].get(f"{space}/{name}"))
                if node in nodes and (own or not certificate["empty"]):
                    self.free[node] -= takes(spec) + more
                if own and (node in nodes or not (node or at(pod, "metadata", "deletionTimestamp"))):
                    look = repr([spec.get(field) for field in ("nodeSelector", "affinity", "tolerations")])
                    able[look] = able[look] if look in able else frozenset(each for each in nodes if admits(nodes[each], spec))
                    (self.running if node else self.waiting)[group].append(node or (takes(spec) + more, able[look]))

    def below(self, group: str) -> list[str]:
        return [group, *(each for child in self.children[group] for each in self.below(child))]

    def missing(self, group: str) -> int:
        minimum = next(iter(at(self.specs[group], "schedulingPolicy", "gang").values()), 1)
        return int(minimum) - len(self.running[group]) - sum(self.missing(child) <= 0 for child in self.children[group])

    def least(self, group: str, measure: Json) -> int:
        parts = [min(takes[name] // size for name, size in measure.items()) for takes, _ in self.waiting[group]]
        parts += [self.least(child, measure) for child in self.children[group] if self.missing(child) > 0]
        return sum(sorted(parts)[: max(0, self.missing(group))])

    def domains(self, key: str, place: frozenset[str]) -> dict[str, frozenset[str]]:
        values = {self.labels[node].get(key) for node in place} - {None}
        return {value: frozenset(node for node in place if self.labels[node].get(key) == value) for value in values}

    def refutes(self, proof: Json, state: State) -> bool:
        state = frozenset(each for each in state if each[0] in proof.get("only", [each[0]]))
        if proof["rule"] == "known":
            return all(any(group == other and place <= wide for group, place in state) for other, wide in self.proved[proof["number"]])
        refuted = {"ways": self.ways, "room": self.room}[proof["rule"]](proof, state)
        self.proved[proof.get("number")] = state
        return refuted

    def ways(self, proof: Json, state: State) -> bool:
        """Yield each domain that a group may have; once it has one, each quorum of its children."""
        ((group, place),) = (each for each in state if each[0] == proof["group"])
        pins = {self.labels[node].get(self.key[group]) for each in self.below(group) for node in self.running[each]}
        ways = {value: {(group, where)} for value, where in self.domains(self.key[group], place).items() if pins <= {value}}
        if [*ways.values()] == [{(group, place)}] and len(self.waiting[group]) < self.missing(group):
            able = sorted(child for child in self.children[group] if self.missing(child) > 0)
            ways = {" ".join(each): {(child, place) for child in each} for each in itertools.combinations(able, self.missing(group))}
        told = proof["each"].items()
        return proof["each"].keys() == ways.keys() and all(self.refutes(then, state - {(group, place)} | ways[way]) for way, then in told)

    def room(self, proof: Json, state: State) -> bool:
        """Check that demand exceeds capacity: groups need a domain of the key each, pods without a key a node each."""
        measure, key = proof["measure"], proof["key"]
        size, place = proof["size"] if key else 1, frozenset[str]().union(*(where for _, where in state))
        pods = [pod for group, _ in state for each in self.below(group) for pod in self.waiting[each]]
        usable = place & frozenset[str]().union(*(able for _, able in pods))
        free = {node: min(self.free[node][name] // each for name, each in measure.items()) for node in usable}
        needs = {group: self.least(group, measure) // size for group, where in state if not key or (where, key) == (place, self.key[group])}
        parts = list(needs.values()) if key else [min(takes[name] // each for name, each in measure.items()) for takes, _ in pods]
        needed, sums, rooms = sum(needs.values()), 1, list[int]()
        for domain in self.domains(key, place).values() if key else [{node} for node in usable]:
            others = sum(self.least(group, measure) for group, where in state if group not in needs and where <= domain)
            rooms.append(min(needed, max(0, sum(free.get(node, 0) for node in domain) - others) // size))
        for part in parts:
            sums |= (sums << part) & ((2 << min(needed, LARGEST)) - 1)
        found = sum((sums & ((2 << room) - 1)).bit_length() - 1 for room in rooms)
        return min(size, *measure.values()) > 0 and [needed, found] == [proof["needed"], proof["free"]] and found < needed <= LARGEST
