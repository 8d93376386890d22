"""One cycle over a snapshot: roots in the order of the queue, each placed whole or not at all; imports all but ``whatif``.

run_cycle  the cycle
decider    one root: place, else preempt, else diagnose
effects    what a decision changes in a snapshot: nodes, victims, nominations
preemptor  what the choice of victims asks of placement
proofs     certificates for the roots that were proved to have no placement
verdicts   what a root's outcome means for every group of its tree
"""
