"""What would help: changes near at hand, tried on a copy of the cluster before they are told."""
