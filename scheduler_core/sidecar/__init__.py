"""scheduler_core on a live cluster: what is watched, what is decided, and what is written.

Layers, lowest first; each imports only from those above it in this list.  ``apiserver`` is imported by ``cache.informers``, ``writer``
and ``process.main`` alone:

writes       values: what may be written to the API server
settings     options, each with its bounds and its default
client       a write as requests; what an error of the API server means; events
cache        the cluster as it is watched, and what was assumed on top
queue        roots by state, backoff, queueing hints, what is to be done next
scheduling   one attempt: decide, bind, preempt; what follows from a write
controllers  what is kept up beside placing: validity, finalizers, conditions
writer       the threads that carry out writes
process      the loop, HTTP, metrics, start and stop
"""
