"""Recording of all output that users see, to show that a change of structure changes no output.

``python -m tests.recording write DIR`` writes each answer to a file below DIR; ``digest`` writes ``digests.json`` beside this
file; ``check`` says which answers differ from it and exits with 1.  Compare two checkouts with ``write`` and ``diff -r``.  A last argument
limits each to the answers whose name begins with it.

items      all answers by name, in the order below
commands   command lines over the case tables, the demonstration's files, help texts, mistakes
clusters   500 seeded clusters, both strategies, options, versions, gates
sidecar    the requests that a sidecar sends to a scripted API server, and names of metrics
"""
