"""Who must leave, so that a root fits: preemption units, their order, disruption budgets, and the choice of victims."""
