"""Certificates of infeasibility, checked without the search."""
