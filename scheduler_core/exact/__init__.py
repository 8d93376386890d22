"""Complete search: a placement of the minimum of a tree, or a proof that none exists; imports ``placement``.

complete     strategy ``complete``: greedy first, then the search
shared_claims  roots whose pods share a claim for which a volume must be provisioned
step_budget  budget of a search, counted in steps
needs        pods that a tree lacks
packing      pods on nodes
tree         domains and quorums
certificate  proofs of infeasibility
"""
