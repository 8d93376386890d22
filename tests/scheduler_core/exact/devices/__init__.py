"""Complete search with claims to devices."""
