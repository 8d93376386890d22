"""Preemption units: what leaves together.

units               pods, or groups of disruption mode ``all``
unit_order          the order in which units are tried for a reprieve
units_by_node       units and the nodes that they touch, in arrays
disruption_budgets  which victims would break a PodDisruptionBudget
"""
