"""scheduler_core on a live cluster: watches objects, makes scheduling decisions and writes the results.

Layers, lowest first; each imports only from those above it in this list.  Only ``cache.informers``, ``writer`` and ``process.main``
import ``apiserver``.

writes       writes to the API server, as values
settings     options, each with its bounds and its default
client       a write as requests; what an error of the API server means; events
cache        watched objects, with the assumed changes applied
queue        roots by state, backoff, queueing hints, the next action for a root
scheduling   one attempt: decide, bind, preempt; handling of write results
controllers  reconcilers that do not place: validity, finalizers, DisruptionTarget
writer       the threads that carry out writes
process      the loop, HTTP, metrics, start and stop
"""
