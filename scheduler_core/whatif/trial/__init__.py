"""Placement of a root on forks of a cluster.

trial             trials of edits, limited in number and effort
subject           the root to help
prepared_cluster  the cluster before the root's cycle, and forks of it, which share what their steps leave as it is
present_capacity  capacity of nodes and domains, and pods that could make room
"""
