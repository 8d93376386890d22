"""``muster topology``: the topology levels of a cluster as a tree, with the capacity of every domain and the groups that run there.

command   options and exit status
domains   the tree with its amounts
domain_report  the tree as text or JSON
"""
