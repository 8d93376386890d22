"""All alerts in one real Prometheus, which reads their metrics from an exporter; a minute of the rules takes a second."""

from __future__ import annotations

import contextlib
import http.server
import os
import re
import threading
import time

import pytest

from tests.cluster.waiting import WAIT_SECONDS, until
from tests.deploy.test_alerts import FIRING
from tests.deploy.watching import ALERTS, watching
from tests.sampling import SOAK

_RUN = re.compile(r"(?P<first>_|-?[\d.]+)(?:(?P<step>\+[\d.]+))?(?:x(?P<count>\d+))?")


def values_of(series):
    """Return the values of a series of promtool, one a minute: ``0 1+2x3`` is 0, 1, 3, 5, 7; None where there is none."""
    result = []
    for each in series.split():
        found = _RUN.fullmatch(each)
        first, step = found["first"], float(found["step"] or 0)
        result += [None if first == "_" else float(first) + step * number for number in range(int(found["count"] or 0) + 1)]
    return result


def test_values_are_those_of_promtool():
    assert [0, 1, 3, 5, 7, None, None, -3, -3] == values_of("0 1+2x3 _x1 -3x1")


def own(alert, text):
    """Give the metrics of an alert names of their own."""
    return text.replace("muster_", f"{alert}_")


def in_seconds(alert):
    """Return the rule of an alert, with seconds in place of minutes."""
    rule = {**ALERTS[alert], "expr": own(alert, re.sub(r"\[1h\]", "[60m]", ALERTS[alert]["expr"]))}
    rule["expr"] = re.sub(r"\[(\d+)m\]", r"[\1s]", rule["expr"])
    return rule | ({"for": rule["for"].replace("m", "s")} if "for" in rule else {})


class Exporter(http.server.ThreadingHTTPServer):
    """Metrics of all alerts, each with its value of this second since the first request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.began = 0.0
        named = {own(alert, name): text for alert, (samples, _, _) in FIRING.items() for name, text in samples.items()}
        self.series = {name: values_of(text) for name, text in named.items()}

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def text(self):
        self.began = self.began or time.time()
        second = int(time.time() - self.began)
        found = ((name, values[min(second, len(values) - 1)]) for name, values in self.series.items())
        # promtool begins at the time 0.
        return "".join(f"{name} {value + ('_certificate_not_' in name) * self.began}\n" for name, value in found if value is not None)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def exporting():
    server = Exporter()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.skipif(not os.environ.get(SOAK), reason=f"takes a minute and a half; {SOAK} asks for it")
def test_every_alert_fires_and_resolves(tmp_path):
    with exporting() as exporter, watching(tmp_path, [in_seconds(alert) for alert in ALERTS], exporter.address) as firing:
        fired = set()
        until(lambda: fired.update(firing()) or fired == ALERTS.keys(), 2 * WAIT_SECONDS, told=lambda: str(ALERTS.keys() - fired))
        until(lambda: firing() == set(), 2 * WAIT_SECONDS, told=lambda: str(firing()))
