"""What a plan of evictions has to do, and what it costs.

required_pods  what a root must place at least, and within which domains
areas          the domains that its groups may have
kinds          its groups by what they need
plan_cost      the order in which plans are better than others
cost_weights   the same as one number
effort         how much may be done to better a plan, counted in steps
"""
