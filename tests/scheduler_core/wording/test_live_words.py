"""Causes of a live cluster: their texts, and where they are in a message."""

from __future__ import annotations

import datetime as dt

import pytest

from scheduler_core.causes.attempts import PluginReason
from scheduler_core.causes.live import (
    Awaited,
    ClaimsAwaited,
    ClaimsUnreleased,
    ClaimUnreserved,
    DeviatingPod,
    Deviation,
    EvictionRefused,
    EvictionsBlocked,
    ExceededBudget,
    GangUndone,
    NodeWithoutHostname,
    ObjectsAwaited,
    OverlappingBudgets,
    PartiallyBound,
    PinnedPodsAwaited,
    PlacementDeviated,
    StaleExtendedClaim,
    UndoReason,
    Unlisted,
    UnlistedReason,
)
from scheduler_core.causes.pre_enqueue import MembersGated, QuorumAwaited, QuorumShortage
from scheduler_core.model.device_claims import claim_of
from scheduler_core.model.names import Name
from scheduler_core.wording.decision_words import causes_words
from scheduler_core.wording.truncation import LONGEST

UNTIL = dt.datetime(2026, 1, 1, 0, 5, tzinfo=dt.UTC)
KEEP, ALSO = (Name("PodDisruptionBudget", "default", name) for name in ("keep", "also"))
GROUP = Name("PodGroup", "default", "g")
RETRIED = "retried when a PodDisruptionBudget changes, at the latest after 300 s"
FORBIDDEN, NOT_SERVED = Unlisted(UnlistedReason.FORBIDDEN), Unlisted(UnlistedReason.NOT_SERVED)


@pytest.mark.parametrize(
    ("cause", "want"),
    [
        pytest.param(
            EvictionsBlocked((ExceededBudget(KEEP, 0, ("a/b",)), OverlappingBudgets("a/c", (ALSO, KEEP))), 299.6),
            "preemption is blocked: PodDisruptionBudget default/keep allows 0 disruptions and matches 1 victim (a/b); pod a/c matches "
            f"PodDisruptionBudgets also and keep, and the eviction API refuses a pod with more than one; {RETRIED}",
            id="budgets",
        ),
        pytest.param(
            EvictionsBlocked((ExceededBudget(KEEP, 1, ("a/b", "a/c", "a/d", "a/e", "a/f")),), 300.0),
            "preemption is blocked: PodDisruptionBudget default/keep allows 1 disruption and matches 5 victims (a/b, a/c, a/d and 2 more); "
            f"{RETRIED}",
            id="many victims",
        ),
        pytest.param(
            EvictionsBlocked(EvictionRefused("a/b", "too many"), 300.0),
            f"preemption is blocked: the eviction of pod a/b was refused: too many; {RETRIED}",
            id="an eviction that was refused",
        ),
        pytest.param(
            ClaimsUnreleased((claim_of("a/b"), claim_of("a/c"))),
            "waiting until the claims of pods that are gone are released: a/b, a/c",
            id="unreleased claims",
        ),
        pytest.param(
            ClaimsAwaited((claim_of("a/b"),)),
            "waiting for claims that get devices when evicted pods are gone: a/b",
            id="claims of evicted pods",
        ),
        pytest.param(
            ObjectsAwaited(Name("Pod", "a", "b"), (("CSINode", Unlisted()), ("Service", Unlisted(error="down")))),
            "waiting for objects that pod a/b needs: CSINode objects are not listed yet; Service objects are not listed yet: down",
            id="kinds that are not listed yet",
        ),
        pytest.param(
            ObjectsAwaited(GROUP, (("CSINode", FORBIDDEN), ("Service", FORBIDDEN), ("Workload", NOT_SERVED))),
            "waiting for objects that PodGroup default/g needs: CSINode and Service objects cannot be listed: allow the verbs list and watch "
            "for csinodes.storage.k8s.io and services in the sidecar's ClusterRole; the API server does not serve Workload objects: look at "
            "its flag --runtime-config",
            id="kinds that cannot be listed",
        ),
        pytest.param(
            PartiallyBound(2, UNTIL),
            "partially bound: waiting until 2026-01-01T00:05:00Z for the missing pods; then the 2 pods with a node are deleted",
            id="partially bound",
        ),
        pytest.param(
            PartiallyBound(1, UNTIL),
            "partially bound: waiting until 2026-01-01T00:05:00Z for the missing pods; then the 1 pod with a node is deleted",
            id="one pod is bound",
        ),
        pytest.param(
            PartiallyBound(1, None), "partially bound: waiting until its pods that are being deleted are gone", id="bound and being deleted"
        ),
        pytest.param(
            PinnedPodsAwaited(2, UNTIL),
            "waiting until 2026-01-01T00:05:00Z for the scheduler of its 2 pinned pods; then they are deleted",
            id="pinned",
        ),
        pytest.param(
            PinnedPodsAwaited(1, UNTIL),
            "waiting until 2026-01-01T00:05:00Z for the scheduler of its 1 pinned pod; then it is deleted",
            id="one pod is pinned",
        ),
        pytest.param(
            PinnedPodsAwaited(2, UNTIL, kept=True),
            "waiting until 2026-01-01T00:05:00Z for the scheduler of its 2 pinned pods",
            id="pinned and kept",
        ),
        pytest.param(
            PartiallyBound(1, None, kept=True),
            "partially bound: waiting for the missing pods; the 1 pod with a node stays",
            id="partially bound and kept",
        ),
        pytest.param(
            PlacementDeviated(
                (
                    DeviatingPod("a/p", "n1", Deviation.BOUND_ELSEWHERE, "n2"),
                    DeviatingPod("a/q", "n1", Deviation.NOT_BOUND, error="0/2 nodes are available"),
                    DeviatingPod("a/r", "n1", Deviation.NODE_GONE),
                    DeviatingPod("a/s", "n1", Deviation.POD_GONE),
                )
            ),
            "not bound as planned: pod a/p is bound to node n2, not to n1; pod a/q is not bound to node n1: 0/2 nodes are available; "
            "pod a/r is not bound, and node n1 no longer exists; pod a/s of node n1 no longer exists",
            id="not as planned",
        ),
        pytest.param(
            GangUndone(UndoReason.PODS_MISSING, 2),
            "partially bound and not completed: pods that it needs are missing, gated or could not be bound; the 2 pods with a node were "
            "deleted",
            id="undone",
        ),
        pytest.param(
            GangUndone(UndoReason.PINNED_PODS_UNBOUND, 1),
            "partially bound and not completed: its pods were not bound to the nodes to which they are pinned; the 1 pod with a node was "
            "deleted",
            id="one pod is undone",
        ),
        pytest.param(Awaited.FIRST_ATTEMPT, "waiting for its first scheduling attempt", id="no attempt yet"),
        pytest.param(Awaited.DELETION, "waiting until its pods that are being deleted are gone", id="deletion"),
        pytest.param(
            NodeWithoutHostname("n1"), "node n1 has no label kubernetes.io/hostname, which is needed to pin pods to it", id="no host name"
        ),
        pytest.param(
            StaleExtendedClaim("a/b", "n1"),
            "the status of pod a/b names a claim for extended resources, but node n1 has them",
            id="stale claim",
        ),
        pytest.param(
            ClaimUnreserved(claim_of("a/c"), "a/b"),
            "claim a/c is not reserved for pod a/b, so its own scheduler can find its devices in use",
            id="unreserved claim",
        ),
    ],
)
def test_each_has_its_text(cause, want):
    assert want == causes_words((cause,))


