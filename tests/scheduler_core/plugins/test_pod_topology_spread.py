"""Topology spread constraints by hand: cases that are easily misread."""

from __future__ import annotations

import pytest

from kubeapi.affinity import Affinity, NodeAffinity
from kubeapi.nodes import Taint
from kubeapi.pods import Toleration, TopologySpreadConstraint
from kubeapi.selectors import NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.scheduler_core.plugins.world import HOST, ZONE, pod, shape, snapshot, spread, table, zones


def verdicts(nodes: NodeTable, comer: PodRecord, *others: PodRecord) -> str:
    """Return one letter for each node: ``+`` may run, ``.`` too many pods, ``-`` lacks a label."""
    masks = dict(StatefulPlugins(snapshot(nodes, comer, *others)).filter(comer, nodes.everything))
    lacks, crowded = masks[LACKS_TOPOLOGY], masks[SPREAD]
    return "".join("-" if not lacks[node] else "+" if crowded[node] else "." for node in range(len(nodes)))


def spreads(*constraints: TopologySpreadConstraint, app: str = "a", **more: object) -> PodRecord:
    return pod(app, shape(None, constraints, **more))


def running(where: str, app: str = "a", **more: object) -> list[PodRecord]:
    """Return one pod for each digit, on the node of that index."""
    return [pod(app, node=int(digit), **more) for digit in where]


@pytest.mark.parametrize(
    ("comer", "others", "want"),
    [
        pytest.param(spreads(spread(ZONE, "a")), [], "+++-", id="nobody is there"),
        pytest.param(spreads(spread(ZONE, "a")), running("0"), "..+-", id="one more than in the other zone"),
        pytest.param(spreads(spread(ZONE, "a", skew=2)), running("0"), "+++-", id="within the skew"),
        pytest.param(spreads(spread(ZONE, "a", skew=2)), running("01"), "..+-", id="beyond the skew"),
        pytest.param(spreads(spread(ZONE, "a")), running("02"), "+++-", id="even"),
        pytest.param(spreads(spread(HOST, "a")), running("0"), ".++-", id="by host"),
        pytest.param(spreads(spread(ZONE, "a"), app="b"), running("0"), "+++-", id="it does not count itself"),
        pytest.param(spreads(spread(ZONE, "a"), app="b"), running("00"), "..+-", id="it does not count itself, and there are more"),
        pytest.param(spreads(spread(ZONE, "a")), running("0", app="b"), "+++-", id="others do not count"),
        pytest.param(spreads(spread(ZONE, "a")), running("0", namespace="other"), "+++-", id="another namespace does not count"),
        pytest.param(spreads(spread(ZONE, "a")), running("0", terminating=True), "+++-", id="terminating ones do not count"),
        pytest.param(spreads(spread(ZONE, "a")), running("3"), "+++-", id="one in no zone does not count"),
        pytest.param(spreads(spread(ZONE)), running("000"), "+++-", id="an empty selector counts nobody else"),
        pytest.param(spreads(spread(ZONE, skew=0)), [], "...-", id="an empty selector counts the pod itself"),
        pytest.param(spreads(spread(ZONE, label_selector=None, skew=0)), running("0"), "+++-", id="no selector counts nobody"),
    ],
)
def test_skew(comer: PodRecord, others: list[PodRecord], want: str) -> None:
    assert want == verdicts(zones("aab-"), comer, *others)


@pytest.mark.parametrize(
    ("least", "where", "want"),
    [
        pytest.param(None, "02", "++", id="left out: 1"),
        pytest.param(2, "02", "++", id="as many as there are"),
        pytest.param(3, "02", "..", id="more: the fewest are 0"),
        pytest.param(3, "", "++", id="more, and nobody is there"),
    ],
)
def test_min_domains(least: int | None, where: str, want: str) -> None:
    result = verdicts(zones("aab"), spreads(spread(ZONE, "a", min_domains=least)), *running(where))

    assert want == result[0] + result[2]


ZONES = Affinity(
    node_affinity=NodeAffinity(
        NodeSelector((NodeSelectorTerm(match_expressions=(Requirement(ZONE, "In", ("a", "b")),)),)),
    )
)


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        pytest.param(None, "++", id="left out: Honor"),
        pytest.param("Honor", "++", id="Honor: zone c is no domain"),
        pytest.param("Ignore", "..", id="Ignore: zone c is one, with nobody in it"),
    ],
)
@pytest.mark.parametrize("by", ["node affinity", "nodeSelector"])
def test_node_affinity_policy(by: str, policy: str | None, want: str) -> None:
    nodes = table([{ZONE: "a", "pool": "x"}, {ZONE: "b", "pool": "x"}, {ZONE: "c"}])
    constraint = spread(ZONE, "a", node_affinity_policy=policy)
    what = shape(ZONES, [constraint]) if by == "node affinity" else shape(None, [constraint], node_selector=(("pool", "x"),))

    assert want == verdicts(nodes, pod("a", what), *running("01"))[:2]


