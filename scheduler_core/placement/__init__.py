"""Greedy placement as in kube-scheduler; imports ``model``, ``plugins`` and ``queueing``.

greedy                 places a tree: evaluates every candidate placement, never moves a sibling
pod_group              places the pods of one group on one placement
candidate_placements   TopologyAware: candidate placements of a group
feasibility            PlacementFeasible: decides whether the minimum of a group can still be met
placement_score        selection among feasible placements
state                  placement state: nodes, ledger, plugins, nominations
placement_request      an entity prepared for placement, with its signature
rank_order             lets equal pods of a group exchange nodes by their ranks
outcome                result of one group on one placement
equal_pods             places equal pods in one step
equal_pods_by_domain   the same for all domains of a topology level in one step
equal_pods_normalized  the same with scores that are normalised over the feasible nodes
soft_spread            the same with topology spread constraints that score nodes
interleaved_shapes     places pods of few shapes in many short runs
pod_by_pod             places any pods one by one
domain_cache           results of a group in every domain, updated on change
equal_domains          domains in which a group has equal results: one of them is tried for all
infeasible_domains     rules out domains that cannot hold a group's minimum, without a trial
counters               counts of evaluated candidate placements
extension_points       interfaces for placement plugins of other packages
"""
