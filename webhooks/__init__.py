"""Admission webhooks: the answers to the AdmissionReviews of the API server."""
