"""Trees of groups: parents, children and depth; claims to devices that pods of a group share."""
