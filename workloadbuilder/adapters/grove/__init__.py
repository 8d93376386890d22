"""Grove's PodCliqueSet (grove.io).

grove           the adapter
grove_pods      cliques, and the pods that Grove makes of them
grove_topology  the node labels that a ClusterTopology gives to its levels
"""
