"""Holds a certificate against the objects of the cluster; it shares nothing with the search that wrote it.

The form of a proof is told in ``scheduler_core.search.certificate``.  A state is what must be met together: groups that are open and
pods that are wanted, each within a set of nodes.  Every rule must show that its state has no solution, with the numbers it gives.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.scheduler_core.certificate.facts import Facts, Nodes
from tests.scheduler_core.oracle.brute import satisfied
from tests.scheduler_core.oracle.model import Group, Objects

Proof = dict[str, Any]
Open = tuple[tuple[str, Nodes], ...]
Wanted = frozenset[tuple[int, Nodes, int]]
LARGEST = 200_000  # remainders of a packing that is tried out


class RefusedError(Exception):
    """The certificate does not prove what it says."""


def require(holds: bool, reason: str) -> None:
    if not holds:
        raise RefusedError(reason)


def check(objects: Objects, certificate: Proof, beside: Mapping[str, str] | None = None) -> None:
    """Accept *certificate* or raise RefusedError; the pods in *beside* were given nodes by roots before it."""
    try:
        checker = Checker(objects, certificate["root"], beside or {})
        checker.state(certificate["proof"], ((checker.root.name, frozenset(checker.free)),), frozenset())
    except (KeyError, StopIteration, TypeError, AttributeError, RecursionError) as error:
        raise RefusedError(f"it names what is not there: {error!r}") from None


class Checker(Facts):
    """The rules; each is given the state that it must refute."""

    def __init__(self, objects: Objects, root: dict[str, str], beside: Mapping[str, str]) -> None:
        super().__init__(objects, root, beside)
        require(not self.root.parent and not satisfied(self.root, self.cluster), "the group is no root, or needs nothing")
        self.proved: dict[int, tuple[Open, Wanted]] = {}

    def state(self, proof: Proof, open_: Open, wanted: Wanted) -> None:
        getattr(self, "by_" + proof["rule"])(proof, open_, wanted)
        if proof["rule"] != "again" and "number" in proof:
            require(self.proved.setdefault(proof["number"], (open_, wanted)) == (open_, wanted), "a number is given twice")

    def by_again(self, proof: Proof, open_: Open, wanted: Wanted) -> None:
        before, pods = self.proved[proof["number"]]
        require(set(before) <= set(open_) and pods == wanted, "it refers to another state")

    def by_sum(self, proof: Proof, open_: Open, wanted: Wanted) -> None:
        nodes, measure = self.within(proof["within"]), self.kind.get(proof["measure"], proof["measure"])
        needed = self.taken(nodes, wanted, measure) + sum(self.least(self.groups[name], measure) for name, place in open_ if place <= nodes)
        told = needed, self.room(nodes, measure)
        require(told == (proof["needed"], proof["free"]) and told[0] > told[1], f"the sums are {told}")

    def by_crowded(self, proof: Proof, open_: Open, wanted: Wanted) -> None:
        nodes, measure, size = self.within(proof["within"]), self.kind.get(proof["measure"], proof["measure"]), max(1, proof["size"])
        here = [self.groups[name] for name, place in open_ if place == nodes and self.groups[name].topology == proof["key"]]
        needs = [need for group in here if (need := self.least(group, measure)) >= size]
        rooms = [self.room(each, measure) - self.taken(each, wanted, measure) for each in self.domains(nodes, proof["key"]).values()]
        able = [room for room in rooms if room >= size]
        told = (len(needs), sum(room // size for room in able)) if "groups" in proof else (sum(needs), sum(able))
        given = (proof["groups"], proof["most"]) if "groups" in proof else (proof["needed"], proof["free"])
        require(told == given and told[0] > told[1], f"the sums are {told}")

    def by_packing(self, proof: Proof, _: Open, wanted: Wanted) -> None:
        nodes, near = self.within(proof["within"]), set[Any]()
        while more := {wish for wish in wanted - near if wish[1] & nodes}:
            near |= more
            nodes = nodes.union(*(place for _, place, _ in more))
        wishes = sorted(near, key=lambda wish: (wish[0], sorted(wish[1])))
        left = {tuple(count for *_, count in wishes)}
        for node in sorted(nodes):
            left = {rest for each in left for rest in self.fillings(node, wishes, each, dict(self.free[node]), 0)}
            require(len(left) <= LARGEST, "the packing is too large to be tried out")
        require(bool(wishes) and all(any(each) for each in left), "the pods can be packed")

    def by_place(self, proof: Proof, open_: Open, wanted: Wanted) -> None:
        name, place = next(each for each in open_ if each[0] == proof["group"])
        group, rest, told = self.groups[name], tuple(each for each in open_ if each[0] != name), proof["domains"]
        domains = self.confined(group, place)
        require(set(domains) == set(told), "a domain is missing, or is none")
        for value in told:
            nodes = domains[value]
            if told[value]["rule"] == "like":
                other = told[value]["value"]
                require(told[other]["rule"] != "like" and self.alike(nodes, domains[other], place, wanted), "the domains are not alike")
            else:
                (self.pods if group.kind == "PodGroup" else self.quorum)(group, told[value], nodes, rest, wanted)

    def pods(self, group: Group, proof: Proof, nodes: Nodes, rest: Open, wanted: Wanted) -> None:
        told = [Counter({self.kind[pod]: count for pod, count in each["pods"].items()}) for each in proof["each"]]
        for more, each in zip(told, proof["each"], strict=True):
            both = Counter({(kind, place): count for kind, place, count in wanted}) + Counter({(kind, nodes): more[kind] for kind in more})
            self.state(each["then"], rest, frozenset((*at, count) for at, count in both.items()))
        kinds, limits = list(self.waiting[group.name]), [range(count + 1) for count in self.waiting[group.name].values()]
        ways = (Counter(dict(zip(kinds, way, strict=True))) for way in itertools.product(*limits) if sum(way) == self.missing(group))
        require(all(way in told for way in ways), "a choice of pods is missing")

    def quorum(self, group: Group, proof: Proof, nodes: Nodes, rest: Open, wanted: Wanted) -> None:
        for name, each in proof["impossible"].items():
            self.state(each, ((name, nodes),), wanted)
        for each in proof["each"]:
            self.state(each["then"], (*((name, nodes) for name in each["children"]), *rest), wanted)
        told = [self.likes(each["children"]) for each in proof["each"]]
        children = [each.name for each in group.children if not satisfied(each, self.cluster) and each.name not in proof["impossible"]]
        require(all(self.likes(names) in told for names in itertools.combinations(children, self.missing(group))), "a quorum is missing")

    def fillings(self, node: str, wishes: list[Any], left: tuple[int, ...], free: dict[Any, int], at: int) -> Iterator[tuple[int, ...]]:
        """What may be left of *left* (from *at* on) once *node* has taken some."""
        if at == len(wishes):
            yield ()
            return
        kind, place, _ = wishes[at]
        amounts = self.shapes[kind].amounts
        for count in range((min(left[at], free[kind]) if node in place else 0) + 1):
            rest = {name: amount - count * amounts.get(name, 0) for name, amount in free.items()}
            if all(rest[name] >= 0 for name in amounts):
                yield from ((left[at] - count, *others) for others in self.fillings(node, wishes, left, rest, at + 1))

    def taken(self, nodes: Nodes, wanted: Wanted, measure: Any) -> int:
        return sum(self.weight(kind, measure) * count for kind, place, count in wanted if place <= nodes)

    def alike(self, one: Nodes, other: Nodes, parent: Nodes, wanted: Wanted) -> bool:
        pins = {self.cluster.where[pod.key] for pod in self.cluster.running(self.root)}
        touched = any(place & (one | other) and not parent <= place for _, place, _ in wanted) or bool(pins & (one | other))
        keys = sorted({group.topology for group in self.groups.values()} - {""})
        return not touched and self.nested(keys) and self.look(one, keys) == self.look(other, keys)
