"""Proofs that a root has no placement.

certificate   the format of a proof, and the function that returns one
counted_rows  rows that count volumes or devices
facts         groups, needs and free capacity that a proof refers to
node_sets     numbered sets of nodes
refutation    the search for a proof
"""
