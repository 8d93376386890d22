"""How a cycle is run: what the caller may choose."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class PlacingOptions:
    """Where the documents ask for more than kube-scheduler 1.37.1 does on a valid tree; as they are, ``greedy`` decides as it does.

    Attributes:
        four_statuses: tell hopeless groups from those that eviction could help (KEP-6012, PlacementFeasible), and skip what is
            inadmissible before any pod of it is tried.
        nominated_first: take the domain of nominated members where it is feasible (KEP-5732, Respecting NominatedNodeName).
        percentage_of_placements: stop after so many percent of the placements were found feasible (KEP-5732, Limit on the Number of
            Checked Placements); 0 for the adaptive limit, 100 for all.
        every_pod: reject a placement where any pod of the group finds no node (KEP-5732, Heterogeneous PodGroup Handling).
        preempt_for_leftovers: preempt for the pods that a running gang could not place although others were placed (KEP-6012,
            Preemption triggering rules).
        preempt: let a root that does not fit make others leave.

    """

    four_statuses: bool = False
    nominated_first: bool = False
    percentage_of_placements: int = 100
    every_pod: bool = False
    preempt_for_leftovers: bool = False
    preempt: bool = True
