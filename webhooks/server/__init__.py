"""The webhook server: processes, HTTP and TLS, around the Flask application of ``routes``.

HTTP is served by uvicorn, or by gunicorn's own ASGI worker (``--server gunicorn``); gunicorn manages the processes of
both.  Imports the other packages of ``webhooks``; only ``muster`` imports it.

routes        Flask application: URL routes, admission reviews, probes, HTTP errors
metrics       metrics, and one log line for each review
multiprocess_metrics  metrics of all worker processes
tls           the serving key pair, from files that are replaced while the server runs
certificates  the thread that keeps a managed certificate
application   ASGI application: runs the Flask application on whole requests, in threads for small and for large ones
bodies        receiving of whole request bodies, with limits of size, time and total memory
shares        limited capacity that requests share, and which request is dropped for others
memory        memory of large requests: one at a time, and free memory goes back to the system
lifespan      startup, checks and shutdown of a worker process
connection    limits on connections that uvicorn lacks
worker        state of one worker process
process       sockets, settings of gunicorn and uvicorn, drain and stop
"""
