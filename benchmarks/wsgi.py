"""Flask application of the webhooks as a WSGI server imports it, for the stock servers of the comparison."""

from __future__ import annotations

import os
import threading

from validators.object_lookup import NOTHING
from webhooks import log
from webhooks.admission import verdict
from webhooks.server.metrics import Telemetry
from webhooks.server.routes import create_app, warm_up
from webhooks.settings import Settings

SETTINGS = Settings.from_environ(os.environ)

if os.environ.get("BENCH_STUCK"):
    verdict.validate = lambda *_: threading.Event().wait()
else:
    warm_up(SETTINGS)
app = create_app(SETTINGS, NOTHING, Telemetry(log.write), tuple)
