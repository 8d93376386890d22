"""Slow second implementation of one scheduling cycle of kube-scheduler 1.37.1, on raw objects, for tests only.

It shares no code with ``scheduler_core``: plain dicts in, plain dicts out, one loop over nodes, no arrays and no cache.
``cycle.run`` returns the answer that the greedy strategy must give.  ``brute`` searches for any placement and reports the
violations of a given one.  ``strategies`` makes small clusters, ``compare`` compares an answer of ``muster simulate`` with it.

Not read here: inter-pod affinity, topology spread, volumes, resource claims, image locality; preemption for a pod without a
group.  Where upstream chooses at random, the smallest name of a node, a domain or a preemption unit wins.
"""
