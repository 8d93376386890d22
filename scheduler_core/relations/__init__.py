"""How pods constrain each other: InterPodAffinity and PodTopologySpread."""
