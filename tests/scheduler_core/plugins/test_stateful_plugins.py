"""The relations of random small clusters against the naive reading, through assume, remove and rewind; and their bookkeeping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.wire import (
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.sampling import sampled
from tests.scheduler_core.plugins import naive
from tests.scheduler_core.plugins.world import (
    HOST,
    PLAIN,
    ZONE,
    affinity_scores,
    far,
    near,
    pod,
    rather_near,
    selector,
    shape,
    snapshot,
    spread,
    table,
    term,
    zones,
)

NAMESPACES = ("east", "west")
few = {"max_size": 2}

labels = st.fixed_dictionaries({}, optional={"app": st.sampled_from("ab"), "ver": st.sampled_from("12")})
requirements = st.one_of(
    st.builds(
        Requirement, st.sampled_from(["app", "ver"]), st.sampled_from(["In", "NotIn"]), st.sampled_from([("a",), ("a", "1"), ("2",)])
    ),
    st.builds(Requirement, st.sampled_from(["app", "ver"]), st.sampled_from(["Exists", "DoesNotExist"])),
)
selectors = st.one_of(
    st.none(),
    st.builds(LabelSelector, st.none() | labels, st.none() | st.lists(requirements, max_size=2).map(tuple)),
)
namespace_selectors = st.sampled_from(
    [
        None,
        LabelSelector(),
        LabelSelector(match_labels={naive.NAMESPACE_NAME: "west"}),
        LabelSelector(match_expressions=(Requirement(naive.NAMESPACE_NAME, "NotIn", ("west",)),)),
    ]
)
keys = st.none() | st.sampled_from([("app",), ("ver",), ("app", "ver"), ("none",)])
topology_keys = st.sampled_from([ZONE, ZONE, HOST, "none"])
terms = st.builds(
    PodAffinityTerm,
    topology_key=topology_keys,
    label_selector=selectors,
    namespaces=st.sampled_from([None, (), ("east",), ("east", "west")]),
    namespace_selector=namespace_selectors,
    match_label_keys=keys,
    mismatch_label_keys=keys,
)
sides = st.none() | st.builds(
    PodAffinity,
    st.none() | st.lists(terms, **few).map(tuple),
    st.none() | st.lists(st.builds(WeightedPodAffinityTerm, st.integers(1, 100), terms), **few).map(tuple),
)
node_terms = st.builds(
    NodeSelectorTerm,
    st.none() | st.just((Requirement(ZONE, "In", ("a", "b")),)) | st.just((Requirement("disk", "Exists"),)),
    st.none() | st.just((Requirement("metadata.name", "NotIn", ("n0",)),)),
)
node_affinities = st.none() | st.builds(NodeAffinity, st.none() | st.builds(NodeSelector, st.lists(node_terms, **few).map(tuple)))
constraints = st.builds(
    TopologySpreadConstraint,
    max_skew=st.integers(1, 2),
    topology_key=topology_keys,
    when_unsatisfiable=st.sampled_from(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
    label_selector=selectors,
    min_domains=st.sampled_from([None, 1, 2, 3]),
    node_affinity_policy=st.sampled_from([None, "Honor", "Ignore"]),
    node_taints_policy=st.sampled_from([None, "Honor", "Ignore"]),
    match_label_keys=keys,
)
shapes = st.builds(
    lambda affinity, constraints, node_selector, tolerations: shape(
        affinity, constraints, node_selector=node_selector, tolerations=tolerations
    ),
    st.none() | st.builds(Affinity, node_affinities, sides, sides),
    st.lists(constraints, **few),
    st.sampled_from([(), (), (("disk", "ssd"),)]),
    st.sampled_from([(), (Toleration(key="t", operator="Exists"),)]),
)
node_labels = st.fixed_dictionaries({}, optional={ZONE: st.sampled_from("abc"), HOST: st.sampled_from("uvwx"), "disk": st.just("ssd")})
node_taints = st.sampled_from([(), (), (Taint("t", "NoSchedule"),), (Taint("t", "PreferNoSchedule"),), (Taint("u", "NoExecute"),)])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[NodeTable, list[PodRecord]]:
    count = draw(st.integers(1, 5))
    nodes = table(draw(st.lists(node_labels, min_size=count, max_size=count)), draw(st.lists(node_taints, min_size=count, max_size=count)))
    kinds = draw(st.lists(shapes, min_size=1, max_size=4))
    pods = draw(
        st.lists(
            st.builds(
                pod,
                labels,
                st.sampled_from(kinds),
                node=st.integers(-1, count - 1),
                namespace=st.sampled_from(NAMESPACES),
                terminating=st.sampled_from([False, False, True]),
            ),
            min_size=1,
            max_size=7,
        )
    )
    return nodes, pods


def compare(known: StatefulPlugins, nodes: NodeTable, cluster: naive.Cluster, pods: Sequence[PodRecord], within: list[int] | None) -> None:
    everywhere = list(range(len(nodes)))
    among = everywhere if within is None else within
    seen = [(each, place) for each, place in cluster if place in among]
    inside = None if within is None else np.array(within, dtype=np.int64)
    for comer in pods:
        lacking, crowded, near_, far_, others = [], [], [], [], []
        for node in everywhere:
            reason = naive.spread_reason(nodes, seen, comer, node, among)
            lacking.append(reason != "lacks")
            crowded.append(reason != "crowded")
            near_.append(naive.affinity_allows(nodes, seen, comer, node))
            far_.append(naive.anti_affinity_allows(nodes, seen, comer, node))
            others.append(naive.others_allow(nodes, seen, comer, node))
        masks = dict(known.filter(comer, nodes.everything, inside))
        scores = [naive.score(nodes, seen, comer, node) for node in everywhere]
        untold = np.ones(len(nodes), dtype=bool)

        assert lacking == masks.get(LACKS_TOPOLOGY, untold).tolist()
        assert crowded == masks.get(SPREAD, untold).tolist()
        assert near_ == masks.get(AFFINITY, untold).tolist()
        assert far_ == masks.get(ANTI_AFFINITY, untold).tolist()
        assert others == masks.get(EXISTING_ANTI_AFFINITY, untold).tolist()
        assert scores == affinity_scores(known, comer, nodes.everything, inside).tolist()
        assert known.touches(comer) or (all(lacking + crowded + near_ + far_ + others) and not any(scores))


@settings(max_examples=sampled(250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.data())
def test_filters_and_scores_are_those_of_a_naive_reading(world: tuple[NodeTable, list[PodRecord]], data: st.DataObject) -> None:
    """Through a random history of assuming, removing and rewinding, with and without the cluster cut down to some nodes."""
    nodes, pods = world
    known = StatefulPlugins(snapshot(nodes, *pods))
    cluster = [(each, each.node) for each in pods if each.node >= 0]
    marks: list[tuple[int, list[tuple[PodRecord, int]]]] = []
    for step in data.draw(st.lists(st.sampled_from(["assume", "remove", "mark", "rewind", "forget", "compare"]), max_size=8)):
        if step == "assume":
            comer, node = data.draw(st.sampled_from(pods)), data.draw(st.integers(0, len(nodes) - 1))
            known.assume(comer, node)
            cluster = [*cluster, (comer, node)]
        elif step == "remove" and cluster:
            gone = data.draw(st.integers(0, len(cluster) - 1))
            known.remove(*cluster[gone])
            cluster = cluster[:gone] + cluster[gone + 1 :]
        elif step == "mark":
            marks.append((known.mark(), cluster))
        elif step == "rewind" and marks:
            mark, cluster = marks.pop()
            known.rewind(mark)
        elif step == "forget":
            known.forget()
            marks = []
        elif step == "compare":
            compare(known, nodes, cluster, pods[:2], None)
    compare(known, nodes, cluster, pods, None)
    within = sorted(data.draw(st.sets(st.sampled_from(range(len(nodes))), min_size=1)))
    compare(known, nodes, cluster, pods, within)


@settings(max_examples=sampled(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.randoms(use_true_random=False), st.data())
def test_the_order_of_pods_and_of_candidates_does_not_matter(world, random, data) -> None:
    nodes, pods = world
    shuffled = list(pods)
    random.shuffle(shuffled)
    one, other = StatefulPlugins(snapshot(nodes, *pods)), StatefulPlugins(snapshot(nodes, *shuffled))
    some = np.array(data.draw(st.lists(st.sampled_from(range(len(nodes))), unique=True)), dtype=np.int64)
    for comer in pods:
        of_all, of_some = one.filter(comer, nodes.everything), other.filter(comer, some)

        assert [reason for reason, _ in of_all] == [reason for reason, _ in of_some]
        assert [mask[some].tolist() for _, mask in of_all] == [mask.tolist() for _, mask in of_some]
        assert affinity_scores(one, comer, nodes.everything)[some].tolist() == affinity_scores(other, comer, some).tolist()


APART = shape(far(term(HOST, "a")))


@pytest.mark.parametrize(
    ("comer", "others", "want"),
    [
        pytest.param(pod("a"), [], False, id="nobody says anything"),
        pytest.param(pod("a"), [pod("b", node=0)], False, id="nobody says anything, and somebody runs"),
        pytest.param(pod("b", APART), [], True, id="it wants to be far"),
        pytest.param(pod("b", shape(near(term(HOST, "a")))), [], True, id="it wants to be near"),
        pytest.param(pod("b", shape(rather_near(1, term(HOST, "a")))), [], True, id="it prefers"),
        pytest.param(pod("b", shape(spread=[spread(ZONE, "b")])), [], True, id="it must be spread"),
        pytest.param(
            pod("b", shape(spread=[spread(ZONE, "b", when_unsatisfiable="ScheduleAnyway")])), [], False, id="it had better be spread"
        ),
        pytest.param(pod("b", shape(Affinity())), [], False, id="an empty affinity"),
        pytest.param(pod("a"), [pod("b", APART, node=0)], True, id="one that runs wants it far"),
        pytest.param(pod("a"), [pod("b", APART)], True, id="one that waits wants it far"),
        pytest.param(pod("a"), [pod("b", shape(near(term(HOST, "a"))), node=0)], True, id="one that runs wants it near"),
        pytest.param(pod("a"), [pod("b", shape(rather_near(1, term(HOST, "a"))), node=0)], True, id="one that runs prefers it"),
        pytest.param(pod("c"), [pod("b", APART, node=0)], False, id="one that runs wants another far"),
        pytest.param(pod("a", namespace="other"), [pod("b", APART, node=0)], False, id="one in another namespace"),
        pytest.param(pod("a"), [pod("b", shape(spread=[spread(ZONE, "a")]), node=0)], False, id="one that is spread counts it"),
    ],
)
def test_touches(comer: PodRecord, others: list[PodRecord], want: bool) -> None:
    assert want == StatefulPlugins(snapshot(zones("ab"), comer, *others)).touches(comer)


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param([], False, id="nobody else"),
        pytest.param([pod("b", node=0)], False, id="one that says nothing"),
        pytest.param([pod("b", APART)], True, id="one that waits"),
        pytest.param([pod("b", shape(spread=[spread(ZONE, "a")]), node=0)], True, id="one that is spread"),
    ],
)
def test_active(others: list[PodRecord], want: bool) -> None:
    assert want == StatefulPlugins(snapshot(zones("a"), pod("a"), *others)).active


def test_a_pod_that_the_snapshot_does_not_have_counts_with_all_before_it() -> None:
    """Nothing is counted until somebody says something; then what was assumed, kept and removed meanwhile counts too."""
    nodes = zones("abcd")
    bound, kept, tried = pod("a", node=0), pod("a"), pod("a")
    known = StatefulPlugins(snapshot(nodes, bound))
    known.assume(kept, 1)
    known.forget()
    mark = known.mark()
    known.assume(tried, 2)
    comer = pod("b", APART)

    assert [(ANTI_AFFINITY, [False, False, False, True])] == [
        (reason, mask.tolist()) for reason, mask in known.filter(comer, nodes.everything)
    ]

    known.rewind(mark)
    known.remove(bound, 0)

    assert [[True, False, True, True]] == [mask.tolist() for _, mask in known.filter(comer, nodes.everything)]


def test_one_that_is_assumed_binds_the_next_until_it_is_rewound() -> None:
    nodes = zones("ab")
    first, second = pod("a", APART), pod("a", APART)
    known = StatefulPlugins(snapshot(nodes, first, second))
    mark = known.mark()
    known.assume(first, 0)

    assert [
        (ANTI_AFFINITY, [False, True]),
        (EXISTING_ANTI_AFFINITY, [False, True]),
    ] == [(reason, mask.tolist()) for reason, mask in known.filter(second, nodes.everything)]

    known.rewind(mark)

    assert [(ANTI_AFFINITY, [True, True])] == [(reason, mask.tolist()) for reason, mask in known.filter(second, nodes.everything)]


def test_filters_stand_in_the_order_in_which_upstream_runs_them() -> None:
    everything = Affinity(pod_affinity=near(term(ZONE, "a")).pod_affinity, pod_anti_affinity=far(term(HOST, "b")).pod_anti_affinity)
    comer = pod("a", shape(everything, [spread(ZONE, "a")]))
    known = StatefulPlugins(snapshot(zones("ab"), comer, pod("b", APART, node=0)))

    assert [
        LACKS_TOPOLOGY,
        SPREAD,
        AFFINITY,
        ANTI_AFFINITY,
        EXISTING_ANTI_AFFINITY,
    ] == [reason for reason, _ in known.filter(comer, zones("ab").everything)]


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param([], [], id="none"),
        pytest.param([7], [0], id="one"),
        pytest.param([5, 5], [0, 0], id="equal"),
        pytest.param([0, 1, 2], [0, 50, 100], id="spread out"),
        pytest.param([-3, 0], [0, 100], id="below zero"),
        pytest.param([10, 11, 13], [0, 33, 100], id="cut off"),
        # In floats 100 * (29 / 100) lies below 29, and what is behind the point goes: so does upstream.
        pytest.param([0, 29, 100], [0, 28, 100], id="as floats have it"),
    ],
)
def test_normalise(raw: list[int], want: list[int]) -> None:
    assert want == InterPodAffinity(PodCounts(zones("a"))).normalise(np.array(raw, dtype=np.int64)).tolist()


REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
BY_TEAM = LabelSelector(match_labels={"team": "x"})


@pytest.mark.parametrize(
    ("affinity", "want"),
    [
        pytest.param(None, (), id="no affinity"),
        pytest.param(near(term(ZONE, "a")), (), id="no selector"),
        pytest.param(near(term(ZONE, "a", namespace_selector=LabelSelector())), (), id="all namespaces"),
        pytest.param(
            near(term(ZONE, "a", namespace_selector=selector(None, Requirement(naive.NAMESPACE_NAME, "Exists")))), (), id="by name"
        ),
        pytest.param(
            near(term(ZONE, "a"), term(ZONE, "a", namespace_selector=BY_TEAM)),
            (f"spec.affinity.podAffinity.{REQUIRED}[1].namespaceSelector",),
            id="required",
        ),
        pytest.param(
            Affinity(
                pod_affinity=rather_near(1, term(ZONE, "a", namespace_selector=BY_TEAM)).pod_affinity,
                pod_anti_affinity=far(term(ZONE, "a", namespace_selector=BY_TEAM)).pod_anti_affinity,
            ),
            (
                f"spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.namespaceSelector",
                f"spec.affinity.podAntiAffinity.{REQUIRED}[0].namespaceSelector",
            ),
            id="preferred, and anti-affinity",
        ),
    ],
)
def test_unmodelled(affinity: Affinity | None, want: tuple[str, ...]) -> None:
    comer = pod("a", shape(affinity))

    assert want == StatefulPlugins(snapshot(zones("a"), comer)).unmodelled(comer)


def test_a_namespace_selector_that_cannot_be_told_selects_no_namespace() -> None:
    nodes = zones("ab")
    comer = pod("a", shape(far(term(ZONE, "b", namespace_selector=BY_TEAM, namespaces=("listed",)))))
    others = [pod("b", node=0), pod("b", node=1, namespace="listed")]

    assert [[True, False]] == [
        mask.tolist() for _, mask in StatefulPlugins(snapshot(nodes, comer, *others)).filter(comer, nodes.everything)
    ]


def test_there_may_be_no_node() -> None:
    nodes = table([])
    comer = pod("a", shape(near(term(ZONE, "a")), [spread(ZONE, "a")]))
    known = StatefulPlugins(snapshot(nodes, comer, pod("b", PLAIN)))

    assert [[], [], []] == [mask.tolist() for _, mask in known.filter(comer, nodes.everything)]
    assert [] == known.score(comer, nodes.everything).tolist()
