"""The truth about whether a tree of groups has a placement at all, by an exact solver, and hard trees to ask about.

``model`` decides with CP-SAT on raw objects, with the filters of the slow reading in ``tests.scheduler_core.oracle`` and nothing
of ``scheduler_core``; ``corpus`` makes instances by seed, most of them around a placement that was planted first; ``judge`` holds
the decision of a cycle against both.
"""
