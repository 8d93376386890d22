"""A slow second reading of one scheduling cycle of kube-scheduler 1.37.1, on raw objects, for tests only.

It shares no code with ``scheduler_core``: plain dicts in, plain dicts out, one loop a node, no arrays and nothing remembered
between two questions.  ``cycle.run`` answers as the greedy strategy must answer, ``brute`` tells whether any placement exists
and what a given one breaks, ``strategies`` makes small clusters, ``compare`` holds an answer of ``muster simulate`` against it.

Not read here: inter-pod affinity, topology spread, volumes, resource claims, image locality; preemption for a pod without a
group.  Where upstream draws lots the smallest name wins: of a node, of a domain, of a preemption unit.
"""
