"""Equal pods with topology spread constraints that score nodes (``ScheduleAnyway``), placed in one step.

``fill_spread`` places pods one after the other; only the scores of the domains that a pod changes are computed again.  Two special cases give
the same nodes in less time, and ``benchmarks.bench_placement`` compares the times: ``first_pods`` and ``forecast``.

fill_spread   places equal pods, each on the best node
first_pods    a few pods, the first that their constraints count
forecast      many pods in one step, while their order can be foreseen
node_classes  feasible nodes by their raw topology spread score
node_codes    feasible nodes in the order of all other scores
"""
