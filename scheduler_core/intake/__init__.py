"""Objects as they are written to what a snapshot holds: gathered by kind, read once by name, completed as the API server does."""
