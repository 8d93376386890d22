"""Serving certificate of the webhooks: creation and inspection of a CA and a leaf, and their files."""
