"""Trees of groups: parents, children and depth."""
