"""Scheduling queue: states of entities and the order of attempts; imports ``writes``, ``client`` and ``cache``.

states             the states of an entity, and the table of transitions
entities           the entities: activeQ, timers, and what is kept by state
priority_queue     events of the cluster, the clock and attempts, and what follows
next_action        what is to be done about a root next
root_status        what is to be placed of a root, what is placed, and what would have to be undone
queueing_hints     which roots that were not placed an event could help
backoff            how long a root that was not placed is left alone
scheduler_options  options of the scheduler
decision_log       the last decision on each root
"""
