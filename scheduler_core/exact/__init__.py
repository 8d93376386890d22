"""Complete search: finds a placement of a tree's minimum where there is one, and proves that there is none; imports ``placement``.

complete     strategy ``complete``: greedy first, then search
step_budget  how much a search may do, counted in steps
needs        what a tree needs at least, wherever it goes
packing      pods on nodes
tree         domains and quorums
certificate  proofs of infeasibility
"""
