"""The answer of a simulation as one self-contained HTML page.

page               the page, from templates
page_content       its content before it is HTML; page_data: data of its parts
topology_areas     levels and areas of the topology; cluster_map, map_parts: the map of them; heat_map: its overview
root_index         index of the roots by result
root_cards, unplaced_roots   cards of roots; failure_figure, failure_text: reasons why a root is not placed
device_rows        devices as resources of nodes
placed_pods, free_capacity   resources used on each node at the end, and free when a root was tried
update_steps       steps of updates of running objects
svg                shapes as SVG path data
sentences          sentences of the page

Imports ``muster.render`` and ``scheduler_core``; only ``muster.commands`` imports it.
"""
