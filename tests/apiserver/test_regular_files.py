"""Files that are read while a process runs: a named pipe or a device in their place must not block it."""

import os
import threading

import pytest

from apiserver import regular_files
from tests.webhooks.running import new_pair
from webhooks.server import tls

WAIT_SECONDS = 20


def at_once(call):
    """Return the result of *call*, or its OSError; fail if it waits for somebody who writes to a pipe."""
    results = []

    def run():
        try:
            results.append(call())
        except OSError as error:
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    assert results, "the call waits"
    return results[0]


def test_a_named_pipe_is_not_awaited(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    assert "not a regular file" in str(at_once(lambda: regular_files.read(tmp_path / "pipe")))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/tmp"])
def test_what_is_no_file_is_not_read(path):
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        regular_files.read(path)


def test_a_link_is_followed_and_one_byte_too_many_is_returned(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert (b"12345", b"1234") == (regular_files.read(tmp_path / "link"), regular_files.read(tmp_path / "link", 3))


def test_a_named_pipe_in_place_of_the_certificate_keeps_the_last_pair(tmp_path):
    pair = new_pair()
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    live = tls.LivePair(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"), 0.0)
    first = live.pair
    (tmp_path / "tls.crt").unlink()
    os.mkfifo(tmp_path / "tls.crt")

    assert f"cannot read {tmp_path / 'tls.crt'}: not a regular file" == at_once(lambda: live.refresh(1.0))
    assert (True, first) == (live.unreadable, live.pair)
