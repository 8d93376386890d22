"""Changes that work, and constraints that conflict.

remedies         what would help a root
for_decisions    which decisions of a simulation get remedies
candidates       edits that may help, from little to much
verified         edits tried, and those kept that work
bisection        the most and the least that works, in few tries
lower_demands    groups that demand less
make_room        running pods that move or leave, nodes that come
node_kinds       kinds of nodes that may be added
nodes_by_domain  nodes for several domains at once
conflict         the smallest set of constraints that cannot hold together
"""
