"""The webhook server: processes, HTTP and TLS, around the Flask application of ``webhooks.app``.

HTTP is served by uvicorn, or by gunicorn's own ASGI worker (``--server gunicorn``); gunicorn manages the processes of
both.  Imports ``webhooks`` modules; nothing but ``muster`` imports it.

application   ASGI application: receives a request whole, then has a thread judge it
connection    limits on connections that uvicorn lacks
process       sockets, settings of gunicorn and uvicorn, drain and stop
"""
