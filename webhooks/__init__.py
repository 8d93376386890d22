"""The admission webhooks: what the API server asks, and what it is answered."""
