"""The only writer of placement to the API server; imports ``client`` and ``writes``.

dispatcher    worker threads, retries and dry runs
work_queue    one write in flight per object, urgent first, failed writes after a backoff
executor      the requests of one write
claim_writer  the requests of a write to a claim to devices
"""
