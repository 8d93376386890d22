"""API objects that the rules read, as typed values with Python names; ``decode`` makes them from JSON."""
