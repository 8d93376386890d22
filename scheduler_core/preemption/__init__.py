"""Preemption: victims that make a root fit; imports ``placement``.

units    preemption units: pods that are evicted together
result   the result of a preemption
victims  selection of victims as in kube-scheduler
plans    sets of units, what they must achieve and what they cost
bounds   lower bounds on the cost of a plan
minimal  plans with the fewest units
"""
