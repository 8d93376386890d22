"""Where a request ends, however its bytes are cut up."""

import pytest

from webhooks.framing import HEAD_BYTES, LINE_BYTES, TRAILER_BYTES, Body, FramingError, split_head

CHUNKED = b"5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: x\r\n\r\nNEXT"


def test_a_head_is_cut_off_once_it_is_whole():
    buffer = bytearray(b"\r\nGET / HTTP/1.1\r\nA: b\r\n")
    assert None is split_head(buffer)
    buffer += b"\r\nbody"

    assert b"GET / HTTP/1.1\r\nA: b\r\n\r\n" == split_head(buffer)
    assert b"body" == buffer


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "unfinished"])
def test_a_head_has_a_limit(whole):
    end = b"\r\n\r\n" if whole else b""
    assert (None if not whole else b"a" * HEAD_BYTES + end) == split_head(bytearray(b"a" * HEAD_BYTES + end))
    with pytest.raises(FramingError) as raised:
        split_head(bytearray(b"a" * (HEAD_BYTES + 1) + end))
    assert 431 == raised.value.code


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_chunks_in_any_pieces_make_the_same_body(step):
    body, buffer = Body(None, 11), bytearray()
    for start in range(0, len(CHUNKED), step):
        buffer += CHUNKED[start : start + step]
        body.feed(buffer)

    assert (True, b"hello world", b"NEXT") == (body.done, bytes(body.content), bytes(buffer))


def test_a_body_of_known_length_leaves_the_rest():
    body, buffer = Body(3, 3), bytearray(b"ab")
    body.feed(buffer)
    assert not body.done
    buffer += b"cde"
    body.feed(buffer)

    assert (True, b"abc", b"de") == (body.done, bytes(body.content), bytes(buffer))
    assert Body(0, 3).done


@pytest.mark.parametrize(
    ("length", "content", "code"),
    [
        pytest.param(4, b"", 413, id="length above the limit"),
        pytest.param(None, b"4\r\n", 413, id="chunk above the limit"),
        pytest.param(None, b"2\r\nab\r\n2\r\n", 413, id="chunks above the limit together"),
        pytest.param(None, b"\r\n", 400, id="no size"),
        pytest.param(None, b"-1\r\n", 400, id="negative"),
        pytest.param(None, b"0x1\r\n", 400, id="prefix"),
        pytest.param(None, b"1 1\r\n", 400, id="two numbers"),
        pytest.param(None, b"1\r\nab\r\n", 400, id="longer than announced"),
        pytest.param(None, b"1" * (LINE_BYTES + 1), 400, id="endless size"),
        pytest.param(None, b"0\r\n" + b"a: b\r\n" * TRAILER_BYTES, 431, id="endless trailer"),
    ],
)
def test_what_is_wrong_or_too_large_is_refused(length, content, code):
    with pytest.raises(FramingError) as raised:
        Body(length, 3).feed(bytearray(content))
    assert code == raised.value.code
