"""Files that are read while a process runs: a named pipe or a device in their place must not block it."""

import contextlib
import os
import threading

import pytest

from apiserver import regular_files
from tests.webhooks.running import new_pair
from webhooks.server import tls


@pytest.fixture
def pipe(tmp_path):
    """Return a named pipe; somebody opens it for writing, so that a reader that blocks goes on and the test fails."""
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        # The test may move the pipe before this opens it, and nobody may read what is written.
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY)
            os.write(descriptor, b"x")
            os.close(descriptor)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    # The writer has gone on, or goes on now.
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def test_a_named_pipe_is_not_opened_for_long(pipe):
    with pytest.raises(OSError, match="not a regular file"):
        regular_files.read(pipe)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/tmp"])
def test_what_is_no_file_is_not_read(path):
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        regular_files.read(path)


def test_a_link_is_followed_and_one_byte_too_many_is_returned(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert (b"12345", b"1234") == (regular_files.read(tmp_path / "link"), regular_files.read(tmp_path / "link", 3))


def test_a_named_pipe_in_place_of_the_certificate_keeps_the_last_pair(tmp_path, pipe):
    pair = new_pair()
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    live = tls.LivePair(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"), 0.0)
    first = live.pair
    pipe.rename(tmp_path / "tls.crt")
    (tmp_path / "pipe").symlink_to("tls.crt")

    assert f"cannot read {tmp_path / 'tls.crt'}: not a regular file" == live.refresh(1.0)
    assert (True, first) == (live.unreadable, live.pair)
