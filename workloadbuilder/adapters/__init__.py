"""From controllers' own objects, as plain JSON, to trees of ``WorkloadItem``: one module for each kind."""
