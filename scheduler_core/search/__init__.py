"""Exact search: finds a placement of a tree's minimum where there is one, and proves it where there is none.

Three layers: ``packing`` decides whether pods fit on nodes together, each within the nodes it may use; ``tree`` chooses domains and
quorums; ``complete`` makes an outcome of what was found and adds what is optional.
"""
