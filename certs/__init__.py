"""Serving certificate of the webhooks: creation and inspection of a CA and a leaf, and their files."""

__all__ = ["CA_DAYS", "LEAF_DAYS"]

CA_DAYS = 3650
LEAF_DAYS = 365
"""Default lifetimes of a certificate authority and of a serving certificate."""
