"""Admission webhooks: the answers to the AdmissionReviews of the API server.

certificate_settings  settings of the serving certificate
enforcement           enforcement: consequence of an error for the request: it is refused, allowed with a warning, or allowed and recorded
knobs                 knobs of the webhook server and parsers of their values
limit_settings        settings about limits: connections, sizes, durations
log                   log lines: one JSON object each, which a thread writes to standard error
settings              settings of the webhook server, each declared once, with bounds, default, reason and option
"""
