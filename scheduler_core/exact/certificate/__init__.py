"""Proofs that a root has no placement.

certificate  the proof as it is written
facts        what it may speak of
node_sets    sets of nodes by number
refutation   the search for a proof
"""
