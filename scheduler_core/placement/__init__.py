"""Greedy placement, as kube-scheduler does it; imports ``model``, ``plugins`` and ``queueing``.

greedy                 a tree: every candidate placement evaluated, no sibling moved
pod_group              the pods of one group on one placement
candidate_placements   TopologyAware: the placements that a group has to choose from
feasibility            PlacementFeasible: can the minimum still be met
composite_progress     how the children of a composite fare so far
placement_score        which of several feasible placements is taken
state                  all that placement works on, made once from a snapshot
placement_request      what of an entity decides where it goes
outcome                what came of a group on a placement
equal_pods             equal pods at once
equal_pods_by_domain   equal pods in every domain at once
equal_pods_normalized  equal pods whose scores are normalised over the feasible nodes
interleaved_shapes     pods of few shapes in many short runs
pod_by_pod             any pods, one by one
domain_cache           what a group comes to in every domain, kept up to date
lower_bound            domains that cannot hold a group's minimum
counters               candidate placements evaluated
extension_points       what plugins of other packages may add
"""
