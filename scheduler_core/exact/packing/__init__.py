"""Pods on nodes, each within its eligible nodes.

packing        vector bin packing with eligible nodes
capacity       free capacity by placement, packing of several demands
optional_pods  pods beyond the minimum; PlannedGroup, one group of a plan
pod_search     pods with volumes on nodes, one by one, while their claims can be matched
device_search  pods with devices on nodes, one by one, with each way to give them devices
placed_pods    such pods on nodes, with the volumes, claims and storage that they use
filled_nodes   free amounts of nodes with such pods
attach_orders  orders in which attach limits refuse none of the pods of a node
demands        demands of the leaves placed so far, and which of them share nodes
"""
