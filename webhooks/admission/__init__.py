"""Answers to AdmissionReviews, without HTTP.  Imports ``validators`` only.

review      AdmissionReview: decoding and encoding
verdict     validation and mutation of the object in a request
status      Status of a refusal, with a cause for each error
jsonpatch   JSON Patch from one object to another
priority    priority of an object, from its PriorityClass
records     recorded reviews in a text: JSON, JSON Lines, YAML
replay      answers to recorded reviews, offline
"""
