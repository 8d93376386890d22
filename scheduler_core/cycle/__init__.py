"""One cycle over a snapshot: roots in queue order, each placed whole or not at all; imports all but ``whatif``.

run_cycle  the cycle
decider    one root: place, else preempt, else diagnose
preemptions    preemption for one root after the other
planned_roots     roots for which pods were evicted: their nominated pods come first
claim_release  evictions of all users of claims that the root names
unreserved_claims  claims that are allocated but reserved for nobody
device_decisions  devices of a decision
volume_choices    volumes of a decision
claim_consumers   limit of the consumers of a claim
device_holders    devices that the eviction of a pod frees
effects    changes of a snapshot by a decision: nodes, victims, nominations
preemptor  placement as needed for the selection of victims
proofs     certificates for roots that are proved to have no placement
verdicts   status of every group of a tree, derived from the root's outcome
"""
