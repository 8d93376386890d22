"""What a plan of evictions costs at least.

shortage     how few units, from what a root needs and what is free
relaxed      the cost in one domain, where a unit on several nodes is paid node by node
opening      what groups come to once they have found their domain
domain_cost  room for so many pods in the parts of a domain
node_cost    nodes: how many pods they could hold, and who is in the way
cost_table   the least cost of so many of each kind in some places
ways         which units must leave one node for so many pods of each shape
"""
