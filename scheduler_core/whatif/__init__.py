"""Remedies for a root that is not placed, as values of ``causes``; imports ``cycle``.

edits     changes of a cluster
trial     placement of a root on a changed cluster
remedies  verified changes, and conflicting constraints
"""
