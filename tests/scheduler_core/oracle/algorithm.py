"""Recursive algorithm: a group in a placement, its children inside it, its pods one by one.

There is no backtracking: capacity taken by a child stays taken, and no child is tried twice.
"""

from __future__ import annotations

import dataclasses

from tests.scheduler_core.oracle.fit import claim_in_use, disks, misfits
from tests.scheduler_core.oracle.model import Cluster, Group, Node, Pod
from tests.scheduler_core.oracle.score import node_scores, placement_scores

SUCCESS, WAIT, UNSCHEDULABLE, ERROR = "Success", "Wait", "Unschedulable", "Error"
DEEPEST = 4


@dataclasses.dataclass
class Result:
    """Result of one group."""

    status: str
    message: str = ""
    pods: dict[str, str] = dataclasses.field(default_factory=dict)
    """Node of each pod of a leaf that fits, also if the leaf failed."""
    placed: bool = False
    """True if a new pod below it has a node."""
    domain: str = ""
    """Value of its topology key."""


Results = dict[str, Result]
"""Results by name of the group; groups that were never tried are absent."""


def feasible(minimum: int, scheduled: int, remaining: int, word: str = "minCount") -> Result:
    """PlacementFeasible of the GangScheduling plugin."""
    if scheduled + remaining < minimum:
        return Result(UNSCHEDULABLE, f"{word} ({minimum}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining")
    if scheduled < minimum:
        return Result(WAIT, f"{word} ({minimum}) is not yet satisfied: {scheduled} scheduled, {remaining} remaining")
    return Result(SUCCESS)


def generate(group: Group, nodes: list[Node], cluster: Cluster) -> dict[str, list[Node]] | Result:
    """Return the placements of a group inside its parent's, by value of its key; an Error if its running pods conflict."""
    if not group.topology:
        return {"": nodes}
    if group.kind == "CompositePodGroup" and group.depth() > DEEPEST:
        return Result(ERROR, "exceeded maximum hierarchy depth")
    pinned = set()
    for pod in cluster.running(group):
        node = cluster.nodes.get(cluster.where[pod.key])
        if node is None or group.topology not in node.labels:
            return Result(ERROR, f"{pod.key} runs on a node without {group.topology}")
        pinned.add(node.labels[group.topology])
    if len(pinned) > 1:
        return Result(ERROR, f"pods run in several domains of {group.topology}: {sorted(pinned)}")
    values = sorted({node.labels[group.topology] for node in nodes if group.topology in node.labels})
    retained = [value for value in values if not pinned or value in pinned]
    return {value: [node for node in nodes if node.labels.get(group.topology) == value] for value in retained}


