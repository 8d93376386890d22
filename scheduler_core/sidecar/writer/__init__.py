"""The only writer to the API server; imports ``client`` and ``writes``.

dispatcher  the threads
work_queue  one write at a time for each object, the urgent first, the failed after a while
executor    one write: its requests, in order
"""
