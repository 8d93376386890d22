"""Lower bounds on the cost of a plan.

shortage     least number of units, from the needs of a root and the free amounts
relaxed      least cost in one domain, if a unit can be paid in part on each of its nodes
group_opening  groups replaced by the pods or children that meet their minimum
domain_cost  least cost of pods in the areas of one domain
node_cost    candidate nodes: how many pods they hold, and which units are in the way
cost_table   least cost for each number of items of each kind
node_fillings  maximal fillings of one node, with the units to evict
"""
