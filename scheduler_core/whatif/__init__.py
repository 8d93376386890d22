"""What would help a root that is not placed; imports ``cycle``.

edits     changes of a cluster
trial     a root tried on a changed cluster
remedies  changes that work, and constraints that conflict
"""
