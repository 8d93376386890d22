"""Changes that the API server makes to an object before validation: defaults, and dropped fields."""