NO_ROOM, NOTE = PluginReason("0/1 nodes are available."), ClaimsUnreleased((claim_of("a/c"),))
WAITS = causes_words((NOTE,))


def test_before_a_sentence_it_is_a_clause():
    assert f"{WAITS}; 0/1 nodes are available." == causes_words((NOTE, NO_ROOM))
    assert f"{causes_words((PartiallyBound(1, None),))}; {WAITS}; no room. no" == causes_words(
        (PartiallyBound(1, None), NOTE, PluginReason("no room"), PluginReason("no"))
    )


def test_after_a_sentence_it_is_a_clause_and_whole():
    assert f"0/1 nodes are available.; {WAITS}" == causes_words((NO_ROOM, NOTE))

    text = causes_words((PluginReason("x" * 2000), NOTE))
    assert text.endswith(f"x … and {2000 - text.count('x')} more characters; {WAITS}")
    assert len(text) <= LONGEST


def test_a_long_text_after_it_is_not_cut_again():
    gated = (QuorumAwaited(GROUP, tuple(QuorumShortage(Name("PodGroup", "a", "g" * 250), 2, 1) for _ in range(5))),)
    gated = (*gated, *(MembersGated(tuple((f"a/{'p' * 100}-{number}", ("quota",)) for number in range(9))) for _ in range(2)))
    assert len(causes_words(gated)) > LONGEST - 20
    assert f"{WAITS}; {causes_words(gated)}" == causes_words((NOTE, *gated))


def test_many_budgets_and_a_long_refusal_are_cut():
    several = tuple(OverlappingBudgets(f"a/{number}", (ALSO, KEEP)) for number in range(9))
    assert "; … and 6 more; retried" in causes_words((EvictionsBlocked(several, 300.0),))

    text = causes_words((EvictionsBlocked(EvictionRefused("a/b", "x" * 900), 300.0),))
    assert len(f"preemption is blocked: ; {RETRIED}") + 400 >= len(text) > 400
    assert f" more characters; {RETRIED}" in text
