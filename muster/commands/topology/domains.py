"""The tree of domains with the capacity and the groups of each."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from muster.html.topology_areas import Area, areas
from scheduler_core.diagnosis.capacity_survey import CapacitySurvey, SurveyedAmount
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.topology_levels import levels
from scheduler_core.wording.node_words import unusable_words


@dataclasses.dataclass(frozen=True, slots=True)
class SurveyedNode:
    """One node: its amounts, and why its free capacity is unusable; empty if it is usable."""

    name: str
    amounts: tuple[SurveyedAmount, ...]
    reason: str
    groups: Mapping[Name, int]


@dataclasses.dataclass(frozen=True, slots=True)
class SurveyedDomain:
    """One domain.

    Attributes:
        title: its name for people: ``rack r1``, ``without rack``, ``all nodes``.
        path: the domains from the widest level to this one; None for nodes without the label; empty for the whole cluster.
        nodes: number of nodes.
        closed: number of nodes whose free capacity is unusable.
        amounts: of each resource.
        groups: number of running pods by PodGroup; ``WITHOUT_GROUP`` is the key of pods without one.
        parts: the domains inside it.
        members: its nodes, if requested; only of domains without parts.

    """

    title: str
    path: tuple[Domain | None, ...]
    nodes: int
    closed: int
    amounts: tuple[SurveyedAmount, ...]
    groups: Mapping[Name, int]
    parts: tuple[SurveyedDomain, ...]
    members: tuple[SurveyedNode, ...]

    def walk(self) -> Iterator[SurveyedDomain]:
        """Yield the domain and all domains inside it, parents first."""
        yield self
        for part in self.parts:
            yield from part.walk()


def survey_topology(snapshot: ClusterSnapshot, keys: Sequence[str], *, nodes: bool = False) -> tuple[tuple[str, ...], SurveyedDomain]:
    """Return the levels, widest first, and the tree of domains.

    Without *keys*, the levels are the topology keys of groups, attributes of devices that are levels, and the well-known labels of regions,
    zones, blocks and racks.
    Innermost domains have their nodes if *nodes*, or if there are no levels.
    """
    requested = {
        each.key for group in snapshot.groups if (constraints := group.spec.scheduling_constraints) for each in constraints.topology or ()
    }
    chosen = tuple(dict.fromkeys(keys)) or levels(snapshot.nodes, requested.union(snapshot.nodes.device_levels))
    names = snapshot.nodes.names if nodes or not chosen else ()
    return chosen, _surveyed(areas(snapshot.nodes, chosen), CapacitySurvey(snapshot), names, ())


def _surveyed(area: Area, survey: CapacitySurvey, names: Sequence[str], above: tuple[Domain | None, ...]) -> SurveyedDomain:
    path = above
    if area.key:
        path = (*above, None if area.value is None else Domain(area.key, area.value))
    groups = survey.groups(area.nodes)
    members = () if area.parts or not names else tuple(_node(node, survey, names) for node in area.nodes)
    parts = tuple(_surveyed(part, survey, names, path) for part in area.parts)
    closed = sum(bool(survey.closed[node]) for node in area.nodes)
    return SurveyedDomain(area.title, path, len(area.nodes), closed, survey.amounts(area.nodes), groups, parts, members)


def _node(node: int, survey: CapacitySurvey, names: Sequence[str]) -> SurveyedNode:
    groups: Counter[Name] = survey.groups([node])
    unusable = survey.unusable(node)
    return SurveyedNode(names[node], survey.amounts([node]), "" if unusable is None else unusable_words(unusable), groups)
