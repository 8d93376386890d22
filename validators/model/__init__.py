"""The objects that the rules speak of, as typed values with Python names; decode joins them with the wire."""
