"""Stateful plugins on random small clusters compared with a naive implementation, through assume, remove and rewind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubeapi.affinity import Affinity, NodeAffinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from kubeapi.nodes import Taint
from kubeapi.pods import Toleration, TopologySpreadConstraint
from kubeapi.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.sampling import sampled
from tests.scheduler_core.plugins import naive
from tests.scheduler_core.plugins.world import (
    HOST,
    ZONE,
    affinity_scores,
    pod,
    shape,
    snapshot,
    table,
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
            others.append(naive.anti_affinity_of_others_allows(nodes, seen, comer, node))
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
def test_filters_and_scores_are_those_of_a_naive_implementation(world: tuple[NodeTable, list[PodRecord]], data: st.DataObject) -> None:
    """Random history of assume, remove and rewind, with and without restriction to some nodes."""
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
            removed = data.draw(st.integers(0, len(cluster) - 1))
            known.remove(*cluster[removed])
            cluster = cluster[:removed] + cluster[removed + 1 :]
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
