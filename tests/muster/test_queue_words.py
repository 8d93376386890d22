"""Verdicts about Kueue's queues, in words."""

from __future__ import annotations

import pytest

from expansion import queue_notes as notes
from expansion.queue_notes import Mismatch, QueueNote, QueueQuotaExceeded
from kubeapi.names import Name
from muster.render.queue_words import queue_words

GPU = "nvidia.com/gpu"
CQ = Name("ClusterQueue", "", "research")
WORKLOADS = tuple(Name("Workload", "team", name) for name in "abcde")
SHORT = "queue research leaves 8 nvidia.com/gpu of flavor h100"
CASES: list[tuple[QueueNote, str]] = [
    (
        QueueQuotaExceeded(CQ, "h100", GPU, 8, 16, 8, 0, 8, cohort="ml"),
        f"{SHORT} (nominal 8, cohort ml lends 0), 16 needed",
    ),
    (QueueQuotaExceeded(CQ, "h100", GPU, 8, 16, 8, 0, 8), f"{SHORT} (nominal 8), 16 needed"),
    (QueueQuotaExceeded(CQ, "h100", GPU, 8, 10, 12, 4, 12), f"{SHORT} (nominal 12, 4 used), 10 needed; it waits until others end"),
    (
        QueueQuotaExceeded(CQ, "h100", GPU, 2, 4, 12, 10, 12, own=8),
        "queue research leaves 2 nvidia.com/gpu of flavor h100 (nominal 12, 2 used, 8 for other pods of it), 4 more needed; it waits until others end",
    ),
    (QueueQuotaExceeded(CQ, "h100", GPU, 8, 13, 12, 4, 12), f"{SHORT} (nominal 12, 4 used), 13 needed: more than it can ever have"),
    (
        QueueQuotaExceeded(CQ, "h100", GPU, 8, 10, 12, 4, 12, preempted=WORKLOADS[:1]),
        f"{SHORT} (nominal 12, 4 used), 10 needed; Kueue preempts 1 Workload, team/a, for it",
    ),
    (
        QueueQuotaExceeded(CQ, "h100", GPU, 8, 10, 12, 4, 12, preempted=WORKLOADS),
        f"{SHORT} (nominal 12, 4 used), 10 needed; Kueue preempts 5 Workloads, team/a, team/b, team/c and 2 more, for it",
    ),
    (
        QueueQuotaExceeded(CQ, "default", "memory", 2**30, 3 * 2**29, 2**30, 0, 2**30),
        "queue research leaves 1Gi memory of flavor default (nominal 1Gi), 1.5Gi needed",
    ),
    (
        QueueQuotaExceeded(CQ, "default", "cpu", 500, 1500, 500, 0, 500),
        "queue research leaves 0.5 cpu of flavor default (nominal 0.5), 1.5 needed",
    ),
    (notes.ResourceNotCovered(CQ, "cpu"), "queue research has no quota of cpu: no resource group covers it"),
    (
        notes.FlavorUnsuitable(CQ, "spot", "workers", Mismatch.TAINT),
        "queue research: flavor spot has a taint that its pods do not tolerate (part workers)",
    ),
    (notes.QueueMissing(Name("LocalQueue", "team", "mian"), "main"), "there is no LocalQueue team/mian; did you mean 'main'?"),
    (
        notes.QueueInactive(CQ, stopped=True, missing_objects=(Name("ResourceFlavor", "", "a"), Name("AdmissionCheck", "", "b"))),
        "ClusterQueue research admits nothing: its stopPolicy holds it; there is no ResourceFlavor a, AdmissionCheck b",
    ),
    (
        notes.QueueInactive(CQ, terminating=True, in_cycle=True, inactive_checks=(Name("AdmissionCheck", "", "b"),)),
        "ClusterQueue research admits nothing: it is being deleted; its cohort is its own ancestor; AdmissionCheck b is not active",
    ),
    (notes.NamespaceNotSelected(CQ), "the namespace selector of queue research does not match its namespace"),
    (notes.AdmittedByQueue(CQ, ("h100",), 2, 2), "queue research of Kueue has quota for it, on nodes of flavor h100: it is admitted"),
    (
        notes.AdmittedByQueue(CQ, ("h100", "cpu"), 3, 4, borrows=True, checks=("a", "b")),
        (
            "queue research of Kueue has quota for it, on nodes of flavor h100, cpu, with quota that others lend: "
            "it is admitted with 3 of its 4 pods; its pods start when a, b are ready too"
        ),
    ),
    (
        notes.QueueUnused(Name("LocalQueue", "a", "main")),
        "queue main has no effect: Kueue does not manage this kind; with the label in the pod template it queues the pods",
    ),
    (notes.FlavorsAssumed(("a", "b")), "a, b: not among the inputs, and taken to have no node labels, taints and topology"),
    (
        notes.NamespaceLabelsUnknown(CQ),
        "its labels are not known, and are taken to match the selector of queue research: add the Namespace",
    ),
    (notes.RunsElsewhere("mk"), "Kueue starts it in another cluster, by the AdmissionCheck mk: its pods are not simulated"),
]


@pytest.mark.parametrize(("fact", "words"), CASES, ids=[f"{type(fact).__name__}-{number}" for number, (fact, _) in enumerate(CASES)])
def test_words(fact, words):
    assert words == queue_words(fact)


@pytest.mark.parametrize("mismatch", Mismatch)
def test_every_mismatch_has_words(mismatch):
    assert queue_words(notes.FlavorUnsuitable(CQ, "spot", "", mismatch)).startswith("queue research: flavor spot has ") or (
        mismatch is Mismatch.FLAVOR_MISSING
    )
