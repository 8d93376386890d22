"""Hypothetical nodes: removal, cordoning and addition of nodes in the objects before they are loaded.

Of several objects with one name, only one is used, independent of their order.  A drained node is removed.  Its pods become
pending, except pods that belong to the node: pods of DaemonSets, static pods and pods that are being deleted are removed too.
A cordoned node takes no new pods; its pods stay.
An added node is a copy with the pods of DaemonSets, without other pods, images, and taints for the state of the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi.gather import Name, by_name, gather
from kubeapi.gathered import GatheredObjects, Given, ObjectList
from kubeapi.problem import Problem
from muster.commands import options
from muster.commands.simulate import drain
from muster.commands.simulate.node_addition import Addition
from scheduler_core.cluster.accepted import accepted_content
from scheduler_core.model.names import HOSTNAME
from scheduler_core.whatif.edits.node_templates import Content, belongs_to_its_node, companion, cordoned, csi_drivers, fresh, section


class WhatIfError(ValueError):
    """A hypothetical change that is not possible; the message is for users."""


def suppose(
    objects: Iterable[Given], drained: Sequence[str], additions: Sequence[Addition], unschedulable: Sequence[str] = ()
) -> tuple[list[Given], list[Problem]]:
    """Return the changed objects, and the problems of reading them.

    Args:
        objects: the objects of the cluster.
        drained: names of nodes, or ``KEY=VALUE`` for all with the label.
        additions: nodes to be added.
        unschedulable: nodes to be cordoned, as *drained*.

    Raises:
        WhatIfError: a node does not exist, or cannot be copied.

    """
    unread = ObjectList()
    kinds, problems = gather(objects, unread)
    nodes = {name: gathered for (_, name), gathered in by_name(kinds["Node"], problems).items()}
    pods = [*by_name(kinds["Pod"], problems).values()]
    for each in additions:
        if each.like not in nodes:
            raise WhatIfError(f"there is no node {each.like!r} among the inputs{options.near(each.like, nodes)}")
    try:
        gone, closed = drain.selected_nodes(drained, nodes), drain.selected_nodes(unschedulable, nodes)
    except drain.NoSuchNode as error:
        raise WhatIfError(str(error)) from None
    listed = by_name(kinds["CSINode"], []).items() if additions else ()
    drivers = {name: content for (_, name), gathered in listed if (content := accepted_content(gathered)) is not None}
    added = [*_added(nodes, drivers, additions, pods)]
    remaining_nodes = [_cordoned(each) if name in closed else each for name, each in nodes.items() if name not in gone]
    remaining_pods: list[Given] = [*_without(pods, gone)] if gone else [*pods]
    others = [each for kind, listed in kinds.items() if kind not in {"Node", "Pod"} for each in listed.given()]
    return [*unread.given(), *others, *remaining_nodes, *remaining_pods, *added], problems


def _cordoned(node: GatheredObjects) -> Given:
    # The reader of the node reports one that it leaves out.
    return node if (content := accepted_content(node)) is None else cordoned(content)


def _without(pods: Iterable[GatheredObjects], gone: frozenset[str]) -> Iterator[Given]:
    """Yield the pods as they are after the nodes *gone* are removed: without change, pending, or not at all."""
    marks = tuple(name.encode() for name in gone)
    for gathered in pods:
        text = bytes(gathered.text)
        # The reader of the pod reports one that it leaves out.
        if any(mark in text for mark in marks) and (pod := accepted_content(gathered)) is not None:
            if _bound_to(pod) not in gone and section(pod, "status").get("nominatedNodeName") not in gone:
                yield gathered
            elif _bound_to(pod) not in gone or not _leaves_with_its_node(pod):
                yield _pending_again(pod)
        else:
            yield gathered


def evicted_pods(pods: Iterable[GatheredObjects], drained: frozenset[str]) -> dict[Name, Content]:
    """Return the pods that a drain evicts, which are not those of DaemonSets, static ones, or such that are being deleted."""
    marks = tuple(name.encode() for name in drained)
    found = {}
    for name, gathered in by_name(pods, []).items():
        text = bytes(gathered.text)
        if any(mark in text for mark in marks) and (pod := accepted_content(gathered)) is not None:
            if _bound_to(pod) in drained and not _leaves_with_its_node(pod):
                found[name] = pod
    return found


def _pending_again(pod: Content) -> Content:
    """Return the pod without a node, as its controller would create it again."""
    spec = {key: value for key, value in section(pod, "spec").items() if key != "nodeName"}
    return {**pod, "spec": spec, "status": {"phase": "Pending"}}


def _leaves_with_its_node(pod: Content) -> bool:
    return belongs_to_its_node(pod) or section(pod, "metadata").get("deletionTimestamp") is not None


def _added(
    nodes: Mapping[str, GatheredObjects],
    drivers: Mapping[str, Content],
    additions: Sequence[Addition],
    pods: Sequence[GatheredObjects],
) -> Iterator[Content]:
    """Yield the new nodes, each with the CSINode and the pods that belong to it; *drivers* are the CSINodes by name."""
    taken = set(nodes)
    for addition in additions:
        if (node := accepted_content(nodes[addition.like])) is None:
            raise WhatIfError(f"node {addition.like!r} cannot be copied: it is left out")
        companions = [*_companions(addition.like, pods)]
        number = 0
        for _ in range(addition.count):
            number += 1
            while (name := f"{addition.like}-added-{number}") in taken:
                number += 1
            taken.add(name)
            yield fresh(node, name, {HOSTNAME: name, **dict(addition.labels)}, {})
            if addition.like in drivers:
                yield csi_drivers(drivers[addition.like], name)
            yield from (companion(pod, name) for pod in companions)


def _companions(node: str, pods: Sequence[GatheredObjects]) -> Iterator[Content]:
    for gathered in pods:
        if node.encode() in bytes(gathered.text) and (pod := accepted_content(gathered)) is not None:
            leaving = section(pod, "metadata").get("deletionTimestamp") is not None
            if _bound_to(pod) == node and belongs_to_its_node(pod) and not leaving:
                yield pod


def _bound_to(pod: Content) -> object:
    return section(pod, "spec").get("nodeName")
