"""Scheduling queue: states of entities and the order of attempts; imports ``writes``, ``client`` and ``cache``.

states             the states of an entity, and the table of transitions
entities           entities: activeQ, timers, indices by state
priority_queue     state changes of entities after cluster events, timers and attempts
binds_in_flight    binds in flight and their results
pre_binds          volumes that are being bound before the binds of their pods
preemption_proposals  preemption plans whose evictions are not sent yet
next_action        next action for a root
root_status        pods of a root to place, pods bound, pods to undo
queueing_hints     unschedulable roots that a cluster change can help
backoff            backoff of roots that were not placed
scheduler_options  options of the scheduler
decision_log       the last decision on each root
deviations         pods that their schedulers have not bound as planned
"""
