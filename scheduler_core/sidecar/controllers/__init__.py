"""Reconcilers that do not place; imports ``cache`` and the layers below it.

runner             runs controllers with a limited share of the time
validity           reports invalid trees on their groups
finalizers         protection finalizers: deletion runs from the leaves to the root
disruption_target  removes an outdated condition DisruptionTarget of groups
pending_writes     submitted writes that the watch does not show yet
"""
