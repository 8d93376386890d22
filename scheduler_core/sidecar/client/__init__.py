"""The API server as it is written to; imports ``writes``.

requests        from a write to the requests that carry it out
errors          what an error of the API server means for a write
event_recorder  Events, aggregated and limited
"""
