"""Memory of large requests: the lock among processes, and when free memory is returned."""

import fcntl
import os
import signal

import pytest

from webhooks.server import memory


def test_one_process_at_a_time_has_the_lock_and_its_end_releases_it():
    alone = memory.Alone()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with alone:
            os.write(writing, b"x")
            signal.pause()
    os.read(reading, 1)
    try:
        with pytest.raises(OSError, match="unavailable"):
            fcntl.lockf(alone._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with alone:
        pass
    for each in (reading, writing):
        os.close(each)
    alone._file.close()


def test_memory_is_trimmed_once_when_the_last_large_request_has_ended():
    trim, calls = memory.Trim(), []
    trim._trim = calls.append
    counts = []
    for used in (0, 5, 7, 0, 0, 3, 0):
        trim.tick(used)
        counts.append(len(calls))

    assert [0, 0, 0, 1, 1, 1, 2] == counts
