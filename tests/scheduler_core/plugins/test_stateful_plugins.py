"""Bookkeeping of the stateful plugins: affected pods, assume and rewind, order, normalization, fields that are not modelled."""

from __future__ import annotations

import numpy as np
import pytest

from kubeapi.affinity import Affinity
from kubeapi.selectors import LabelSelector, Requirement
from scheduler_core.model.pods import PodRecord
from scheduler_core.plugins.inter_pod_affinity import AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.pod_counts import PodCounts
from scheduler_core.plugins.pod_topology_spread import LACKS_TOPOLOGY, SPREAD
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.scheduler_core.plugins import naive
from tests.scheduler_core.plugins.world import (
    HOST,
    PLAIN,
    ZONE,
    affinity_to,
    anti_affinity,
    pod,
    preferred_affinity,
    selector,
    shape,
    snapshot,
    spread,
    table,
    term,
    zones,
)

APART = shape(anti_affinity(term(HOST, "a")))


@pytest.mark.parametrize(
    ("comer", "others", "want"),
    [
        pytest.param(pod("a"), [], False, id="nobody says anything"),
        pytest.param(pod("a"), [pod("b", node=0)], False, id="nobody says anything, and somebody runs"),
        pytest.param(pod("b", APART), [], True, id="it wants to be far"),
        pytest.param(pod("b", shape(affinity_to(term(HOST, "a")))), [], True, id="it wants to be near"),
        pytest.param(pod("b", shape(preferred_affinity(1, term(HOST, "a")))), [], True, id="it prefers"),
        pytest.param(pod("b", shape(spread=[spread(ZONE, "b")])), [], True, id="it must be spread"),
        pytest.param(
            pod("b", shape(spread=[spread(ZONE, "b", when_unsatisfiable="ScheduleAnyway")])), [], False, id="it had better be spread"
        ),
        pytest.param(pod("b", shape(Affinity())), [], False, id="an empty affinity"),
        pytest.param(pod("a"), [pod("b", APART, node=0)], True, id="one that runs wants it far"),
        pytest.param(pod("a"), [pod("b", APART)], True, id="one that waits wants it far"),
        pytest.param(pod("a"), [pod("b", shape(affinity_to(term(HOST, "a"))), node=0)], True, id="one that runs wants it near"),
        pytest.param(pod("a"), [pod("b", shape(preferred_affinity(1, term(HOST, "a"))), node=0)], True, id="one that runs prefers it"),
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
    """Counting starts at the first request; pods assumed, kept and removed before count too."""
    nodes = zones("abcd")
    bound, remaining, candidates = pod("a", node=0), pod("a"), pod("a")
    known = StatefulPlugins(snapshot(nodes, bound))
    known.assume(remaining, 1)
    known.forget()
    mark = known.mark()
    known.assume(candidates, 2)
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


def test_filters_are_in_the_order_in_which_upstream_runs_them() -> None:
    everything = Affinity(
        pod_affinity=affinity_to(term(ZONE, "a")).pod_affinity, pod_anti_affinity=anti_affinity(term(HOST, "b")).pod_anti_affinity
    )
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
        pytest.param(affinity_to(term(ZONE, "a")), (), id="no selector"),
        pytest.param(affinity_to(term(ZONE, "a", namespace_selector=LabelSelector())), (), id="all namespaces"),
        pytest.param(
            affinity_to(term(ZONE, "a", namespace_selector=selector(None, Requirement(naive.NAMESPACE_NAME, "Exists")))), (), id="by name"
        ),
        pytest.param(
            affinity_to(term(ZONE, "a"), term(ZONE, "a", namespace_selector=BY_TEAM)),
            (f"spec.affinity.podAffinity.{REQUIRED}[1].namespaceSelector",),
            id="required",
        ),
        pytest.param(
            Affinity(
                pod_affinity=preferred_affinity(1, term(ZONE, "a", namespace_selector=BY_TEAM)).pod_affinity,
                pod_anti_affinity=anti_affinity(term(ZONE, "a", namespace_selector=BY_TEAM)).pod_anti_affinity,
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


def test_a_namespace_selector_that_cannot_be_evaluated_selects_no_namespace() -> None:
    nodes = zones("ab")
    comer = pod("a", shape(anti_affinity(term(ZONE, "b", namespace_selector=BY_TEAM, namespaces=("listed",)))))
    others = [pod("b", node=0), pod("b", node=1, namespace="listed")]

    assert [[True, False]] == [
        mask.tolist() for _, mask in StatefulPlugins(snapshot(nodes, comer, *others)).filter(comer, nodes.everything)
    ]


def test_there_may_be_no_node() -> None:
    nodes = table([])
    comer = pod("a", shape(affinity_to(term(ZONE, "a")), [spread(ZONE, "a")]))
    known = StatefulPlugins(snapshot(nodes, comer, pod("b", PLAIN)))

    assert [[], [], []] == [mask.tolist() for _, mask in known.filter(comer, nodes.everything)]
    assert [] == known.score(comer, nodes.everything).tolist()
