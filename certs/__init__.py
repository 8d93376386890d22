"""The webhook's serving certificate: a CA and a leaf are made, kept in files, and looked at."""
