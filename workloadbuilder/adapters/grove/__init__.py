"""Grove's PodCliqueSet (grove.io).

grove           the adapter
grove_pods      cliques, and the pods that Grove creates for them
grove_topology  node labels of the levels of a ClusterTopology
"""
