"""Attacks on Muster that run for a given time and can be continued: ``python -m tests.reliability --minutes N [--resume] [NAME...]``.

campaign   an attack in rounds, each with a seed, and what must hold
tally      what was tried and seen so far, kept in a file between runs
churn      groups and pods that come and go, and the sidecar's memory
"""
