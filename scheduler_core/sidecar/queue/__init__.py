"""Which root is tried when; imports ``writes``, ``client`` and ``cache``.

entities           the state of each root, and whose turn it is
backoff            how long a root that was not placed is left alone
queueing_hints     which roots that were not placed an event could help
root_status        what is to be placed of a root, what is placed, and what would have to be undone
next_action        what is to be done about a root next
scheduler_options  options of the scheduler
decision_log       the last decision on each root
"""
