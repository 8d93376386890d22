"""Inter-pod affinity by hand: cases that are easily misread."""

from __future__ import annotations

import pytest

from kubeapi.affinity import Affinity, PodAffinityTerm
from kubeapi.selectors import LabelSelector
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.inter_pod_affinity import AFFINITY
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.scheduler_core.plugins.world import (
    HOST,
    ZONE,
    affinity_scores,
    affinity_to,
    anti_affinity,
    pod,
    preferred_affinity,
    preferred_anti_affinity,
    shape,
    snapshot,
    table,
    term,
    zones,
)


def passing(nodes: NodeTable, comer: PodRecord, *others: PodRecord) -> str:
    """Return one letter for each node: ``+`` if *comer* may run there."""
    known = StatefulPlugins(snapshot(nodes, comer, *others))
    masks = [mask for _, mask in known.filter(comer, nodes.everything)]
    return "".join("+" if all(mask[node] for mask in masks) else "." for node in range(len(nodes)))


def wants(affinity: Affinity, app: str = "a", **more: object) -> PodRecord:
    return pod(app, shape(affinity), **more)


@pytest.mark.parametrize(
    ("comer", "others", "want"),
    [
        pytest.param(wants(affinity_to(term(ZONE, "b"))), [pod("b", node=0)], "++..-", id="all of the zone"),
        pytest.param(wants(affinity_to(term(HOST, "b"))), [pod("b", node=0)], "+...-", id="only the host"),
        pytest.param(wants(affinity_to(term(ZONE, "b"))), [], "....-", id="nobody is there"),
        pytest.param(wants(affinity_to(term(ZONE, "a"))), [], "++++-", id="the first of its kind"),
        pytest.param(wants(affinity_to(term(ZONE, "a"))), [pod("a")], "++++-", id="others of its kind wait"),
        pytest.param(wants(affinity_to(term(ZONE, "a"))), [pod("a", node=3)], "..++-", id="the second of its kind"),
        pytest.param(wants(affinity_to(term(ZONE, "a"))), [pod("a", node=4)], "++++-", id="one of its kind is in no zone"),
        pytest.param(wants(affinity_to(term(ZONE, "a"))), [pod("a", node=3, terminating=True)], "..++-", id="one that terminates"),
        pytest.param(wants(affinity_to(term("none", "a"))), [], "....-", id="the first, and no node has the key"),
        pytest.param(
            wants(affinity_to(term(ZONE, "b"), term(HOST, "c"))),
            [pod("b", node=0), pod("c", node=1)],
            "....-",
            id="no pod is selected by both",
        ),
        *(
            pytest.param(
                wants(affinity_to(term(ZONE, own), term(HOST, every, namespace_selector=LabelSelector()))),
                [pod("b", node=0), pod("c", node=1)],
                "....-",
                id=f"no pod is selected by both, {every} in all namespaces",
            )
            for own, every in ("bc", "cb")
        ),
        pytest.param(
            wants(affinity_to(term(ZONE, "b"), term(HOST, "b"))),
            [pod("b", node=0), pod("b", node=3)],
            "+..+-",
            id="pods selected by both terms",
        ),
        pytest.param(wants(affinity_to(term(ZONE, "a"), term(ZONE, "b"))), [], "....-", id="the first, not selected by all"),
        pytest.param(wants(affinity_to(term(ZONE))), [pod("b", node=0)], "++..-", id="an empty selector"),
        pytest.param(wants(affinity_to(term(ZONE, label_selector=None))), [pod("b", node=0)], "....-", id="no selector"),
        pytest.param(wants(affinity_to(term(ZONE, "a"))), [pod("a", node=0, namespace="other")], "++++-", id="another namespace"),
    ],
)
def test_required_affinity(comer: PodRecord, others: list[PodRecord], want: str) -> None:
    assert want.replace("-", ".") == passing(zones("aabb-"), comer, *others)


