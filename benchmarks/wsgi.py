"""The webhooks' Flask application as a WSGI server imports it: for the stock servers that ours is measured beside."""

from __future__ import annotations

import os
import threading

from validators.lookup import NOTHING
from webhooks import admit, journal
from webhooks.app import create_app, warm_up
from webhooks.settings import Settings
from webhooks.telemetry import Telemetry

SETTINGS = Settings.from_environ(os.environ)

if os.environ.get("BENCH_STUCK"):
    admit.validate = lambda *_: threading.Event().wait()
else:
    warm_up(SETTINGS)
app = create_app(SETTINGS, NOTHING, Telemetry(journal.write), tuple)
