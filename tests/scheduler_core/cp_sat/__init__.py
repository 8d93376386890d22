"""Exact feasibility of a tree of groups by CP-SAT, and hard trees to test with.

``model`` decides with CP-SAT on raw objects, with the filters of ``tests.scheduler_core.oracle`` and nothing of ``scheduler_core``.
``corpus`` makes instances by seed, most of them around a planted placement.  ``judge`` compares the decision of a cycle with both.
"""