@pytest.mark.parametrize(
    ("comer", "others", "want"),
    [
        pytest.param(wants(anti_affinity(term(ZONE, "b"))), [pod("b", node=0)], "..+++", id="all of the zone"),
        pytest.param(wants(anti_affinity(term(HOST, "b"))), [pod("b", node=0)], ".++++", id="only the host"),
        pytest.param(wants(anti_affinity(term(ZONE, "a"))), [], "+++++", id="it is no reason against itself"),
        pytest.param(
            wants(anti_affinity(term(ZONE, "b"), term(HOST, "c"))), [pod("b", node=0), pod("c", node=3)], "..+.+", id="any of the terms"
        ),
        pytest.param(wants(anti_affinity(term(ZONE, "b"))), [pod("b", node=4)], "+++++", id="one in no zone"),
        pytest.param(wants(anti_affinity(term(ZONE, "b"))), [pod("b", node=0, terminating=True)], "..+++", id="one that terminates"),
        pytest.param(pod("b"), [wants(anti_affinity(term(ZONE, "b")), node=0)], "..+++", id="of one that runs"),
        pytest.param(pod("c"), [wants(anti_affinity(term(ZONE, "b")), node=0)], "+++++", id="of one that runs, against others"),
        pytest.param(pod("b"), [wants(anti_affinity(term(ZONE, "b")))], "+++++", id="of one that waits"),
        pytest.param(
            pod("b", namespace="other"),
            [wants(anti_affinity(term(ZONE, "b")), node=0)],
            "+++++",
            id="of one that runs, in another namespace",
        ),
        pytest.param(pod("b"), [wants(affinity_to(term(ZONE, "b")), node=0)], "+++++", id="affinity of one that runs binds nobody"),
    ],
)
def test_required_anti_affinity(comer: PodRecord, others: list[PodRecord], want: str) -> None:
    assert want == passing(zones("aabb-"), comer, *others)


ANY = LabelSelector()
WEST = LabelSelector(match_labels={"kubernetes.io/metadata.name": "west"})


@pytest.mark.parametrize(
    ("where", "want"),
    [
        pytest.param({}, "own", id="neither: the pod's own"),
        pytest.param({"namespaces": ()}, "own", id="an empty list: the pod's own"),
        pytest.param({"namespaces": ("west",)}, "west", id="a list"),
        pytest.param({"namespaces": ("west", "own")}, "own west", id="a longer list"),
        pytest.param({"namespace_selector": ANY}, "own west east", id="an empty selector: all"),
        pytest.param({"namespace_selector": ANY, "namespaces": ("west",)}, "own west east", id="all and a list"),
        pytest.param({"namespace_selector": WEST}, "west", id="by name"),
        pytest.param({"namespace_selector": WEST, "namespaces": ("own",)}, "own west", id="by name and a list"),
    ],
)
def test_namespaces_of_a_term(where: dict[str, object], want: str) -> None:
    nodes = zones("abc")
    others = [pod("b", node=index, namespace=name) for index, name in enumerate(["own", "west", "east"])]
    comer = wants(anti_affinity(term(ZONE, "b", **where)), namespace="own")

    assert "".join("." if name in want else "+" for name in ("own", "west", "east")) == passing(nodes, comer, *others)


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param({}, "..", id="without keys"),
        pytest.param({"match_label_keys": ("hash",)}, ".+", id="only those of its own hash"),
        pytest.param({"mismatch_label_keys": ("hash",)}, "+.", id="only those of another hash"),
        pytest.param({"match_label_keys": ("none",)}, "..", id="a key that it does not have"),
        pytest.param({"match_label_keys": ("hash",), "label_selector": None}, "++", id="keys do not stand in for a selector"),
    ],
)
def test_label_keys_are_taken_from_the_pod(more: dict[str, object], want: str) -> None:
    others = [pod({"app": "a", "hash": "1"}, node=0), pod({"app": "a", "hash": "2"}, node=1)]
    comer = pod({"app": "a", "hash": "1"}, shape(anti_affinity(term(ZONE, "a", **more))))

    assert want == passing(zones("ab"), comer, *others)


def scores(nodes: NodeTable, comer: PodRecord, *others: PodRecord) -> list[int]:
    return affinity_scores(StatefulPlugins(snapshot(nodes, comer, *others)), comer, nodes.everything).tolist()


