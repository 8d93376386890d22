"""Domains and quorums: which children of a composite are placed, each in which domain.

tree_search        selects one of the two searches below
nested_domains     search for nested domains: each is solved by itself, and cached
crossing_domains   search for all other trees
domain_tree        nested domains as a tree of cells
subproblem         groups in the cells of a domain tree: tasks, decisions and solutions
assign_domains     assigns a cell to each of several groups, the most constrained first
residual_capacity  capacity left in the cells while groups are assigned
residual_bounds    bounds on the groups that have no cell yet
shared_domain      packs the leaves that share one cell
choices            candidate cells of a group, and quorums of children
measures           resources and pods of each shape as vectors of integers
unplaced_groups    groups that the crossing search has still to place
bounds             lower bounds that refute an agenda
symmetry           domains and search states that are equal up to names
"""
