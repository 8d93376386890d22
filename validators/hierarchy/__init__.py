"""Trees of groups: who is whose parent, and how deep it goes."""
