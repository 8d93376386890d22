"""scheduler_core on a live cluster: what is watched, what is decided, and what is written."""
