"""Proofs that a root has no placement, checked without the search."""