@pytest.mark.parametrize(
    ("comer", "others", "want"),
    [
        pytest.param(pod("a"), [pod("b", node=0)], [0, 0, 0, 0], id="nobody prefers"),
        pytest.param(wants(preferred_affinity(5, term(ZONE, "b"))), [pod("b", node=0)], [5, 5, 0, 0], id="it prefers to be near"),
        pytest.param(wants(preferred_anti_affinity(5, term(ZONE, "b"))), [pod("b", node=0)], [-5, -5, 0, 0], id="it prefers to be far"),
        pytest.param(wants(preferred_affinity(5, term(ZONE, "b"))), [pod("b", node=0), pod("b", node=1)], [10, 10, 0, 0], id="each counts"),
        pytest.param(wants(preferred_affinity(5, term(ZONE, "b"))), [pod("b", node=3)], [0, 0, 0, 0], id="one in no zone"),
        pytest.param(pod("b"), [wants(preferred_affinity(5, term(ZONE, "b")), node=2)], [0, 0, 5, 0], id="one that runs prefers it near"),
        pytest.param(
            pod("b"), [wants(preferred_anti_affinity(5, term(HOST, "b")), node=1)], [0, -5, 0, 0], id="one that runs prefers it far"
        ),
        pytest.param(pod("b"), [wants(affinity_to(term(ZONE, "b")), node=0)], [1, 1, 0, 0], id="one that runs needs it near"),
        pytest.param(pod("b"), [wants(anti_affinity(term(ZONE, "b")), node=0)], [0, 0, 0, 0], id="one that runs needs it far: no score"),
        pytest.param(wants(affinity_to(term(ZONE, "b"))), [pod("b", node=0)], [0, 0, 0, 0], id="it needs it near: no score"),
        pytest.param(pod("b"), [wants(preferred_affinity(5, term(ZONE, "b")))], [0, 0, 0, 0], id="one that waits"),
        pytest.param(
            wants(preferred_affinity(5, term(ZONE, "a"))),
            [wants(preferred_affinity(3, term(ZONE, "a")), node=0)],
            [8, 8, 0, 0],
            id="both ways",
        ),
    ],
)
def test_scores(comer: PodRecord, others: list[PodRecord], want: list[int]) -> None:
    assert want == scores(zones("aac-"), comer, *others)


def test_a_term_given_twice_scores_twice() -> None:
    twice = term(ZONE, "b")

    assert [2, 0] == scores(zones("ab"), pod("b"), wants(affinity_to(twice, twice), app="b", node=0))


def test_a_term_that_the_api_server_refuses_selects_nothing() -> None:
    refused = PodAffinityTerm(topology_key=ZONE, label_selector=LabelSelector(match_labels={"app": "not a value!"}))

    assert ".." == passing(zones("ab"), wants(affinity_to(refused)), pod("b", node=0))
    assert "++" == passing(zones("ab"), wants(anti_affinity(refused)), pod("b", node=0))


def test_one_that_is_assumed_on_a_node_without_the_label_is_in_no_domain() -> None:
    nodes = zones("a--")
    comer = wants(anti_affinity(term(ZONE, "b")))
    known = StatefulPlugins(snapshot(nodes, comer, pod("b", node=0)))

    assert [[False, True, True]] == [mask.tolist() for _, mask in known.filter(comer, nodes.everything)]

    known.assume(pod("b"), 1)

    assert [[False, True, True]] == [mask.tolist() for _, mask in known.filter(comer, nodes.everything)]


def test_only_the_nodes_within_may_count() -> None:
    """Within a placement, a pod of the same zone on a node outside is not counted."""
    nodes = zones("aab")
    comer = wants(affinity_to(term(ZONE, "b")))
    known = StatefulPlugins(snapshot(nodes, comer, pod("b", node=0)))

    assert [[True, True, False]] == [mask.tolist() for _, mask in known.filter(comer, nodes.everything)]
    assert [(AFFINITY, [False, False])] == [
        (reason, mask.tolist()) for reason, mask in known.filter(comer, nodes.everything[1:], nodes.everything[1:])
    ]


def test_nodes_of_one_value_of_the_key_are_one_domain_whatever_else_they_are() -> None:
    nodes = table([{ZONE: "a", "region": "x"}, {ZONE: "a", "region": "y"}, {ZONE: "b", "region": "x"}])

    assert "..+" == passing(nodes, wants(anti_affinity(term(ZONE, "b"))), pod("b", node=0))
    assert ".+." == passing(nodes, wants(anti_affinity(term("region", "b"))), pod("b", node=0))
