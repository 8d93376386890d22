"""Client of the API server: address and credentials, requests, list and watch, leader election by Lease.

It knows no kinds and no rules: callers pass paths and decode the bytes.
"""
