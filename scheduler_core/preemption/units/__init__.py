"""Preemption units: pods that are evicted together.

preemption_units    units of a snapshot: single pods, and groups with disruption mode ``all``
unit_order          importance of units: the order of reprieve
units_by_node       units and their nodes as arrays
disruption_budgets  victims that break a PodDisruptionBudget
"""
