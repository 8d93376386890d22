"""Certificate of infeasibility: a proof in JSON that a root has no placement, which can be checked from the objects alone.

A proof refutes a state: groups of the tree, each with the nodes in which it must be satisfied, all of them together.  The first state is
the root within all nodes.  A group is named by kind and name, ``PodGroup/a``.  A proof has one of three rules:

- ``{"rule": "room", "key", "size", "measure", "needed", "free"}``: the groups need more than can be filled.  Without a key, ``needed``
  counts all groups of the state, and ``free`` is what their pods can fill on the nodes of the state.  Each pod is on one node that its node
  selector, its node affinity and its tolerations admit.  With a key, ``needed`` counts the groups that have this key and may use all nodes
  of the state.  ``free`` is what they can fill in the domains of the key, each group in one domain.  The least needs of the other groups
  inside a domain are subtracted from it.
- ``{"rule": "ways", "group", "each"}``: a case distinction, with one proof for each way of a group.  The ways are the domains of its key,
  named by the values of that label.  For a group in one domain they are the quorums of its children, named by the sorted names of these
  children with a space between them.
- ``{"rule": "known", "number"}``: the earlier proof of that number refutes groups of this state, within the same nodes or more.

``only`` restricts a proof to some groups of the state.  A proof has a ``number`` if later proofs refer to it.

A ``measure`` gives one size for each of some resources, in thousandths of the unit of a quantity.  A pod measures the minimum of
floor(request / size), a node the minimum of floor(free / size).  A group measures at least the sum of its smallest pods or children that
meet its minimum.  Measures are integers, so the content of a node or domain is a sum of some of them.  At most ``needed`` counts for one
node or domain.  With a ``size`` other than 1 the needs of groups and the capacities of domains are divided by it and rounded down.

A certificate is a proof with its ``root``, ``beside`` and ``empty``.  ``beside`` gives the nodes of pods that earlier roots received or
that are nominated.  With ``empty`` only running members of the root use capacity, so no eviction can help.  The certificate knows less
than the scheduler: a toleration covers every taint of its key, comparisons of numbers in node affinity hold, every node declares every
feature, and a volume or device is everywhere unless a measure counts it.

``attributes`` lists the topology keys that are attributes of devices.  The domain of a node is the value of such an attribute, if all devices
that the node reaches and that have the attribute have the same value.

``counted`` says what the names in measures count that are not allocatable resources of nodes:

- ``{"driver": NAME}``: volumes of a CSI driver that a node can attach.  A pod needs one for each of its claims with such a volume, or with
  a class of this provisioner, that no other pod uses and that has no VolumeAttachment.  A running pod uses one for each of its claims
  with such a volume that is not attached to its node and that no other pod uses that is pending or on its node.  A node has the limit of
  its CSINode, without the volumes of the driver that are attached to it, or 2147483647 without a limit.
- ``{"volumes": [NAME...]}``: free PersistentVolumes.  A pod needs one for each of its claims that wait for a pod and match only volumes of
  the list.  A node has those of the list that its labels admit.
- ``{"devices": ["DRIVER/POOL/DEVICE"...]}``: devices that one node reaches.  A pod needs as many as the requests demand that can use only
  devices of the list: requests for a number of devices in claims that are not allocated and that no other pod uses, and requests of its
  containers for extended resources of device classes.  A node has those of the list on it, without those in the status of a claim; with
  ``empty`` it has all.  Requests that no device serves count for an empty list alone.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.exact.certificate.facts import Facts
from scheduler_core.exact.certificate.refutation import Refutation
from scheduler_core.exact.step_budget import StepBudget
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState


def certificate(state: PlacementState, request: PlacementRequest, steps: int, *, empty: bool = False) -> dict[str, Any]:
    """Return the key ``proof`` with a proof that *request* has no placement on *state*, and ``attributes`` and ``counted`` if not empty.

    With *empty* only members of the root use capacity.

    Raises:
        TooLongError: the proof would be too long.
        UnprovenError: no such proof exists.
        StepsSpentError: *steps* are spent before a proof is known.

    """
    facts = Facts(state, request, empty=empty)
    proof = Refutation(facts, StepBudget(steps)).proof()
    more = {"attributes": sorted({group.key for group in facts.groups} & state.nodes.device_levels.keys()), "counted": facts.counted(proof)}
    return {**{key: each for key, each in more.items() if each}, "proof": proof}
