"""Domains and quorums: which children of a composite, each in which domain.

tree_search        asks one of the two searches below
nested_domains     where domains lie one inside the other: each is solved by itself, and remembered
crossing_domains   all other trees
domain_tree        nested domains as a tree of cells
subproblem         groups in the cells of a domain tree: what is asked, and what came of it
assign_domains     which domain each of several groups gets, the most constrained first
residual_capacity  what is left in the cells while groups are given some
residual_bounds    bounds on the groups that are still to be given cells
shared_domain      groups that share one domain
choices            domains of a group, and children that make a quorum
measures           resources and pods of each shape, as numbers to be summed
agenda             what is still to be placed
bounds             what refutes an agenda before anything of it is tried
symmetry           domains and states that differ in names only
"""