class Simulation:
    """One run of the algorithm.  The cluster is not changed; ``where`` holds the pods assumed in addition."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.where = dict(cluster.where)

    def root(self, group: Group) -> Results:
        """Place the whole tree.  A root that is satisfied by running pods alone is Unschedulable."""
        results: Results = {}
        self.place(group, list(self.cluster.nodes.values()), results)
        outcome = results[group.name]
        if outcome.status == SUCCESS and not outcome.placed:
            results[group.name] = dataclasses.replace(outcome, status=UNSCHEDULABLE, message="")
        return results

    def place(self, group: Group, nodes: list[Node], results: Results) -> None:
        """Try every placement; the best feasible one is assumed and recorded in *results*."""
        placements = generate(group, nodes, self.cluster)
        if isinstance(placements, Result):
            results[group.name] = placements
            return
        if not placements:
            results[group.name] = Result(UNSCHEDULABLE, "no feasible placements found")
            return
        result: dict[str, Results] = {}
        for value, inside in placements.items():
            before = dict(self.where)
            result[value] = {}
            self.inside(group, inside, result[value])
            self.where = before
            result[value][group.name].domain = value
            if result[value][group.name].status == ERROR:
                results[group.name] = result[value][group.name]
                return
        good = [value for value, below in result.items() if below[group.name].status == SUCCESS]
        if not good:
            first = result[min(result)]
            reason = first[group.name].message
            first[group.name].message = f"0/{len(result)} placements are available, first placement status: {reason}"
            results.update(first)
            return
        best = good[0] if len(good) == 1 else self.best(group, {value: (placements[value], result[value]) for value in good})
        results.update(result[best])
        for pod, node in proposed(group, result[best]).items():
            self.where[pod] = node

    def best(self, group: Group, candidates: dict[str, tuple[list[Node], Results]]) -> str:
        """Return the placement with the highest score; of equals the smallest value."""
        output = {}
        for value, (nodes, results) in candidates.items():
            names = {node.name for node in nodes}
            there = [self.cluster.pods[key] for key, node in self.where.items() if node in names]
            new = [self.cluster.pods[key] for key in proposed(group, results)]
            output[value] = (nodes, there + new, len(self.cluster.running(group)) + len(new))
        scores = placement_scores(output)
        return min(scores, key=lambda value: (-scores[value], value))

    def inside(self, group: Group, nodes: list[Node], results: Results) -> None:
        """Place the group in one placement; its pods are assumed if it succeeds."""
        before = dict(self.where)
        outcome = self.members(group, nodes) if group.kind == "PodGroup" else self.children(group, nodes, results)
        if outcome.status == WAIT:
            outcome.status = UNSCHEDULABLE
        if outcome.status != SUCCESS:
            self.where = before
            outcome.placed = False
        results[group.name] = outcome

    def members(self, group: Group, nodes: list[Node]) -> Result:
        waiting = queued(group, self.cluster)
        scheduled, remaining = len(self.cluster.running(group)), len(waiting)
        outcome = feasible(group.minimum, scheduled, remaining)
        fitted: dict[str, str] = {}
        for pod in waiting:
            if outcome.status == UNSCHEDULABLE:
                break
            remaining -= 1
            if (node := self.choose(pod, nodes)) is not None:
                self.where[pod.key] = fitted[pod.key] = node
                scheduled += 1
            outcome = feasible(group.minimum, scheduled, remaining)
        return dataclasses.replace(outcome, pods=fitted, placed=bool(fitted))

    def children(self, group: Group, nodes: list[Node], results: Results) -> Result:
        scheduled, remaining, placed = 0, len(group.children), False
        outcome = feasible(group.minimum, scheduled, remaining, "minGroupCount")
        for child in group.children:
            if outcome.status == UNSCHEDULABLE:
                break
            self.place(child, nodes, results)
            below = results[child.name]
            if below.status == ERROR:
                return Result(ERROR, f"composite pod group evaluation failed due to child error: {below.message}")
            remaining -= 1
            scheduled += below.status == SUCCESS
            placed = placed or below.placed
            outcome = feasible(group.minimum, scheduled, remaining, "minGroupCount")
        return dataclasses.replace(outcome, placed=placed)

    def choose(self, pod: Pod, nodes: list[Node]) -> str | None:
        """Return the node for one pod: its nominated node if it fits there, else the best one; of equals the smallest name."""
        fitting = [node for node in nodes if self.fits(pod, node)]
        names = [node.name for node in fitting]
        if (nominated := self.cluster.nominated.get(pod.key)) in names:
            return nominated
        if not fitting:
            return None
        scores = node_scores(pod, {node.name: (node, self.on(node)) for node in fitting}, [*self.cluster.nodes.values()])
        return min(scores, key=lambda name: (-scores[name], name))

    def fits(self, pod: Pod, node: Node, *, overlooks: bool = False) -> bool:
        """Return true if the pod fits with the present pods, and also with pods nominated with equal or higher priority.

        With *overlooks*, claims that only one pod can use are not compared for a pod without disks, as 1.37.1 when it spares victims.
        """
        if not (overlooks and not disks(pod)) and claim_in_use(pod, [self.cluster.pods[key] for key in self.where]):
            return False
        expected = [
            self.cluster.pods[key]
            for key, name in self.cluster.nominated.items()
            if name == node.name and key != pod.key and key not in self.where and self.cluster.pods[key].priority >= pod.priority
        ]
        there = self.on(node)
        return not misfits(pod, node, there) and not misfits(pod, node, there + expected)

    def on(self, node: Node) -> list[Pod]:
        return [self.cluster.pods[key] for key, name in self.where.items() if name == node.name]


def queued(group: Group, cluster: Cluster) -> list[Pod]:
    """Return the members below that are to be placed, leaf by leaf."""
    return [pod for pod in group.pods() if pod.key not in cluster.where and not pod.terminating]


def proposed(group: Group, results: Results) -> dict[str, str]:
    """Return the node of each pod of the leaves that succeed, with every group between them and *group*."""
    outcome = results.get(group.name)
    if outcome is None or outcome.status != SUCCESS:
        return {}
    return {**outcome.pods, **{pod: node for child in group.children for pod, node in proposed(child, results).items()}}


def complete(group: Group, results: Results, above: Result | None = None) -> Results:
    """Return a result for every group: those never tried, or below a failed one, get the result of their parent."""
    own = results.get(group.name)
    if above is not None and (own is None or above.status == ERROR or (above.status != SUCCESS and own.status == SUCCESS)):
        own = Result(above.status, above.message)
    assert own is not None
    messages = {group.name: own}
    for child in group.children:
        messages.update(complete(child, results, own))
    return messages
