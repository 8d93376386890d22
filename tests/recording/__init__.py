"""Recording of all output that users see, to show that a change of structure changes no output.

``python -m tests.recording check`` creates all answers, prints the changed lines of those that differ from the recorded ones, and exits
with 1 if there are any.  ``record`` records the answers as they are now; ``write DIR`` writes each to a file below DIR.  A last argument
limits each to the answers whose name begins with it; the difference of a single answer is shown in full.

items           all answers by name, in the order below
commands        command lines over the case tables, the demonstration's files, help texts, mistakes
clusters        500 seeded clusters, both strategies, options, versions, gates
sidecar         the requests that a sidecar sends to a scripted API server, and names of metrics
recorded_texts  the recorded answers, compressed
differences     the changed lines of an answer, with their places and the command
"""
