"""JSON values in one text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi import decode
from kubeapi.gather import gather
from kubeapi.json_values import is_doubtful, refusal, split
from tests.scheduler_core.worded_problems import worded

ONE, TWO = {"a": '}{"\\ \n', "b": [{}, {"c": "}\n{"}]}, {"kind": "List", "items": [{"x": 1}, {"y": "\\\\"}]}


def values(text):
    return [bytes(each).strip() for each in split(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(ONE) + "\n" + json.dumps(TWO) + "\n", id="lines"),
        pytest.param(json.dumps(ONE) + "\n\n \r\n" + json.dumps(TWO), id="lines with empty ones between"),
        pytest.param(json.dumps(ONE) + json.dumps(TWO), id="no space between"),
        pytest.param(json.dumps(ONE, indent=4) + "\n" + json.dumps(TWO, indent="\t") + "\n", id="over many lines"),
        pytest.param("\ufeff " + json.dumps(ONE) + "\t" + json.dumps(TWO), id="byte order mark"),
    ],
)
def test_values_come_one_by_one(text):
    assert [ONE, TWO] == [json.loads(each) for each in values(text.encode())]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_one_value(indent):
    assert [TWO] == [json.loads(each) for each in values(json.dumps(TWO, indent=indent).encode())]


@pytest.mark.parametrize("text", [b"", b" \n", b"\xef\xbb\xbf"])
def test_where_there_is_nothing_nothing_comes(text):
    assert [] == values(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(b'{"a": }\n{"b": 1}\n', [b'{"a": }', b'{"b": 1}'], id="a line"),
        pytest.param(b'{"b": 1} {"a": "', [b'{"b": 1}', b'{"a": "'], id="cut off in a text"),
        pytest.param(b'{"b": 1} {"a": {}"', [b'{"b": 1}', b'{"a": {}', b'"'], id="cut off after an object"),
        pytest.param(b'{"b": 1} {"a": {', [b'{"b": 1}', b'{"a": {'], id="cut off in an object"),
        pytest.param(b"kind: Pod", [b"kind: Pod"], id="no JSON at all"),
        pytest.param(b'"', [b'"'], id="a quote"),
        pytest.param(b"}", [b"}"], id="an end"),
    ],
)
def test_what_is_no_json_comes_as_it_is(text, want):
    assert want == values(text)


@given(
    st.lists(st.dictionaries(st.text(), st.text() | st.lists(st.text() | st.integers())), min_size=2),
    st.sampled_from(["", "\n", " \r\n\t"]),
)
def test_objects_are_found_whatever_is_in_their_texts(objects, between):
    text = between.join(json.dumps(each, ensure_ascii=False) for each in objects).encode(errors="surrogatepass")

    assert objects == [json.loads(each.decode(errors="surrogatepass")) for each in values(text)]


@given(st.binary())
def test_nothing_of_a_text_is_lost(text):
    result = [bytes(each) for each in split(text)]

    assert b"".join(text.removeprefix(b"\xef\xbb\xbf").split()) == b"".join(b"".join(result).split())


LONG = b"7" * 5000


@pytest.mark.parametrize("value", [b'"caf\xe9"', b'{"\xff":1}', b'"\xed\xb0\x80"', LONG, b"-" + LONG, b"[1, " + LONG + b"]"])
def test_what_only_a_full_decoding_refuses_is_refused_at_first(value):
    text = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"odd":%b}' % value
    assert bytes(decode.VALUE.decode(text)) == text
    assert refusal(text).startswith("is not JSON: ")
    kinds, problems = gather([b'{"apiVersion":"v1","kind":"NodeList","items":[%b,{"metadata":{"name":"b"}}]}' % text])
    assert (["Node a"], 1) == ([each.object for each in worded(problems)], len(kinds["Node"]))


@pytest.mark.parametrize(("value", "byte"), [(b'"caf\xe9"', "0xe9"), (b'{"\xff":1}', "0xff")])
def test_a_byte_that_is_not_utf_8_is_named(value, byte):
    assert f"is not JSON: text must be UTF-8, and the byte {byte} is not: save the file as UTF-8" == refusal(b'{"x":%b}' % value)


@pytest.mark.parametrize(
    "value", [b'"caf\xc3\xa9"', b"1e999", b"-3E+777", b"9" * 4000, b'"%b"' % LONG, b"0.%b" % LONG, b"[" + b"12345678,12," * 900 + b"1]"]
)
def test_what_can_be_decoded_in_full_is_not_refused(value):
    text = b'{"x":%b}' % value
    assert "" == refusal(text)
    decode.WHOLE.decode(text)


@given(st.lists(st.binary(max_size=8) | st.sampled_from([LONG, b"1e400", b'"', b"{", b'":'])).map(b"".join))
def test_a_text_that_is_not_refused_is_decoded_in_full(inside):
    try:
        decode.VALUE.decode(inside)
    except ValueError:
        return
    if not refusal(inside):
        decode.WHOLE.decode(inside)


def test_digits_that_are_far_apart_are_not_doubtful():
    assert not is_doubtful(b"1234567x" * 10_000)
    assert is_doubtful(b"x" * 12_345 + LONG)
