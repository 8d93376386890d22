"""Plans of evictions: sets of units, what they must achieve and what they cost.

required_pods  pods that a root must place, and within which domains
group_domains  domains of the groups, as a tree
kinds          groups by their needs
plan_cost      the order of plans
cost_weights   the same order as one integer weight for each unit
effort         budget of a search for plans, counted in steps
"""
