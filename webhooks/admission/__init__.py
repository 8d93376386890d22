"""Answers to AdmissionReviews, without HTTP.  Imports ``validators``, and in ``join`` ``workloadbuilder``.

review      AdmissionReview: decoding and encoding
verdict     validation and mutation of the object in a request
status      Status of a refusal, with a cause for each error
jsonpatch   JSON Patch from one object to another
join        group of a pod that names none, or the gate until its group is known
priority    priority of an object, from its PriorityClass
records     recorded reviews in a text: JSON, JSON Lines, YAML
replay      answers to recorded reviews, offline
"""
