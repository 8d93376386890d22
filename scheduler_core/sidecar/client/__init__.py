"""Requests to the API server; imports ``writes``.

requests        the HTTP requests of each write
claim_status    content of a ResourceClaim after a write
extended_claim  claim for extended resources that devices provide
errors          classification of API server errors
event_recorder  Events, aggregated and rate-limited
access_review   checks of the permissions of this process
"""
