"""Admission webhooks: the answers to the AdmissionReviews of the API server.

admission_options     options of admission: consequence of an error, and finalizers to add
certificate_settings  settings of the serving certificate
enforcement           enforcement: consequence of an error for the request: it is refused, allowed with a warning, or allowed and recorded
limit_settings        settings about limits: connections, sizes, durations
log                   log lines: one JSON object each, which a thread writes to standard error
settings              settings of the webhook server, each with the declaration of its option or variable
"""
