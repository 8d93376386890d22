"""The fewest units that must leave for a root.

minimal_plans     the best plan found, and a bound below which no plan can be
problem           a root, and who may leave for it
exact_plan        the best plan, proved
branch_and_bound  the cheapest units, best first
heuristic_plans   plans where the best one is not found for certain
subsets           sets of so many units
trials            whether a root fits once units have left
"""
