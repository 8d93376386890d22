"""Attacks on Muster that run for a given time and can be continued: ``python -m tests.reliability --minutes N [--resume] [NAME...]``.

campaign   an attack in rounds, each with a seed, and what must hold
tally      what was tried and seen so far, kept in a file between runs
page       the page of the documentation that quotes the table
churn      groups and pods that come and go, and the sidecar's memory

mutations     mutations of JSON values and of bytes
corpus        objects, documents and reviews to start from
fuzzing       rounds of examples with a limit of time each, and the growth of memory
reviews       mutated AdmissionReviews in process
reviews_tls   the same over TLS, also cut, slow and with wrong lengths
documents     mutated documents for lint, compile, migrate, fit, simulate, tree and snapshot
live          why and snapshot on an API server that lies
editors       mutated documents and messages for lsp
watch         watch streams that lie
expressions   mutated CEL expressions and label selectors
guided        coverage-guided texts for the parsers of YAML and CEL

load          many writers, half of the capacity, and a flood

schema_mutation  random changes of an object by the schema of its kind
equality         random creates and updates, asked of an API server and of profile upstream
explained_differences  differences that the source of Kubernetes explains
schedulers       random clusters beside kube-scheduler

worlds  random worlds on a control plane whose parts are killed, parted and misled
world   its parts: faults, population, observer and invariants

mutants         changes of the source that a test must see
source_mutants  its parts: places of a file, measured tests, trials and explained survivors
"""
