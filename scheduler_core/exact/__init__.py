"""Complete search: a placement of the minimum of a tree, or a proof that none exists; imports ``placement``.

complete     strategy ``complete``: greedy first, then the search
completion   pods beyond the minimum of a plan
step_budget  budget of a search, counted in steps
needs        pods that a tree lacks
volumes      volumes that requests do not count
devices      devices that requests do not count
claims_of_plan  volumes and devices for the claims of a plan
nominated_devices  devices that nominated pods hold
packing      pods on nodes
tree         domains and quorums
certificate  proofs of infeasibility
"""
