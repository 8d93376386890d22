"""Parts of a random world (``tests.reliability.worlds``).

history       what an observer has seen of the API, in the order of the changes
invariants    what must hold of a history and of the objects at its end; pure
population    groups, trees, pods and nodes that come and go
replicas      sidecars with a proxy, a network namespace and a clock of their own
faults        what happens to a world, drawn from its seed
"""
