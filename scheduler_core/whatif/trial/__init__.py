"""A root tried on a changed cluster.

trial              so many tries, with so much looked at, and no more
subject            the root that is to be helped
prepared_cluster   the cluster as the root finds it, made ready once
hypothetical_root  a root as it would be after an edit
nearly_room        nodes and domains that lack little
"""
