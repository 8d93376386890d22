"""Reconcilers that do not place; imports ``cache`` and what it imports.

runner             gives each a small share of the time
validity           tells the groups of a tree that breaks a rule what is wrong
finalizers         protection finalizers: deletion runs from the leaves to the root
disruption_target  takes back that a group is about to leave
pending_writes     what they have asked for and does not show yet
"""
