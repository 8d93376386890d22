"""Placement of a root on a changed cluster.

trial              trials, limited in number and effort
subject            the root to help
prepared_cluster   the cluster before the root's cycle, prepared once
hypothetical_root  the root after an edit
present_capacity   capacity of nodes and domains, and pods that could make room
"""
