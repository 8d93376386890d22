"""Why a root has no placement, written down so that it can be checked without the search, from the objects alone.

A proof is about a state: groups of the tree, each with the nodes that it must be met within, all of them together.  At first that is
the root within all nodes.  A group is named by kind and name, ``PodGroup/a``.  A proof, as JSON, is one of these:

- ``{"rule": "room", "key", "size", "measure", "needed", "free"}``: more is needed than is free.  Without a key all groups of the state
  are looked at: ``free`` is what their pods can fill within the nodes of the state, each pod on one node that its node selector, its
  node affinity and its tolerations admit.  With one it is the groups that have this key and may be anywhere in the nodes of the state:
  ``free`` is what they can fill of its domains, each group in one domain, beside what the others need at least inside a domain.
- ``{"rule": "ways", "group", "each"}``: a proof for each way of one group; these are the domains of its key, by the values of that
  label, or once it is in one domain the quorums of its children, by their names in order with a space between them.
- ``{"rule": "known", "number"}``: what the proof of that number refutes is a part of the state, or wider.

A proof may say ``only`` of which groups of the state it speaks, and has a ``number`` where others refer to it; these come later.

A ``measure`` is so much of some resources, in thousandths of what quantities say: a pod measures how often it is in what the pod takes,
a node how often it is in what is free there, and a group at least what the smallest of its pods or children do that meet its minimum.
All of that are whole numbers, as are pods on nodes and groups in domains: what is filled is a sum of some of theirs, never more, and of
no node or domain more counts than is needed in all.  With a ``size`` other than 1 what groups need and domains have is divided by it
and rounded down.

A certificate is a proof with its ``root``; with ``beside``, the nodes of pods that roots before it were given, or that are promised one;
and with ``empty``: whether it is as if only members of the root ran, so that no eviction can help.  What is told of tolerations and node
affinity is a little less than the scheduler knows: a toleration is of every taint of its key, and what compares numbers holds.
"""

from __future__ import annotations

from scheduler_core.exact.certificate.facts import Facts
from scheduler_core.exact.certificate.refutation import Proof, Refutation
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState


def certificate(state: PlacementState, request: PlacementRequest, steps: int, *, empty: bool = False) -> Proof:
    """The proof that *request* has no placement on *state* as it stands, or (*empty*) if nothing but its own members ran.

    Raises:
        TooLongError: it would be too long.
        UnprovenError: a proof in these terms does not exist.
        StepsSpentError: *steps* do not suffice to find it.

    """
    return Refutation(Facts(state, request, empty=empty), StepBudget(steps)).proof()
