"""Wording of amounts with units, of numbers of nodes, and of numbers of pods that domains hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeapi.resource_names import is_storage, size
from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.model.names import Domain
from scheduler_core.model.resource_values import AttachableVolumes, Resource, VolumesOfClass, row_of
from scheduler_core.wording.nouns import SHOWN, level, listed, plural
from scheduler_core.wording.titles import domain_text, has_noun


class NamedNode(NodeCount, frozen=True):
    """The only node of each domain that a clause is about, which has the domain's name: *noun* is ``the node`` or ``each node``."""

    noun: str


def amount(resource: Resource, value: int) -> str:
    """Return a size with its resource: ``1.5 cpu``, ``16Gi memory``, ``8 nvidia.com/gpu``, ``3 pod slots``."""
    return f"{size_of(resource, value)} {noun_of(resource, value)}"


def size_of(resource: Resource, value: int) -> str:
    """Return a size without its resource: ``1.5``, ``16Gi``."""
    return size(row_of(resource), value)


def noun_of(resource: Resource, value: int) -> str:
    """Return the noun after a size: ``memory``, ``pod slots``, ``volume of class fast``."""
    plural = "" if value == 1 else "s"
    match resource:
        case "pods":
            return f"pod slot{plural}"
        case AttachableVolumes():
            return f"attachable volume{plural} of CSI driver {resource.driver}"
        case VolumesOfClass():
            return f"volume{plural} of {resource.claims}"
    return resource


def is_or_are(resource: Resource, value: int) -> str:
    """Return the verb after an amount: bytes and one of a resource have the singular."""
    return "is" if is_storage(row_of(resource)) or size_of(resource, value) == "1" else "are"


def amounts(several: Iterable[Amount], most: int = SHOWN) -> str:
    """Return several sizes with their resources as a list in words."""
    return listed([amount(each.resource, each.amount) for each in several], most)


def shape_words(requests: Iterable[Amount]) -> str:
    """Return the requests of equal pods: ``1 cpu, 2Gi memory``, or ``no requests``."""
    return ", ".join(amount(each.resource, each.amount) for each in requests) or "no requests"


def some_of(nodes: NodeCount) -> str:
    """Return a number of nodes of a domain: ``1 of 4 nodes``, ``all 4 nodes``, ``both nodes``, ``its only node``."""
    if isinstance(nodes, NamedNode):
        return nodes.noun
    if nodes.count < nodes.total:
        return f"{nodes.count} of {nodes.total} nodes"
    return "its only node" if nodes.total == 1 else f"{all_of(nodes.total)} nodes"


def verb(nodes: NodeCount, singular: str, plural: str) -> str:
    """Return a number of nodes with the verb in its form: ``1 of 4 nodes has``, ``both nodes have``."""
    return f"{some_of(nodes)} {singular if nodes.count == 1 else plural}"


def no_match(nodes: NodeCount) -> str:
    """Return a number of nodes that do not match: ``1 of 4 nodes does not match``, ``none of the 4 nodes matches``."""
    if nodes.count < nodes.total or nodes.total == 1:
        return f"{verb(nodes, 'does', 'do')} not match"
    return f"{'neither node' if nodes.total == 2 else f'none of the {nodes.total} nodes'} matches"


def all_of(total: int) -> str:
    """Return ``both``, or ``all 3``."""
    return "both" if total == 2 else f"all {total}"


def domain_names(several: Sequence[Domain]) -> str:
    """Return the names of several domains: ``rack r1``, ``racks r1 and r2``, ``rack-1 and rack-2``, ``switch s1 and s2``."""
    noun = level(several[0].key)
    if len(several) == 1 or any(has_noun(each.value, noun) or not each.value for each in several):
        return listed([domain_text(each) for each in several])
    return f"{plural(noun) or noun} {listed([each.value for each in several])}"


def holds_phrase(several: Sequence[Domain], count: int) -> str:
    """Return how many pods domains can hold, such as ``racks r1 and r2 can hold 2 each`` or ``rack r3 can hold none``."""
    each = " each" if count and len(several) > 1 else ""
    return f"{domain_names(several)} can hold {count or 'none'}{each}"


def further(number: int, key: str, most: int | None) -> str:
    """Return the number of domains of *key* that are not described, and what they hold: ``and 3 more racks (at most 2 each)``."""
    held = f"at most {most}{' each' if number > 1 else ''}" if most else "can hold none"
    noun = level(key)
    several = noun if number == 1 else plural(noun) or f"domains of {noun}"
    return f"and {number} more {several}{'' if most is None else f' ({held})'}"
