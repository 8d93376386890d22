"""Pods on nodes: whether they fit together, each within the nodes that it may use.

packing        bin packing with eligible nodes
capacity       how much of each shape fits where
optional_pods  pods beside the minimum: as many as fit; PlannedGroup, one group of a plan
wishes         what placed groups want of where others go, and which wishes conflict
"""
