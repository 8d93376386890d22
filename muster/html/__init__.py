"""The answer of a simulation as one HTML page that needs nothing else.

page               the page, from templates
page_content       everything on it, before it is HTML; case: what its parts are made of
topology_areas     levels and areas of the topology; cluster_map, map_parts: the map of them
root_cards, unplaced_roots   cards of roots; claims, failure_figure, failure_text: why one is not placed
placed_pods, free_capacity   what is taken on each node at the end, and what was free when a root was tried
svg                shapes as SVG path data
sentences          sentences of the page

Imports ``muster.render`` and ``scheduler_core``; only ``muster.commands`` imports it.
"""
