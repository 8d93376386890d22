"""Minimal plans: the fewest units whose eviction makes a root fit.

minimal_plans     the best known plan, and a lower bound
eviction_problem  a root, and the units that can be evicted for it
exact_plan        the best plan, with a proof
branch_and_bound  the cheapest units, best-first search
heuristic_plans   plans if the exact search does not finish
kept_users        plans that keep running users of attached volumes
subsets           enumeration of sets of units of one size
trials            placements of the root without certain units
"""
