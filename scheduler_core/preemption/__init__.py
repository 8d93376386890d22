"""Who must leave, so that a root fits; imports ``placement``.

units    preemption units: what leaves together
result   what a preemption comes to
victims  the choice as kube-scheduler makes it
plans    what a plan has to do, and what it costs
bounds   what a plan costs at least
minimal  the fewest units that must leave
"""
