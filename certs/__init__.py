"""Serving certificate of the webhooks: creation and inspection of a CA and a leaf, and their files."""

CA_DAYS = 3650
LEAF_DAYS = 365
"""Default lifetimes of a certificate authority and of a serving certificate."""
