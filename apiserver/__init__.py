"""Talking to the API server: address and credentials, requests, list and watch, leadership by Lease.

Knows no kind and no rule; whoever watches or writes brings paths and reads the bytes.
"""
