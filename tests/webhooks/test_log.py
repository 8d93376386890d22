"""Log lines: their form, and a reader of standard error that stalls."""

import fcntl
import json
import os
import subprocess
import sys
import threading

from webhooks import log


def lines_of(descriptor):
    """Read all lines until the other end is closed."""
    with os.fdopen(descriptor, "rb") as stream:
        return [json.loads(line) for line in stream]


def fill(descriptor):
    """Fill a pipe, so that the next write blocks."""
    os.set_blocking(descriptor, False)
    size = 4096
    while size:
        try:
            os.write(descriptor, b"\n" * size)
        except BlockingIOError:
            size //= 2
    os.set_blocking(descriptor, True)


def test_a_line_is_one_line_of_json_whatever_is_in_it(tmp_path):
    code = r"""
from webhooks import log
log.write("info", "x", {"name": "a\nb\u2028\ud800"})
log.append("info", "y", {})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert ["x", "y"] == [json.loads(line)["event"] for line in done.stderr.splitlines()], "the end of the process writes what is left"


def test_a_log_that_cannot_be_written_is_no_error():
    queue = log.Queue(10_000)
    queue.add(b"{}\n")
    queue.close(30)

    assert 1 == queue.dropped


def test_nobody_waits_for_a_stalled_reader_and_what_was_dropped_is_reported():
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    fill(writing)
    queue = log.Queue(writing, most_bytes=1000)
    line = b'{"event":"x","n":%d}\n'
    for number in range(1000, 2000):
        queue.add(line % number)
        queue.wake()

    kept = 1000 - queue.dropped
    assert 0 < kept < 1000
    with os.fdopen(reading, "rb") as stream:
        report = None
        numbers = []
        while report is None or len(numbers) < kept:
            text = stream.readline().strip()
            if text and (found := json.loads(text))["event"] == "x":
                numbers.append(found["n"])
            elif text:
                report = found
        assert (numbers, {"event": "log-dropped", "level": "warning", "lines": 1000 - kept}) == (
            sorted(numbers),
            {name: report[name] for name in ("event", "level", "lines")},
        )
        assert kept == len(numbers)
        queue.add(b'{"event":"y"}\n')
        queue.wake()
        assert b'{"event":"y"}\n' == stream.readline()
    os.close(writing)


def test_dropped_lines_are_reported_once_half_of_the_queue_is_free():
    """A report after each write would itself fill the pipe of a slow reader."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    fill(writing)
    queue = log.Queue(writing, most_bytes=16 * 4000)
    for _ in range(17):
        queue.add(b'{"event":"x"}'.ljust(3999) + b"\n")
    queue.wake()

    with os.fdopen(reading, "rb") as stream:
        events = []
        while len(events) < 17:
            if text := stream.readline().strip():
                events.append(json.loads(text)["event"])
    os.close(writing)

    assert ["x"] * 8 + ["log-dropped"] + ["x"] * 8 == events


def test_lines_are_written_together_but_never_torn():
    reading, writing = os.pipe()
    queue = log.Queue(writing)
    long = [b'{"n":%d,"text":"%s"}\n' % (number, b"x" * (number * 37 % 5000)) for number in range(200)]
    for each in long:
        queue.add(each)
    reader = threading.Thread(target=lambda: result.extend(lines_of(reading)))
    result = []
    reader.start()
    queue.close(30)
    os.close(writing)
    reader.join()

    assert list(range(200)) == [each["n"] for each in result]


def test_a_process_ends_although_its_log_is_not_read():
    code = """
import logging
from webhooks import log
log.capture_libraries()
for number in range(3000):
    log.write("info", "x", {"text": "y" * 100})
    logging.getLogger("library").warning("a record")
"""
    reading, writing = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=writing)
    os.close(writing)
    try:
        assert 0 == process.wait(60)
    finally:
        process.kill()
        os.close(reading)


def test_a_forked_process_does_not_write_the_lines_of_its_parent():
    code = """
import os
from webhooks import log
log.append("info", "parent", {})
pid = os.fork()
log.write("info", "child" if pid == 0 else "parent", {})
if pid:
    os.waitpid(pid, 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert ["child", "parent", "parent"] == sorted(json.loads(line)["event"] for line in done.stderr.splitlines())


def test_warnings_and_records_of_libraries_are_lines_and_equal_warnings_one():
    code = """
import logging, warnings
from webhooks import log
log.capture_libraries()
for number in range(3):
    warnings.warn("the same", RuntimeWarning, stacklevel=1)
    warnings.warn_explicit(f"number {number % 2}", UserWarning, "a.py", number, registry={})
logging.getLogger("library").warning("a record")
"""
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]

    messages = ["RuntimeWarning: the same", "UserWarning: number 0", "UserWarning: number 1", "a record"]
    assert messages == [line["message"] for line in lines]
    assert [("warning", "log")] * 4 == [(line["level"], line["event"]) for line in lines]
