"""From an AdmissionReview to its answer, without HTTP.  Imports ``validators`` only.

review      AdmissionReview, to and from the wire
verdict     requests judged by the rules: validation and mutation
status      Status of a refusal, with a cause for each error
jsonpatch   JSON Patch from one object to another
priority    priority that a PriorityClass gives to an object
replay      recorded reviews, answered offline
"""