@pytest.mark.parametrize(
    ("policy", "taint", "tolerations", "want"),
    [
        pytest.param(None, "NoSchedule", (), ".", id="left out: Ignore"),
        pytest.param("Ignore", "NoSchedule", (), ".", id="Ignore: a tainted zone is a domain"),
        pytest.param("Honor", "NoSchedule", (), "+", id="Honor: it is none"),
        pytest.param("Honor", "NoExecute", (), "+", id="nor is this"),
        pytest.param("Honor", "PreferNoSchedule", (), ".", id="a taint that keeps nobody away"),
        pytest.param("Honor", "NoSchedule", (Toleration(key="t", operator="Exists"),), ".", id="a taint that it tolerates"),
    ],
)
def test_node_taints_policy(policy: str | None, taint: str, tolerations: tuple[Toleration, ...], want: str) -> None:
    nodes = table([{ZONE: "a"}, {ZONE: "b"}], [(), (Taint("t", taint),)])
    comer = spreads(spread(ZONE, "a", node_taints_policy=policy), tolerations=tolerations)

    assert want == verdicts(nodes, comer, *running("0"))[0]


def test_a_domain_that_does_not_count_has_nobody_in_it_for_a_candidate() -> None:
    """Upstream has no count for the domain and takes 0: the node affinity itself rejects the node."""
    nodes = table([{ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}])

    assert "..+" == verdicts(nodes, pod("a", shape(ZONES, [spread(ZONE, "a", skew=0)])), *running("01222"))
    assert "+++" == verdicts(nodes, pod("a", shape(ZONES, [spread(ZONE, "a")])), *running("01222"))


def test_a_node_makes_up_a_domain_only_with_the_keys_of_all_constraints() -> None:
    nodes = table([{ZONE: "a", "rack": "r"}, {ZONE: "b", "rack": "s"}, {ZONE: "c"}])
    others = running("01")

    assert "..+" == verdicts(nodes, spreads(spread(ZONE, "a")), *others)
    assert "++-" == verdicts(nodes, spreads(spread(ZONE, "a"), spread("rack", "a")), *others)


def test_constraints_that_need_not_be_met_neither_keep_away_nor_make_up_domains() -> None:
    nodes = table([{ZONE: "a", "rack": "r"}, {ZONE: "b"}])
    soft = spread("rack", "a", when_unsatisfiable="ScheduleAnyway")

    assert ".+" == verdicts(nodes, spreads(spread(ZONE, "a"), soft), *running("0"))


def test_a_node_fails_by_its_first_failing_constraint() -> None:
    nodes = table([{ZONE: "a"}, {ZONE: "b", "rack": "r"}])
    crowded_then_lacking = spreads(spread(ZONE, "a", skew=0), spread("rack", "a"))
    lacking_then_crowded = spreads(spread("rack", "a"), spread(ZONE, "a", skew=0))

    assert "." == verdicts(nodes, crowded_then_lacking)[0]
    assert "-" == verdicts(nodes, lacking_then_crowded)[0]


def test_match_label_keys_count_only_pods_of_the_same_value() -> None:
    nodes = zones("ab")
    others = [pod({"app": "a", "hash": "1"}, node=0), pod({"app": "a", "hash": "2"}, node=1)]
    comer = pod({"app": "a", "hash": "1"}, shape(None, [spread(ZONE, "a", match_label_keys=("hash", "none"))]))

    assert ".+" == verdicts(nodes, comer, *others)


def test_pods_of_one_shape_with_other_labels_are_distinguished() -> None:
    nodes = zones("ab")
    what = shape(None, [spread(ZONE, "a", match_label_keys=("hash",))])
    one, other = pod({"app": "a", "hash": "1"}, what), pod({"app": "a", "hash": "2"}, what)
    known = StatefulPlugins(snapshot(nodes, one, other))
    known.assume(one, 0)

    assert [[True, True], [True, True]] == [mask.tolist() for _, mask in known.filter(other, nodes.everything)]
    assert [[True, True], [False, True]] == [mask.tolist() for _, mask in known.filter(one, nodes.everything)]


def test_equal_constraints_of_pods_with_other_nodes_are_distinguished() -> None:
    nodes = table([{ZONE: "a", "pool": "x"}, {ZONE: "b", "pool": "x"}, {ZONE: "c"}])
    constraint = spread(ZONE, "a")
    anywhere, pool = pod("a", shape(None, [constraint])), pod("a", shape(None, [constraint], node_selector=(("pool", "x"),)))
    known = StatefulPlugins(snapshot(nodes, anywhere, pool, *running("01222")))

    assert [True, True, False] == dict(known.filter(anywhere, nodes.everything))[SPREAD].tolist()
    assert [True, True, True] == dict(known.filter(pool, nodes.everything))[SPREAD].tolist()


def test_a_terminating_pod_that_goes_is_not_taken_off_the_count() -> None:
    """It was never counted, whether counting began before or after."""
    nodes, leaving = zones("ab"), pod("a", node=0, terminating=True)
    comer = spreads(spread(ZONE, "a"))
    known = StatefulPlugins(snapshot(nodes, comer, leaving, *running("0")))

    assert [False, True] == dict(known.filter(comer, nodes.everything))[SPREAD].tolist()

    known.remove(leaving, 0)

    assert [False, True] == dict(known.filter(comer, nodes.everything))[SPREAD].tolist()


def test_only_the_nodes_within_make_up_domains() -> None:
    nodes = zones("abc")
    comer = spreads(spread(ZONE, "a"))
    known = StatefulPlugins(snapshot(nodes, comer, *running("01")))
    two = nodes.everything[:2]

    assert [True, True] == dict(known.filter(comer, two, two))[SPREAD].tolist()
    assert [False, False] == dict(known.filter(comer, two))[SPREAD].tolist()
