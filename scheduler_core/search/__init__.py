"""Exact search: finds a placement of a tree's minimum where there is one, and proves it where there is none.

``packing`` decides whether pods fit on nodes together, each within the nodes it may use.  Above it two ways to choose domains and
quorums: ``nested`` where domains lie one inside the other, each solved by itself, and ``crossing`` for all else.  ``tree`` asks the
one that is for a tree; ``elastic`` adds what is optional, and ``complete`` makes an outcome of what was found.
"""
