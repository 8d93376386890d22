"""What the API server fills in, and what it drops, before it looks at an object."""
