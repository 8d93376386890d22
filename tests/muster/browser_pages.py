"""Pages that tests open in a browser."""

from __future__ import annotations

from unittest import mock

from benchmarks import clusters
from kubeapi.base_structs import replaced
from muster.html import cluster_map, page, unplaced_roots
from muster.html.page_content import Origin
from muster.html.update_steps import UpdateStep, drawn_update
from muster.render.answer import Heading
from muster.render.object_results import MARKS, Kind
from scheduler_core.model.names import Name
from tests.muster import paged
from tests.muster.paged import gang, machine, member, racks
from tests.muster.test_page import hostile

ORIGIN = Origin(
    "muster fit", "muster fit train.yaml --objects cluster.json --format html", "0.1.0", "2026-01-02 03:04 UTC", ("cluster.json",)
)
MANY_NODES = [*clusters.nodes(120), *clusters.gangs(3, 4), *gang("wide", 700, key=clusters.RACK)]
"""A rack of 100 nodes, and one of 20."""


def many_nodes():
    """A page with more nodes than are drawn one by one."""
    with mock.patch.object(cluster_map, "SHELVES", 100):
        return paged.rendered(MANY_NODES)


def many_roots():
    """A page with gangs that do not fit, more than there are cards, gangs that do, and a nominated one."""
    failing = [each for number in range(6) for each in gang(f"large-{number}", 2, cpu="90")]
    placed = [each for number in range(20) for each in gang(f"small-{number}", 1, cpu="1m")]
    evicting = [*gang("urgent", 1, cpu="7", priority=100), member("leaves", on="full", cpu="8"), machine("full", cpu="8")]
    with mock.patch.object(unplaced_roots, "CARDS", 4):
        return paged.rendered([*racks(2, 2), *failing, *placed, *evicting])


def fitted(kind=Kind.DOES_NOT_FIT):
    """The page of ``muster fit`` for one root of several."""
    answer, snapshot, options = paged.decided([*paged.many_gpus(), *gang("other", 2), *gang("third", 2, cpu="99")], strategy="complete")
    heading = Heading(MARKS[kind], f"PodGroup job {kind.value.replace('-', ' ')}", ("rack r1 can hold 2 (short of 8 nvidia.com/gpu)",))
    own = replaced(answer, path_roots=frozenset({Name("PodGroup", "default", "job")}), heading=heading)
    return page.render(own, snapshot, options, ORIGIN)


def updating():
    """The page of ``muster fit`` for an object whose update hangs, and one whose update has more steps than are drawn."""
    answer, snapshot, options = paged.decided(paged.placed_tree())
    heading = Heading("✗", "Deployment team/llm does not fit", ("the update hangs at step 2",))
    hanging = [UpdateStep(1, "1 deleted, 2 created", (3, 1, 1, 0)), UpdateStep(2, "nothing", (2, 2, 0, 1))]
    long = [UpdateStep(number, "1 deleted, 1 created", (30 - number, number, 0, 0)) for number in range(1, 31)]
    updates = [
        drawn_update("Deployment team/llm (at most 1 more pod, at most 1 unavailable)", "the update hangs", hanging),
        drawn_update("StatefulSet team/db (1 pod at a time)", "every new pod has a node as soon as it is created", long),
    ]
    return page.render(replaced(answer, heading=heading), snapshot, options, ORIGIN, updates)


PAGES = {
    "placed": lambda: paged.rendered(paged.placed_tree()),
    "not placed": lambda: paged.rendered(paged.many_gpus(), strategy="complete"),
    "evicting": lambda: paged.rendered(paged.evicting()),
    "many nodes": many_nodes,
    "many roots": many_roots,
    "does not fit": fitted,
    "undecided": lambda: fitted(Kind.UNDECIDED),
    "updates": updating,
    "hostile": lambda: paged.rendered(hostile()),
}
